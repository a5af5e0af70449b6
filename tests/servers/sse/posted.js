// Event streams that are asked for by POST, on Node's http and, at a second port, on its http2: `node posted.js PORT PORT2`.
// POST /events opens a stream in the room that its body names, {"room":"NAME"}; any other method is refused there. /moved leads there by 307, and /found by 303 to /given, a stream for those who GET it. POST /login gives a user's key,
// POST /publish/NAME tells a room its body, and GET /journal lists the requests for streams.

import { createServer } from 'node:http'
import { createServer as createServer2 } from 'node:http2'

const [port, port2] = process.argv.slice(2)
const [rooms, journal, kept] = [new Map(), [], []]
const led = { '/moved': [307, '/events'], '/found': [303, '/given'] }

const tell = (stream, { id, data }) => stream.write(`id: ${id}\ndata: ${data}\n\n`)

async function bodyOf(request) {
  let body = ''
  for await (const part of request) body += part
  return body
}

function open(request, response, room) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  response.write(`retry: 100\nid: ${kept.length}\n\n`)
  const from = request.headers['last-event-id']
  if (from) kept.slice(Number(from)).filter((event) => event.room === room).forEach((event) => tell(response, event))
  if (!rooms.has(room)) rooms.set(room, new Set())
  rooms.get(room).add(response)
  response.on('close', () => rooms.get(room).delete(response))
}

function publish(response, room, data) {
  const event = { id: kept.length + 1, room, data }
  kept.push(event)
  for (const stream of rooms.get(room) ?? []) tell(stream, event)
  response.writeHead(204).end()
}

async function handle(request, response) {
  const path = new URL(request.url, 'http://localhost').pathname
  if (path === '/journal') return response.end(JSON.stringify(journal))
  const body = await bodyOf(request)
  if (path === '/login') return response.end(JSON.stringify({ key: `key-${JSON.parse(body).name}` }))
  if (path.startsWith('/publish/')) return publish(response, path.slice('/publish/'.length), body)
  const { 'content-type': type, 'content-length': length, 'last-event-id': last } = request.headers
  journal.push({ asked: `${request.method} ${path}`, type, length, last, body })
  if (led[path]) return response.writeHead(led[path][0], { Location: led[path][1] }).end()
  if (request.method !== (path === '/given' ? 'GET' : 'POST')) return response.writeHead(405).end()
  open(request, response, path === '/given' ? 'given' : JSON.parse(body).room)
}

createServer(handle).listen(Number(port), '127.0.0.1')
createServer2(handle).listen(Number(port2), '127.0.0.1')
