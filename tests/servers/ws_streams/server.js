// Answers in pieces over a WebSocket: `node server.js PORT`. Each message gets EVENTS messages GAP_MS apart, the first after ?first=MS, and {"type":"end"} behind them. With
// ?faults, the n-th answer is as it should not be, by n % 10: 1 breaks off (a reset, or a close with 1011, in turn), 2 ends with a close and no
// mark, 3 has two marks, 4 stalls, 5 has two events in the wrong order, 6 never ends. GET /journal says how long after each question its first
// event was written, in ms, what was planted, how many events went out, how often each question came, and by which subprotocol, cookie and
// Authorization. POST /login {"name":…} gives a user a key and a cookie.
import http from 'node:http'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocketServer } from 'ws'

const [EVENTS, GAP_MS, STALL_MS, AT] = [20, 10, 400, 8]
const FAULTS = { 1: 'broken', 2: 'unmarked', 3: 'doubled', 4: 'stalled', 5: 'swapped', 6: 'endless' }
const journal = { first_ms: [], planted: {}, questions: {}, users: {}, events: 0, connections: 0 }
let answers = 0

const count = (of, key) => (of[key] = (of[key] ?? 0) + 1)

const answer = async (socket, question, query) => {
  const began = performance.now()
  const hasFaults = query.has('faults')
  const fault = hasFaults ? FAULTS[answers++ % 10] : undefined
  if (fault) count(journal.planted, fault)
  count(journal.questions, question)
  await sleep(Number(query.get('first') ?? 0))
  for (let event = 0; event < EVENTS; event++) {
    if (event > 0) await sleep(fault === 'stalled' && event === AT ? STALL_MS : GAP_MS)
    if (fault === 'broken' && event === AT) {
      return journal.planted.broken % 2 ? socket._socket.resetAndDestroy() : socket.close(1011, 'out of memory')
    }
    if (fault === 'endless' && event === AT) return
    const n = fault === 'swapped' && (event === AT || event === AT + 1) ? 2 * AT + 1 - event : event
    if (event === 0) journal.first_ms.push(performance.now() - began)
    journal.events++
    socket.send(JSON.stringify({ type: 'token', n, text: 'word ' }))
  }
  if (fault === 'unmarked') return socket.close(1000)
  for (let mark = 0; mark < (fault === 'doubled' ? 2 : 1); mark++) socket.send('{"type":"end"}')
}

const handle = async (request, response) => {
  if (request.url !== '/login') return response.end(JSON.stringify(journal))
  let body = ''
  for await (const part of request) body += part
  const { name } = JSON.parse(body)
  response.setHeader('Set-Cookie', `user=${name}`)
  response.end(JSON.stringify({ key: `key-${name}` }))
}

const server = http.createServer(handle)
new WebSocketServer({ server }).on('connection', (socket, request) => {
  const url = new URL(request.url, 'http://localhost')
  journal.connections++
  count(journal.users, `${request.headers.authorization} ${request.headers.cookie} ${socket.protocol}`)
  // A client that has gone is none to be answered.
  socket.on('error', () => {})
  socket.on('message', (data) => answer(socket, data.toString(), url.searchParams))
})
server.listen(Number(process.argv[2]), '127.0.0.1')
