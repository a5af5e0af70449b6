// The npm package graphql-ws against a server: `node client.js URL`. Says `ok` if everything is as it should be.

import assert from 'node:assert/strict'
import { createClient } from 'graphql-ws'
import WebSocket from 'ws'

const [url] = process.argv.slice(2)
const DOCUMENT = (field) => `mutation($payload: JSON!) { ${field}(payload: $payload) }`

// A client whose ids are the package's own, and what it has heard of this room.
function connect(variables) {
  const heard = []
  const client = createClient({ url, webSocketImpl: WebSocket, lazy: false, retryAttempts: 0, keepAlive: 50 })
  const unsubscribe = client.subscribe(
    { query: 'subscription Room($room: String) { messages(room: $room) }', variables },
    { next: (result) => heard.push(result.data.messages), error: (error) => heard.push(error), complete() {} },
  )
  return { client, heard, unsubscribe }
}

async function once(client, query, payload) {
  for await (const result of client.iterate({ query, variables: { payload } })) return result.data
}

async function until(is, what) {
  const deadline = Date.now() + 60_000
  while (!is()) {
    assert.ok(Date.now() < deadline, `waited in vain for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const [ann, bob, eve] = [connect({ room: 'a' }), connect({ room: 'a' }), connect({ room: 'b' })]
for (const { client } of [ann, bob, eve]) {
  assert.deepEqual(await once(client, '{ __typename }'), { __typename: 'Query' })
}
assert.deepEqual(await once(ann.client, DOCUMENT('echo'), { text: 'é "x"' }), { echo: { text: 'é "x"' } })
assert.deepEqual(await once(ann.client, DOCUMENT('broadcast'), [1, { b: null }]), { broadcast: [1, { b: null }] })
await until(() => ann.heard.length === 1 && bob.heard.length === 1, 'both copies')
assert.deepEqual([ann.heard, bob.heard, eve.heard], [[[1, { b: null }]], [[1, { b: null }]], []])

// Whoever unsubscribes hears no more; pings go on in the meantime.
bob.unsubscribe()
await new Promise((resolve) => setTimeout(resolve, 150))
await once(ann.client, DOCUMENT('broadcast'), 'again')
await until(() => ann.heard.length === 2, 'the second')
assert.equal(bob.heard.length, 1)

// A document that the server does not know.
await assert.rejects(once(ann.client, '{ nothing }'), (errors) => errors[0].message === 'Cannot query it here')

// What the protocol says of those who break it.
async function closed(...messages) {
  const socket = new WebSocket(url, 'graphql-transport-ws')
  await new Promise((resolve) => socket.once('open', resolve))
  for (const message of messages) socket.send(message)
  return new Promise((resolve) => socket.once('close', resolve))
}
const [INIT, QUERY] = ['{"type":"connection_init"}', '{"id":"x","type":"subscribe","payload":{"query":"subscription{messages}"}}']
assert.deepEqual(
  await Promise.all([closed('nonsense'), closed(QUERY), closed(INIT, QUERY, QUERY), closed(INIT, INIT), closed()]),
  [4400, 4401, 4409, 4429, 4408],
)
for (const { client } of [ann, bob, eve]) await client.dispose()
console.log('ok')
