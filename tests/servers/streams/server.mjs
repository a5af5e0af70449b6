// Streamed answers on Node's own http, and on its http2 where there is a second port: `node server.mjs PORT [PORT2]`. Every request gets
// EVENTS events GAP_MS apart, at /sse as server-sent events and at /ndjson as lines, the first after ?first=MS; ?events=N&gap=MS are others. With ?faults, the n-th answer is as it should not be, by n % 10: 1 breaks off, 2 has no end mark, 3 has two,
// 4 stalls, 5 has two events in the wrong order, 6 never ends. GET /journal says how long after each request its first event was written,
// in ms, what was planted, how often each body came, and each Authorization with its cookies. POST /login {"name":…} gives a user a key
// and a cookie.

import { createServer } from 'node:http'
import { constants, createServer as createServer2 } from 'node:http2'
import { setTimeout as sleep } from 'node:timers/promises'

const [EVENTS, GAP_MS, STALL_MS, AT] = [20, 10, 400, 8]
const FAULTS = { 1: 'broken', 2: 'unmarked', 3: 'doubled', 4: 'stalled', 5: 'swapped', 6: 'endless' }
const journal = { first_ms: [], planted: {}, bodies: {}, users: {} }
let answers = 0

const forms = {
  '/sse': { type: 'text/event-stream', event: (data) => `data: ${data}\n\n`, end: 'data: [DONE]\n\n' },
  '/ndjson': { type: 'application/x-ndjson', event: (data) => `${data}\n`, end: '{"done":true}\n' }
}

async function read(request) {
  let body = ''
  for await (const part of request) body += part
  return body
}

async function logIn(request, response) {
  const { name } = JSON.parse(await read(request))
  response.setHeader('Set-Cookie', `user=${name}`)
  response.end(JSON.stringify({ key: `key-${name}` }))
}

async function answer(request, response, form, query) {
  const hasFaults = query.has('faults')
  const began = performance.now()
  const fault = hasFaults ? FAULTS[answers++ % 10] : undefined
  if (fault) journal.planted[fault] = (journal.planted[fault] ?? 0) + 1
  const body = await read(request)
  const user = `${request.headers.authorization} ${request.headers.cookie}`
  journal.users[user] = (journal.users[user] ?? 0) + 1
  journal.bodies[body] = (journal.bodies[body] ?? 0) + 1
  response.writeHead(200, { 'Content-Type': form.type })
  const [first, events, gap] = [['first', 0], ['events', EVENTS], ['gap', GAP_MS]].map(([name, usual]) => Number(query.get(name) ?? usual))
  await sleep(first)
  for (let event = 0; event < events; event++) {
    if (event > 0) await sleep(fault === 'stalled' && event === AT ? STALL_MS : gap)
    if (fault === 'broken' && event === AT) return response.stream ? response.stream.close(constants.NGHTTP2_INTERNAL_ERROR) : response.destroy()
    if (fault === 'endless' && event === AT) return
    const n = fault === 'swapped' && (event === AT || event === AT + 1) ? 2 * AT + 1 - event : event
    if (event === 0) journal.first_ms.push(performance.now() - began)
    response.write(form.event(JSON.stringify({ n, text: 'word ' })))
  }
  const marks = { unmarked: 0, doubled: 2 }[fault] ?? 1
  response.end(form.end.repeat(marks))
}

function handle(request, response) {
  const url = new URL(request.url, 'http://localhost')
  const form = forms[url.pathname]
  if (url.pathname === '/login') return logIn(request, response)
  if (form) return answer(request, response, form, url.searchParams)
  response.end(JSON.stringify(journal))
}

const [port, port2] = process.argv.slice(2).map(Number)
createServer(handle).listen(port, '127.0.0.1')
if (port2) createServer2(handle).listen(port2, '127.0.0.1')
