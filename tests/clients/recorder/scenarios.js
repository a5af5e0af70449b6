// What users do in each app, in the words of its page.

import process from 'node:process'

const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Opens an app's own page, until something can be said. */
async function enter(page, url) {
  await page.goto(url)
  await page.waitForSelector('#say:enabled')
}

/** Follows the link of a page that may be on its way. */
async function follow(users, link) {
  for (const { page } of users) {
    await page.click(`a[href="${link}"]`)
    await page.waitForSelector('#say:enabled')
  }
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
    async use(users, origin) {
      for (const { page } of users) {
        await page.goto(`${origin}/page/`)
        await page.waitForFunction(() => ready)
      }
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
  // A namespace, a hub and GraphQL.
  page: {
    async use(users, origin) {
      for (const { page } of users) await enter(page, `${origin}/page/`)
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
      await follow(users, '/chats/1')
      await talk(users, LINES)
    },
  },
  turbo: {
    async use(users, origin) {
      await login(users, `${origin}/session/new`)
      await follow(users, '/rooms/0')
      await talk(users, LINES)
    },
  },
  login: {
    async use(users, origin) {
      await login(users, `${origin}/login`)
      for (const { page } of users) await page.waitForSelector('#say:enabled')
      await talk(users, LINES)
      await talk(users.slice(0, 1), LINES.map((_, number) => `is it ${number}?`))
    },
  },
  events: {
    async use(users, origin) {
      await login(users, `${origin}/login`)
      for (const { page } of users) await page.waitForSelector('#say:enabled')
      await talk(users, LINES)
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
        await page.waitForSelector('#inc:enabled')
      }
      for (let click = 0; click < 6; click++) {
        await users[click % users.length].page.click('#inc')
        await rest(200)
      }
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
