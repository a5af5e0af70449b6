// Event streams of rooms behind a login. Lines come by POST and go to all streams of their room; a clock goes to all by itself.
import { randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'

const LOGIN = '<!doctype html><form method="post"><input name="name"><input name="password" type="password"><button>Log in</button></form>'
const CLOCK_MS = 400
const COMMENT_MS = 1000

export const events = (server, counts) => {
  const [users, rooms] = [new Map(), new Map()]
  let [last, n] = [0, 0]
  const members = (name) => rooms.get(name) ?? rooms.set(name, new Set()).get(name)
  const streams = () => [...rooms.values()].flatMap((room) => [...room])
  const user = ({ headers }) => users.get(/\bsid=([^;]+)/.exec(headers.cookie ?? '')?.[1])

  const enter = (request, reply, name) => {
    reply.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' })
    reply.write(`retry: 1000\nid: ${last}\n\n`)
    members(name).add(reply)
    reply.on('close', () => members(name).delete(reply))
  }
  const tell = async (request, reply, name) => {
    const line = JSON.parse(await text(request))
    const data = JSON.stringify({ type: 'line', from: user(request), text: line.text })
    counts.said++
    last++
    for (const stream of members(name)) {
      counts.sent++
      stream.write(`event: line\nid: ${last}\ndata: ${data}\n\n`)
    }
    reply.writeHead(202).end()
  }
  const login = async (request, reply) => {
    const sid = randomUUID()
    users.set(sid, new URLSearchParams(await text(request)).get('name'))
    reply.writeHead(303, { Location: '/page/', 'Set-Cookie': `sid=${sid}; HttpOnly; Path=/` }).end()
  }

  setInterval(() => {
    n++
    for (const stream of streams()) stream.write(`event: clock\ndata: ${JSON.stringify({ type: 'clock', n })}\n\n`)
  }, CLOCK_MS)
  setInterval(() => streams().forEach((stream) => stream.write(': still here\n\n')), COMMENT_MS)

  server.on('request', (request, reply) => {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost')
    const [, told] = /^\/rooms\/([^/]+)\/lines$/.exec(pathname) ?? []
    if (pathname === '/login') return request.method === 'POST' ? login(request, reply) : reply.setHeader('Content-Type', 'text/html').end(LOGIN)
    if (pathname !== '/events' && told === undefined) return
    if (user(request) === undefined) return reply.writeHead(401).end()
    return told === undefined ? enter(request, reply, searchParams.get('room')) : tell(request, reply, told)
  })
}
