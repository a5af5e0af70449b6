// What users do in each app, in the words of its page.

import process from 'node:process'

const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const script = (path) => `<script src="/page/${path}"></script>`
const inputs = '<input id="text"><button id="say">Say</button><ul id="lines"></ul>'
/** A page that says what is typed by `say`, and lists what `heard` is called with. */
const form = `${inputs}<script>
const heard = (text) => document.querySelector('#lines').append(Object.assign(document.createElement('li'), { textContent: text }))
document.querySelector('#say').onclick = () => { say(document.querySelector('#text').value); document.querySelector('#text').value = '' }
</script>`

/** Opens the page for everybody, one after the other. */
async function open(users, origin, ready) {
  for (const { page } of users) {
    await page.goto(`${origin}/page/`)
    await page.waitForFunction(ready)
  }
}

/** Opens an app's own page, until something can be said. */
async function enter(page, url) {
  await page.goto(url)
  await page.waitForSelector('#say:enabled')
}

/** People say lines in turn, through a field and a button. */
async function talk(users, lines, [text, say] = ['#text', '#say']) {
  for (const [number, line] of lines.entries()) {
    const { page } = users[number % users.length]
    await page.fill(text, line)
    await page.click(say)
    await rest(300)
  }
}

const LINES = ['good morning', 'hello everybody', 'how is the weather', 'it "rains" <a lot>', 'see you tomorrow', 'good bye then']

export const scenarios = {
  game: {
    html: `<canvas></canvas><script>
const socket = new WebSocket(location.origin.replace('http', 'ws') + '/')
let player, n = 0, ready = false
socket.onopen = () => socket.send(JSON.stringify({ type: 'join', match: 'match-1' }))
socket.onmessage = ({ data }) => { const message = JSON.parse(data); if (message.type === 'welcome') { player = message.player; ready = true } }
document.onmousemove = ({ clientX, clientY }) => ready && socket.send(JSON.stringify({ type: 'move', player, n: ++n, x: clientX, y: clientY }))
</script>`,
    async use(users, origin) {
      await open(users, origin, () => ready)
      for (let step = 1; step <= 6; step++) {
        for (const { page, number } of users) await page.mouse.move(20 * step + number, 300 - 17 * step)
        await rest(100)
      }
    },
  },
  socketio: {
    async use(users, origin) {
      const tokens = process.env.TOKENS.split(' ')
      for (const { page, number } of users) await enter(page, `${origin}/#token=${tokens[number]}`)
      await talk(users, LINES)
    },
  },
  tutorial: {
    async use(users, origin) {
      for (const { page } of users) {
        await page.goto(`${origin}/`)
        await page.waitForFunction(() => socket.connected)
      }
      await talk(users, LINES, ['#input', '#form button'])
    },
  },
  namespaces: {
    html: form + script('socket.io-client/dist/socket.io.min.js') + `<script>
let ready = false
const socket = io('/chat', { auth: { key: 'c' } })
const say = (text) => socket.emit('say', text, () => {})
socket.on('said', heard)
socket.on('connect', () => { ready = true })
</script>`,
    async use(users, origin) {
      await open(users, origin, () => ready)
      await talk(users, LINES)
    },
  },
  signalr: {
    html: form + script('@microsoft/signalr/dist/browser/signalr.min.js') + `<script>
let ready = false
const transport = signalR.HttpTransportType.WebSockets
const hub = new signalR.HubConnectionBuilder().withUrl('/', { skipNegotiation: true, transport }).build()
const say = (text) => hub.send('Say', text)
hub.on('said', heard)
hub.start().then(() => { ready = true })
</script>`,
    async use(users, origin) {
      await open(users, origin, () => ready)
      await talk(users, LINES)
    },
  },
  history: {
    html: form + `<script>
let ready = false
const socket = new WebSocket(location.origin.replace('http', 'ws') + '/')
const tell = (message) => socket.send(JSON.stringify(message))
const say = (text) => tell({ type: 'say', text })
socket.onopen = () => tell({ type: 'join', after: 0 })
socket.onmessage = ({ data }) => {
  const { type, text } = JSON.parse(data)
  if (type === 'joined') ready = true
  if (type === 'said') heard(text)
}
</script>`,
    async use(users, origin) {
      await open(users, origin, () => ready)
      await talk(users, LINES)
    },
  },
  fastapi: {
    async use(users, origin) {
      const tokens = process.env.TOKENS.split(' ')
      for (const { page, number } of users) {
        await enter(page, `${origin}/#token=${tokens[number]}`)
        await page.fill('#user', 'ada')
        await page.fill('#key', process.env.API_KEY)
      }
      await talk(users, LINES)
    },
  },
  phoenix: {
    async use(users, origin) {
      await login(users, `${origin}/index.html`)
      for (const { page } of users) await page.waitForSelector('#say:enabled')
      await talk(users, LINES)
    },
  },
  rails: {
    async use(users, origin) {
      await login(users, `${origin}/session/new`)
      await cable(users, { channel: 'ChatChannel', room: 1 })
    },
  },
  login: {
    async use(users, origin) {
      await login(users, `${origin}/login`)
      for (const { page } of users) {
        await page.evaluate(() => new Promise((connected) => {
          const ticket = document.querySelector('meta[name=chat-ticket]').content
          window.socket = Object.assign(new WebSocket(`ws://${location.host}/socket?ticket=${ticket}`), { onopen: connected })
        }))
      }
      for (const [number, say] of LINES.entries()) {
        await users[number % users.length].page.evaluate((say) => socket.send(JSON.stringify({ say })), say)
        await rest(300)
        await users[0].page.evaluate((ask) => socket.send(JSON.stringify({ ask })), `is it ${number}`)
        await rest(100)
      }
    },
  },
  django: {
    async use(users, origin) {
      await login(users, `${origin}/accounts/login/?next=/chat/room-1/`, ['[name=username]', '[name=password]'])
      for (const [number, line] of LINES.entries()) {
        const { page } = users[number % users.length]
        await page.fill('#chat-message-input', line)
        await page.press('#chat-message-input', 'Enter')
        await rest(300)
      }
    },
  },
  liveview: {
    async use(users, origin) {
      for (const { page } of users) {
        await page.goto(`${origin}/counter`)
        await page.addScriptTag({ path: 'node_modules/phoenix/priv/static/phoenix.js' })
        // As phoenix_live_view's client does: js/live_socket.js and js/view.js.
        await page.evaluate(() => new Promise((joined, failed) => {
          const [view, csrf] = [document.querySelector('[data-phx-main]'), document.querySelector('meta[name=csrf-token]').content]
          const params = { _csrf_token: csrf, _mounts: 0 }
          const socket = new Phoenix.Socket('/live', { params })
          const { phxSession, phxStatic } = view.dataset
          window.channel = socket.channel(`lv:${view.id}`, { url: location.href, params, session: phxSession, static: phxStatic })
          socket.connect()
          window.channel.join().receive('ok', joined).receive('error', failed)
        }))
      }
      for (let click = 0; click < 6; click++) {
        await users[click % users.length].page.evaluate(() => void channel.push('event', { type: 'click', event: 'inc', value: {} }))
        await rest(200)
      }
    },
  },
  graphql: {
    html: form + `<script type="module">
import { createClient } from '/page/graphql-ws/dist/client.js'
const client = createClient({ url: location.origin.replace('http', 'ws') + '/graphql' })
const run = (query, variables, next) => client.subscribe({ query, variables }, { next, error: console.error, complete() {} })
window.say = (text) => run('mutation Say($room: String!, $text: String!) { say(room: $room, text: $text) }', { room: 'room-1', text }, () => {})
run('subscription Said($room: String!) { said(room: $room) { id text } }', { room: 'room-1' }, ({ data }) => heard(data.said.text))
client.on('connected', () => { window.ready = true })
</script>`,
    async use(users, origin) {
      await open(users, origin, () => window.ready)
      await talk(users, LINES)
    },
  },
  turbo: {
    async use(users, origin) {
      await login(users, `${origin}/session/new`)
      await cable(users, 'turbo-cable-stream-source')
    },
  },
}

/** Types names and passwords into the app's own form. */
async function login(users, url, [name, password] = ['[name=name]', '[name=password]']) {
  const names = process.env.USERS.split(' ').map((user) => user.split(':'))
  for (const { page, number } of users) {
    await page.goto(url)
    await page.fill(name, names[number][0])
    await page.fill(password, names[number][1])
    await page.click('[type=submit], form button')
    await page.waitForLoadState()
  }
}

/** Subscribes in the page with Rails' own client, to a channel or to the stream that an element of the page names. */
async function cable(users, channel) {
  for (const { page } of users) {
    await page.addScriptTag({ path: 'node_modules/@rails/actioncable/app/assets/javascripts/actioncable.js' })
    await page.evaluate((channel) => new Promise((connected) => {
      const source = typeof channel === 'string' && document.querySelector(channel)
      const params = source ? { channel: source.getAttribute('channel'), signed_stream_name: source.getAttribute('signed-stream-name') } : channel
      window.lines = []
      window.subscription = ActionCable.createConsumer('/cable').subscriptions.create(params, { connected, received: (line) => window.lines.push(line) })
    }), channel)
  }
  for (const [number, body] of LINES.entries()) {
    await users[number % users.length].page.evaluate((body) => window.subscription.perform('speak', { body }), body)
    await rest(300)
  }
}
