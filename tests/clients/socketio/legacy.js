// The last client of Engine.IO 3 against a server: `node legacy.js URL TRANSPORT`. The server expects pings, and is told
// to announce an interval of 300 ms. Says ok if everything was as it should be.

import assert from 'node:assert/strict'
import process from 'node:process'
import io from 'socket.io-client-2'

const DEADLINE_MS = 120_000
const TRANSPORTS = { websocket: ['websocket'], polling: ['polling'], upgrade: ['polling', 'websocket'] }

const [url, transport] = process.argv.slice(2)
setTimeout(() => assert.fail('not done in time'), DEADLINE_MS).unref()

function open(namespace) {
  return io(url + namespace, { transports: TRANSPORTS[transport], forceNew: true, reconnection: false })
}

function next(emitter, event) {
  return new Promise((resolve) => emitter.once(event, (...values) => resolve(values)))
}

/** A WebSocket has taken over, which may have been a while ago. */
async function upgraded({ io: { engine } }) {
  if (engine.transport.name !== 'websocket') await next(engine, 'upgrade')
}

/** What comes back is what was sent, attachments too. */
async function exchange(socket) {
  const values = [1, '2', { a: [true, null], b: Buffer.from([1, 2, 3]) }, 'é€\u{1f600}"\\']
  const back = next(socket, 'message-back')
  socket.emit('message', ...values)
  assert.deepEqual(await back, values)
  const acknowledged = await new Promise((resolve) => socket.emit('message-with-ack', ...values, (...got) => resolve(got)))
  assert.deepEqual(acknowledged, values)
}

const [first, second, custom] = ['/', '/', '/custom'].map(open)
await Promise.all([first, second, custom].map((socket) => next(socket, 'connect')))
if (transport === 'upgrade') await upgraded(first)
await exchange(first)
await exchange(custom)

const payload = { text: 'to all', bytes: Buffer.from([255, 0]) }
const heard = [next(first, 'broadcast'), next(second, 'broadcast'), next(first, 'broadcastResult')]
first.emit('broadcast', payload)
assert.deepEqual(await Promise.all(heard), [[payload], [payload], [payload]])

for (let pongs = 0; pongs < 3; pongs += 1) await next(first, 'pong')
assert.ok(first.connected && second.connected && custom.connected)

const refused = open('/nowhere')
assert.deepEqual(await next(refused, 'error'), ['Invalid namespace'])

const gone = next(second, 'disconnect')
second.disconnect()
assert.equal((await gone)[0], 'io client disconnect')
await exchange(first)
console.log('ok')
process.exit(0)
