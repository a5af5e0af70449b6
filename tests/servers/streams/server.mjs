// Streamed answers on Node's own http: `node server.mjs PORT`. Every request gets EVENTS events GAP_MS apart, at /sse as server-sent events
// and at /ndjson as lines. With ?faults, the n-th answer is as it should not be, by n % 10: 1 breaks off, 2 has no end mark, 3 has two,
// 4 stalls, 5 has two events in the wrong order, 6 never ends. GET /journal says how long after each request its first event was written,
// in ms, and what was planted.

import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const [EVENTS, GAP_MS, STALL_MS, AT] = [20, 10, 400, 8]
const FAULTS = { 1: 'broken', 2: 'unmarked', 3: 'doubled', 4: 'stalled', 5: 'swapped', 6: 'endless' }
const journal = { first_ms: [], planted: {} }
let answers = 0

const forms = {
  '/sse': { type: 'text/event-stream', event: (data) => `data: ${data}\n\n`, end: 'data: [DONE]\n\n' },
  '/ndjson': { type: 'application/x-ndjson', event: (data) => `${data}\n`, end: '{"done":true}\n' }
}

async function answer(request, response, form, hasFaults) {
  const began = performance.now()
  const fault = hasFaults ? FAULTS[answers++ % 10] : undefined
  if (fault) journal.planted[fault] = (journal.planted[fault] ?? 0) + 1
  for await (const _ of request);
  response.writeHead(200, { 'Content-Type': form.type })
  for (let event = 0; event < EVENTS; event++) {
    if (event > 0) await sleep(fault === 'stalled' && event === AT ? STALL_MS : GAP_MS)
    if (fault === 'broken' && event === AT) return response.destroy()
    if (fault === 'endless' && event === AT) return
    const n = fault === 'swapped' && (event === AT || event === AT + 1) ? 2 * AT + 1 - event : event
    if (event === 0) journal.first_ms.push(performance.now() - began)
    response.write(form.event(JSON.stringify({ n, text: 'word ' })))
  }
  const marks = { unmarked: 0, doubled: 2 }[fault] ?? 1
  response.end(form.end.repeat(marks))
}

const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost')
  const form = forms[url.pathname]
  if (form) return answer(request, response, form, url.searchParams.has('faults'))
  response.end(JSON.stringify(journal))
})
server.listen(Number(process.argv[2]), '127.0.0.1')
