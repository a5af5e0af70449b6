// The official client of Socket.IO loses its connection and gets what it missed: `node recovery.js URL`.
// Says ok if everything was as it should be.

import assert from 'node:assert/strict'
import process from 'node:process'
import { io } from 'socket.io-client'

const DEADLINE_MS = 120_000

const [url] = process.argv.slice(2)
setTimeout(() => assert.fail('not done in time'), DEADLINE_MS).unref()

function open() {
  const options = { transports: ['websocket'], auth: { user: 1 }, forceNew: true, reconnectionDelay: 300 }
  const socket = io(url, options)
  socket.got = []
  socket.on('broadcast', (value) => socket.got.push(value))
  return socket
}

function next(emitter, event) {
  return new Promise((resolve) => emitter.once(event, (...values) => resolve(values)))
}

async function broadcast(socket, value) {
  const result = next(socket, 'broadcastResult')
  socket.emit('broadcast', value)
  await result
}

const [listener, speaker] = [open(), open()]
await Promise.all([next(listener, 'connect'), next(speaker, 'connect')])
assert.equal(listener.recovered, false)

await broadcast(speaker, 0)
while (listener.got.length < 1) await next(listener, 'broadcast')
const back = next(listener, 'connect')
listener.io.engine.close()
for (const value of [1, 2, 3]) await broadcast(speaker, value)
await back
assert.equal(listener.recovered, true)
await broadcast(speaker, 4)
while (listener.got.length < 5) await next(listener, 'broadcast')
assert.deepEqual(listener.got, [0, 1, 2, 3, 4])

// A session that nobody had, and an offset of the future: a new session, and nothing is sent again.
for (const [session, offset] of [['somebody', '1'], [undefined, '999999999'], [undefined, 'x'.repeat(10_000)]]) {
  const pid = session ?? listener._pid
  const stranger = io(url, { transports: ['websocket'], auth: { pid, offset }, forceNew: true })
  let got = 0
  stranger.on('broadcast', () => got++)
  await next(stranger, 'connect')
  await broadcast(speaker, 5)
  while (got < 1) await next(stranger, 'broadcast')
  assert.equal(got, 1)
  stranger.close()
}

listener.close()
speaker.close()
console.log('ok')
