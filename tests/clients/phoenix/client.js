// phoenix.js against a server: `node client.js URL`. Exits with 0 if everything is as it should be.

import assert from 'node:assert/strict'
import WebSocket from 'ws'
import { Socket } from 'phoenix'

const [url] = process.argv.slice(2)

// The package speaks the second serializer; this is the first, as its own older versions had it.
const FIRST_SERIALIZER = {
  vsn: '1.0.0',
  encode({ topic, event, payload, ref }, callback) {
    callback(JSON.stringify({ topic, event, payload, ref }))
  },
  decode(text, callback) {
    callback({ join_ref: null, ...JSON.parse(text) })
  },
}

function connect(options) {
  const socket = new Socket(url, { transport: WebSocket, heartbeatIntervalMs: 200, ...options })
  socket.connect()
  return socket
}

// The answer to a join or push: its status and response.
function answered(push) {
  return new Promise((resolve, reject) => {
    for (const status of ['ok', 'error']) push.receive(status, (response) => resolve([status, response]))
    push.receive('timeout', () => reject(new Error('no reply')))
  })
}

async function join(socket, topic) {
  const channel = socket.channel(topic, { name: 'é' })
  const received = []
  channel.on('broadcast', (message) => received.push(message))
  const [status, response] = await answered(channel.join())
  return { channel, received, status, response }
}

async function until(is, what) {
  const deadline = Date.now() + 60_000
  while (!is()) {
    assert.ok(Date.now() < deadline, `waited in vain for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const [first, second] = [connect(FIRST_SERIALIZER), connect({})]
const [old, current] = [await join(first, 'room:lobby'), await join(second, 'room:lobby')]
assert.deepEqual([old.status, old.response], ['ok', {}])
assert.deepEqual([current.status, current.response], ['ok', {}])

// A topic that does not exist.
const nowhere = await join(second, 'nope:1')
assert.deepEqual([nowhere.status, nowhere.response], ['error', { reason: 'unmatched topic' }])
nowhere.channel.leave()

// Echo, and broadcast to clients of either serializer.
const body = { text: 'é "quoted" \\ \u2028 😀', list: [1, [2, { three: null }]] }
for (const { channel } of [old, current]) {
  assert.deepEqual(await answered(channel.push('echo', { body })), ['ok', { body, type: 'echo' }])
  const reply = await answered(channel.push('broadcast', { body }))
  assert.deepEqual(reply, ['ok', { body, type: 'broadcastResult' }])
}
await until(() => old.received.length === 2 && current.received.length === 2, 'the broadcasts')
for (const message of [...old.received, ...current.received]) {
  assert.deepEqual(message, { body, type: 'broadcast' })
}

// Binary pushes, which only the second serializer has.
const binary = Uint8Array.of(1, 2, 3, 255)
const bytesOf = (buffer) => Array.from(new Uint8Array(buffer))
const [status, echoed] = await answered(current.channel.push('echo', binary.buffer))
assert.deepEqual([status, bytesOf(echoed)], ['ok', [1, 2, 3, 255]])
current.received.length = 0
await answered(current.channel.push('broadcast', binary.buffer))
await until(() => current.received.length === 1, 'the binary broadcast')
assert.deepEqual(bytesOf(current.received[0]), [1, 2, 3, 255])

// Heartbeats are answered: twice the interval without an answer, and the socket would be closed.
let lost = 0
for (const socket of [first, second]) socket.onClose(() => (lost += 1))
await new Promise((resolve) => setTimeout(resolve, 900))
assert.equal(lost, 0)

// An event without a clause crashes the channel, which the client joins again.
const crashed = new Promise((resolve) => current.channel.onError(resolve))
current.channel.push('nosuch', {})
await crashed
await until(() => current.channel.state === 'joined', 'the second join')

// Leaving.
const closed = new Promise((resolve) => current.channel.onClose(resolve))
assert.deepEqual(await answered(current.channel.leave()), ['ok', {}])
await closed
old.received.length = 0
await answered(old.channel.push('broadcast', { body: 1 }))
await until(() => old.received.length === 1, 'the last broadcast')
assert.equal(current.received.length, 1)

// A token is passed on, and a version that does not exist is refused.
const refused = new WebSocket(`${url}/websocket?vsn=9.9.9`)
const answer = await new Promise((resolve) => refused.on('unexpected-response', (_, got) => resolve(got)))
assert.equal(answer.statusCode, 403)

console.log('ok')
process.exit(0)
