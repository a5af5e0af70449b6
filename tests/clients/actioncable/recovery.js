// @anycable/core loses its connection and gets what it missed: `node recovery.js URL`. Says ok if everything was as it should be.

import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import process from 'node:process'
import WebSocket from 'ws'
import { createCable } from '@anycable/core'

const DEADLINE_MS = 120_000
const PROTOCOL = 'actioncable-v1-ext-json'

const [url] = process.argv.slice(2)
setTimeout(() => assert.fail('not done in time'), DEADLINE_MS).unref()

// As in browsers, each message is a task of its own.
class BrowserWebSocket extends WebSocket {
  constructor(url, protocols) {
    super(url, protocols, { allowSynchronousEvents: false })
  }
}

function open(address) {
  const cable = createCable(address, {
    protocol: PROTOCOL,
    protocolOptions: { pongs: true },
    websocketImplementation: BrowserWebSocket,
    pingInterval: 300,
    reconnectStrategy: () => 300,
  })
  const [got, told] = [[], new EventEmitter()]
  const channel = cable.subscribeTo('BenchmarkChannel', { room: 'recovery' })
  channel.on('message', ({ action, payload }) => action === 'broadcast' && got.push(payload))
  channel.on('info', ({ type }) => told.emit('info', type))
  cable.on('connect', (how) => told.emit('connect', how))
  return { cable, channel, got, told }
}

function next(emitter, event) {
  return new Promise((resolve) => emitter.once(event, resolve))
}

async function until(is, what) {
  const deadline = Date.now() + 60_000
  while (!is()) {
    assert.ok(Date.now() < deadline, `waited in vain for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const [listener, speaker] = [open(url), open(url)]
await Promise.all([listener.channel.ensureSubscribed(), speaker.channel.ensureSubscribed()])

let said = 0
async function speak(times) {
  const before = speaker.got.length
  for (let n = 0; n < times; n++) await speaker.channel.perform('broadcast', { payload: said++ })
  await until(() => speaker.got.length === before + times, 'what was said')
}

await speak(1)
await until(() => listener.got.length === 1, 'the first broadcast')
const first = listener.cable.sessionId

// Cut off, and back under another name with all it had subscribed to.
const back = next(listener.told, 'connect')
listener.cable.transport.ws.terminate()
await speak(3)
assert.deepEqual(await back, { reconnect: true, restored: true })
assert.equal(await next(listener.told, 'info'), 'history_received')
await speak(1)
await until(() => listener.got.length >= 5, 'what was missed')
assert.deepEqual(listener.got, [0, 1, 2, 3, 4])
assert.notEqual(listener.cable.sessionId, first)

// It is asked for pongs, and gives them: it stays.
let lost = 0
listener.cable.on('disconnect', () => (lost += 1))
await new Promise((resolve) => setTimeout(resolve, 1200))
assert.equal(lost, 0)

// The session was taken, and nobody's is nobody's: whoever names them is somebody new.
for (const sid of [first, 'B0wzD_cTNvnFkdk4ur6tN', 'x'.repeat(5000)]) {
  const stranger = open(`${url}?sid=${sid}`)
  const how = next(stranger.told, 'connect')
  await stranger.channel.ensureSubscribed()
  assert.deepEqual(await how, { reconnect: false, restored: false })
  stranger.cable.disconnect()
}

// A place in the stream that nobody has come to yet, and one of another server's: nothing is sent again.
for (const change of [{ offset: 999_999_999 }, { epoch: 'zzzz' }]) {
  const { streamsPositions } = listener.cable.protocol
  for (const position of Object.values(streamsPositions)) Object.assign(position, change)
  const again = next(listener.told, 'info')
  listener.cable.transport.ws.terminate()
  assert.equal(await again, 'history_not_found')
  const heard = listener.got.length
  await speak(1)
  await until(() => listener.got.length === heard + 1, 'what is new')
}

listener.cable.disconnect()
speaker.cable.disconnect()
console.log('ok')
process.exit(0)
