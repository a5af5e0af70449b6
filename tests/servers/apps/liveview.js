// A Phoenix LiveView as its client sees it (phoenix_live_view 1.0's js/view.js and Phoenix.LiveView.Channel): the page carries what
// lets a socket in, the view is a topic that the page names, and clicks are answered by a diff.
import crypto from 'node:crypto'
import { WebSocketServer } from 'ws'

const random = () => crypto.randomBytes(12).toString('base64url')

/** The page's client: a part of phoenix_live_view's (js/live_socket.js, js/view.js), over Phoenix' own socket. */
const CLIENT = `<script src="/page/phoenix/priv/static/phoenix.js"></script>
<script>
  const [view, more] = [document.querySelector('[data-phx-main]'), document.querySelector('[phx-click]')]
  const params = { _csrf_token: document.querySelector('meta[name=csrf-token]').content, _mounts: 0 }
  const { phxSession: session, phxStatic } = view.dataset
  const socket = new Phoenix.Socket('/live', { params })
  const channel = socket.channel('lv:' + view.id, { url: location.href, params, session, static: phxStatic })
  more.onclick = () => channel.push('event', { type: 'click', event: 'inc', value: {} })
  socket.connect()
  channel.join().receive('ok', () => { more.disabled = false })
</script>`

export const liveview = (server, counts) => {
  const pages = new Map()
  const sessions = new Map()
  server.on('request', (request, reply) => {
    if (request.url !== '/counter') return
    const [id, cookie, csrf, session, fixed] = [`phx-${random()}`, random(), random(), random(), random()]
    pages.set(`lv:${id}`, { cookie, session, fixed })
    sessions.set(cookie, csrf)
    reply.setHeader('Set-Cookie', `_counter_key=${cookie}; path=/; HttpOnly; SameSite=Lax`)
    reply.end(`<html><head><meta name="csrf-token" content="${csrf}" /></head><body>
<div id="${id}" data-phx-main data-phx-session="${session}" data-phx-static="${fixed}"><h1>0</h1></div>
<button id="inc" phx-click="inc" disabled>More</button>
${CLIENT}</body></html>`)
  })
  const cookieOf = (request) => /_counter_key=([^;]+)/.exec(request.headers.cookie ?? '')?.[1]
  const sockets = new WebSocketServer({ server, path: '/live/websocket' })
  sockets.on('connection', (socket, request) => {
    const url = new URL(request.url, 'http://localhost')
    const isKnown = sessions.get(cookieOf(request)) === url.searchParams.get('_csrf_token')
    let view = null
    let clicks = 0
    const events = {
      heartbeat: () => ['ok', {}],
      phx_join: (topic, { session, static: fixed, url }) => {
        const page = pages.get(topic)
        // What the session's cookie does not vouch for is stale: the browser is to load the page again.
        if (!isKnown || page?.session !== session || page.fixed !== fixed) return ['error', { reason: 'stale' }]
        if (!url?.startsWith('http')) return ['error', { reason: 'unauthorized' }]
        view = topic
        return ['ok', { rendered: { 0: '0', s: ['<h1>', '</h1>'] }, liveview_version: '1.0.0' }]
      },
      event: (topic, { type, event, value }) => {
        if (topic !== view || type !== 'click' || event !== 'inc' || !value) throw new Error(`${topic} in ${view}`)
        counts.said++
        return ['ok', { diff: { 0: String(++clicks) } }]
      },
    }
    socket.on('message', (data) => {
      const [joinRef, ref, topic, event, payload] = JSON.parse(data)
      const [status, response] = events[event](topic, payload)
      socket.send(JSON.stringify([joinRef, ref, topic, 'phx_reply', { status, response }]))
    })
  })
}
