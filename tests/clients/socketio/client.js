// The official client of Socket.IO against a server: `node client.js URL TRANSPORT`. The server pings every 300 ms.
// Says ok if everything was as it should be.

import assert from 'node:assert/strict'
import process from 'node:process'
import { io } from 'socket.io-client'

const DEADLINE_MS = 120_000
const TRANSPORTS = { websocket: ['websocket'], polling: ['polling'], upgrade: ['polling', 'websocket'] }
const LAST = { websocket: 'websocket', polling: 'polling', upgrade: 'websocket' }

const [url, transport] = process.argv.slice(2)
setTimeout(() => assert.fail('not done in time'), DEADLINE_MS).unref()

function open(namespace, auth) {
  const options = { transports: TRANSPORTS[transport], auth, forceNew: true, reconnection: false }
  const socket = io(url + namespace, options)
  socket.greeted = next(socket, 'auth')
  return socket
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
  const values = [1, '2', { a: [true, null], b: Buffer.from([1, 2, 3]) }, Buffer.alloc(0), 'é€\u{1f600}\u2028"\\']
  const back = next(socket, 'message-back')
  socket.emit('message', ...values)
  assert.deepEqual(await back, values)
  assert.deepEqual(await callback(socket, values), values)
  // More than one request may carry at a time, in one packet and in many.
  const long = 'x'.repeat(300_000)
  const all = await Promise.all(Array.from({ length: 10 }, (_, n) => socket.emitWithAck('echo', { n, long })))
  assert.deepEqual(all.map(({ n }) => n), Array.from({ length: 10 }, (_, n) => n))
}

function callback(socket, values) {
  return new Promise((resolve) => socket.emit('message-with-ack', ...values, (...got) => resolve(got)))
}

/** Everybody has the copy, the sender its result; the other namespace has nothing. */
async function broadcast(sender, listener, stranger) {
  stranger.on('broadcast', () => assert.fail('of another namespace'))
  const copies = [sender, listener].map((socket) => next(socket, 'broadcast'))
  const result = next(sender, 'broadcastResult')
  const payload = { text: 'to all', bytes: Buffer.from([255, 0]) }
  sender.emit('broadcast', payload)
  assert.deepEqual(await Promise.all([...copies, result]), [[payload], [payload], [payload]])
}

const [first, second, custom] = [open('/', { token: 'abc' }), open('/'), open('/custom', { n: 1 })]
assert.deepEqual(await Promise.all([first.greeted, second.greeted, custom.greeted]), [[{ token: 'abc' }], [{}], [{ n: 1 }]])
if (transport === 'upgrade') await Promise.all([first, second].map(upgraded))
assert.equal(first.io.engine.transport.name, LAST[transport])
await exchange(first)
await exchange(custom)
await broadcast(first, second, custom)
await broadcast(second, first, custom)

// Heartbeats go on, and the sessions with them.
for (let pings = 0; pings < 3; pings += 1) await next(first.io, 'ping')
assert.ok(first.connected && second.connected && custom.connected)

// One namespace is left, and the connection goes on with the other.
const both = first.io.socket('/custom')
await next(both, 'auth')
both.disconnect()
await exchange(first)

const refused = open('/nowhere')
assert.equal((await next(refused, 'connect_error'))[0].message, 'Invalid namespace')
refused.disconnect()

const gone = next(second, 'disconnect')
second.disconnect()
assert.equal((await gone)[0], 'io client disconnect')
await exchange(first)
console.log('ok')
process.exit(0)
