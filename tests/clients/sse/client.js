// The npm package eventsource against throng's server: `node client.js ADDRESS`. Says `ok` if everything is as it should be.

import assert from 'node:assert/strict'
import { EventSource } from 'eventsource'

const [address] = process.argv.slice(2)
const at = (path) => `http://${address}${path}`

// A stream of this room that is open, and what it has heard.
function open(room) {
  const heard = []
  const source = new EventSource(at(`/events?room=${room}`))
  source.onmessage = ({ data, lastEventId }) => heard.push([data, lastEventId])
  return new Promise((resolve) => (source.onopen = () => resolve({ source, heard })))
}

async function publish(room, body) {
  const response = await fetch(at(`/publish/${room}`), { method: 'POST', body })
  assert.equal(response.status, 202)
  return (await response.json()).members
}

async function until(is, what) {
  const deadline = Date.now() + 60_000
  while (!is()) {
    assert.ok(Date.now() < deadline, `waited in vain for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const [one, two, other] = await Promise.all([open('a'), open('a'), open('b')])
assert.equal(await publish('a', '{"n": 1, "s": "é\\n"}'), 2)
assert.equal(await publish('b', '[]'), 1)
await until(() => one.heard.length === 1 && two.heard.length === 1 && other.heard.length === 1, 'one event each')
assert.deepEqual([one.heard[0][0], other.heard[0][0]], ['{"n": 1, "s": "é\\n"}', '[]'])

// Whoever comes back with an id is told what it missed, and nothing twice.
const [, id] = two.heard[0]
two.source.close()
await publish('a', '2')
await publish('a', '3')
const response = await fetch(at('/events?room=a'), { headers: { 'Last-Event-ID': id } })
assert.equal(response.headers.get('content-type'), 'text/event-stream')
const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
let missed = ''
while (!missed.includes('data: 3')) missed += (await reader.read()).value
assert.deepEqual(missed.match(/data: .*/g), ['data: 2', 'data: 3'])
await reader.cancel()
await until(() => one.heard.length === 3, 'what is new')
one.source.close()
other.source.close()
console.log('ok')
