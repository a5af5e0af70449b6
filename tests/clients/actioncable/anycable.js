// @anycable/core against a server: `node anycable.js URL PROTOCOL`. Exits with 0 if everything is as it should be.

import assert from 'node:assert/strict'
import { once, EventEmitter } from 'node:events'
import WebSocket from 'ws'
import { createCable } from '@anycable/core'

const [url, protocol] = process.argv.slice(2)
const isExtended = protocol.includes('-ext-')

// As in browsers, each message is a task of its own: the client takes a step between a confirmation and a history.
class BrowserWebSocket extends WebSocket {
  constructor(url, protocols) {
    super(url, protocols, { allowSynchronousEvents: false })
  }
}

function connect() {
  return createCable(url, { protocol, websocketImplementation: BrowserWebSocket, pingInterval: 300 })
}

async function until(is, what) {
  const deadline = Date.now() + 60_000
  while (!is()) {
    assert.ok(Date.now() < deadline, `waited in vain for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

// A subscription, with what it has received and what it was told besides.
async function subscribe(cable) {
  const channel = cable.subscribeTo('BenchmarkChannel')
  const [received, told] = [[], new EventEmitter()]
  channel.on('message', (message) => received.push(message))
  channel.on('info', ({ type }) => told.emit(type))
  const history = isExtended ? once(told, 'history_received') : undefined
  await channel.ensureSubscribed()
  await history
  return { channel, received }
}

const [one, other] = [connect(), connect()]
const [here, there] = [await subscribe(one), await subscribe(other)]
assert.equal(one.sessionId?.length, isExtended ? 21 : undefined)
assert.notEqual(one.sessionId, isExtended ? other.sessionId : 'none')

await here.channel.perform('echo', { payload: { t: 1 } })
await until(() => here.received.length === 1, 'the echo')
assert.deepEqual(here.received.pop(), { action: 'echo', payload: { t: 1 } })

await here.channel.perform('broadcast', { payload: { t: 2 } })
await until(() => here.received.length === 2 && there.received.length === 1, 'the broadcast')
assert.deepEqual(here.received.map(({ action }) => action).sort(), ['broadcast', 'broadcastResult'])
assert.deepEqual(there.received, [{ action: 'broadcast', payload: { t: 2 } }])

// The client disconnects when two pings are missing: it stays.
let lost = 0
one.on('disconnect', () => (lost += 1))
await new Promise((resolve) => setTimeout(resolve, 1200))
assert.equal(lost, 0)

one.disconnect()
other.disconnect()
console.log('ok')
process.exit(0)
