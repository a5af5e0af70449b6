// Event streams on Node's own http, and on its http2 where there is a second port, with at most STREAMS on a connection:
// `node server.js PORT [LOG] [PORT2] [STREAMS]`. GET /events?room=NAME is a stream, POST /publish/NAME tells the room its
// body, GET /told is how many events were written to streams, and GET /sessions how many connections of HTTP/2 there were. At /twice each event comes twice, at /swapped each second one before the first. With LOG, a file,
// events are kept there, so that clients that name their last event are told what they missed, also by the next process
// on the same file.

import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createServer2 } from 'node:http2'

const [port, log, port2, streams] = process.argv.slice(2)
const rooms = new Map()
const kept = log && existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').filter(Boolean).map((line) => JSON.parse(line)) : []
let [last, told, sessions] = [kept.length, 0, 0]

const tell = (stream, { id, data }) => {
  told += 1
  stream.write(`id: ${id}\ndata: ${data}\n\n`)
}

const tellTwice = (stream, event) => {
  tell(stream, event)
  tell(stream, event)
}

// Each second event before the one that came first.
function swapping() {
  let held
  return (stream, event) => {
    if (!held) return void (held = event)
    tell(stream, event)
    tell(stream, held)
    held = undefined
  }
}

// How streams of a path are told events.
const tellings = { '/events': () => tell, '/twice': () => tellTwice, '/swapped': swapping }

function open(request, response, room, telling) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' })
  // With an id from the start: a client that has heard nothing yet is told what it misses, too.
  response.write(`retry: 200\nid: ${last}\n\n`)
  const from = request.headers['last-event-id']
  if (from) kept.filter((event) => event.room === room && event.id > Number(from)).forEach((event) => tell(response, event))
  if (!rooms.has(room)) rooms.set(room, new Map())
  rooms.get(room).set(response, telling)
  response.on('close', () => rooms.get(room).delete(response))
}

// Numbered by itself, and every tenth number left out.
function tick(request, response) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  let n = 0
  const timer = setInterval(() => {
    n += 1
    if (n % 10 !== 5) response.write(`data: ${JSON.stringify({ type: 'tick', n })}\n\n`)
  }, 50)
  response.on('close', () => clearInterval(timer))
}

async function publish(request, response, room) {
  let data = ''
  for await (const part of request) data += part
  const event = { id: ++last, room, data }
  if (log) {
    kept.push(event)
    appendFileSync(log, JSON.stringify(event) + '\n')
  }
  for (const [stream, telling] of rooms.get(room) ?? []) telling(stream, event)
  response.writeHead(204).end()
}

function handle(request, response) {
  const url = new URL(request.url, 'http://localhost')
  if (request.method === 'POST') return publish(request, response, url.pathname.slice('/publish/'.length))
  const telling = tellings[url.pathname]
  if (telling) return open(request, response, url.searchParams.get('room'), telling())
  if (url.pathname === '/ticks') return tick(request, response)
  if (url.pathname === '/told') return response.end(String(told))
  if (url.pathname === '/sessions') return response.end(String(sessions))
  if (url.pathname === '/over') return response.writeHead(204).end()
  if (url.pathname === '/moved') return response.writeHead(307, { Location: '/events' + url.search }).end()
  if (url.pathname === '/nothing') return response.writeHead(404).end()
  if (url.pathname === '/hang') return
  response.writeHead(200, { 'Content-Type': url.pathname === '/api' ? 'application/json' : 'text/html' }).end('{}')
}

createServer(handle).listen(Number(port), '127.0.0.1')
if (port2) {
  const settings = streams ? { maxConcurrentStreams: Number(streams) } : {}
  createServer2({ settings }, handle)
    .on('session', () => (sessions += 1))
    .listen(Number(port2), '127.0.0.1')
}
