// @rails/actioncable against a server: `node rails.js URL PID`. Exits with 0 if everything is as it should be.

import assert from 'node:assert/strict'
import { once, EventEmitter } from 'node:events'
import WebSocket from 'ws'
import ActionCable from '@rails/actioncable'

const [url, pid] = process.argv.slice(2)
const CHANNEL = 'BenchmarkChannel'

// The package is made for browsers; this is all it asks of one.
globalThis.document = { visibilityState: 'visible' }
globalThis.addEventListener = globalThis.removeEventListener = () => {}
ActionCable.adapters.WebSocket = WebSocket

// A subscription whose callbacks are events, and what it has received.
function subscribe(consumer, params) {
  const events = new EventEmitter()
  const received = []
  const subscription = consumer.subscriptions.create(params, {
    connected: () => events.emit('connected'),
    rejected: () => events.emit('rejected'),
    disconnected: (how) => events.emit('disconnected', how),
    received(message) {
      received.push(message)
      events.emit('received', message)
    },
  })
  return { subscription, events, received }
}

async function until(is, what) {
  const deadline = Date.now() + 60_000
  while (!is()) {
    assert.ok(Date.now() < deadline, `waited in vain for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const sorted = (messages) => messages.map((message) => JSON.stringify(message)).sort()

const [one, other] = [ActionCable.createConsumer(url), ActionCable.createConsumer(url)]
const here = subscribe(one, CHANNEL)
const there = subscribe(other, CHANNEL)
await Promise.all([once(here.events, 'connected'), once(there.events, 'connected')])

// An echo comes back to its sender alone; a broadcast goes to both, and its result to the sender.
const payload = { text: 'é "quoted" \\ \u2028 😀', list: [1, [2, { three: null }]] }
here.subscription.perform('echo', { payload })
await until(() => here.received.length === 1, 'the echo')
assert.deepEqual(here.received.pop(), { action: 'echo', payload })
here.subscription.perform('broadcast', { payload })
await until(() => here.received.length === 2 && there.received.length === 1, 'the broadcast')
const [copy, result] = [{ payload, action: 'broadcast' }, { payload, action: 'broadcastResult' }]
assert.deepEqual(sorted(here.received), sorted([copy, result]))
assert.deepEqual(there.received, [copy])

// Other parameters are another room.
const apart = subscribe(one, { channel: CHANNEL, id: 7 })
await once(apart.events, 'connected')
apart.subscription.perform('broadcast', { payload: 1 })
await until(() => apart.received.length === 2, 'the broadcast in the other room')
assert.equal(here.received.length, 2)

// Who has unsubscribed gets nothing more, and a channel that does not exist is met with silence.
there.subscription.unsubscribe()
const nowhere = subscribe(other, 'NoSuchChannel')
nowhere.events.once('connected', () => assert.fail('connected to a channel that does not exist'))
here.subscription.perform('broadcast', { payload: 2 })
await until(() => here.received.length === 4, 'the second broadcast')
assert.equal(there.received.length, 1)

// Pings keep the connection alive in the eyes of the client's monitor.
const { monitor } = one.connection
await until(() => monitor.pingedAt > monitor.startedAt + 300, 'a ping')

// A server that stops says so, and that it will be back.
const end = once(here.events, 'disconnected')
process.kill(Number(pid), 'SIGTERM')
const [how] = await end
assert.deepEqual(how, { willAttemptReconnect: true })
one.disconnect()
other.disconnect()
console.log('ok')
process.exit(0)
