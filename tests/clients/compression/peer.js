// An echo server or a client with permessage-deflate: `node peer.js serve PORT TAKEOVER` or `node peer.js ask URL TAKEOVER`, where
// TAKEOVER is `kept` or `forgotten`. The client says `ok` if every answer is what was sent.
import assert from 'node:assert/strict'
import process from 'node:process'
import { WebSocket, WebSocketServer } from 'ws'

const [role, where, takeover] = process.argv.slice(2)
const forgets = takeover === 'forgotten'
const perMessageDeflate = { threshold: 0, serverNoContextTakeover: forgets, clientNoContextTakeover: forgets }

/** What both ends have agreed on. */
function agreed(socket) {
  const { params } = socket._extensions['permessage-deflate']
  return [Boolean(params.server_no_context_takeover), Boolean(params.client_no_context_takeover)]
}

function serve() {
  const server = new WebSocketServer({ host: '127.0.0.1', port: Number(where), perMessageDeflate })
  server.on('connection', (socket) => {
    socket.on('error', () => {})
    if (!socket.extensions.includes('permessage-deflate')) return socket.close(1008, 'no compression')
    socket.on('message', (data, binary) => socket.send(data, { binary }))
  })
}

async function ask() {
  const socket = new WebSocket(where, { perMessageDeflate })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  assert.deepEqual(agreed(socket), [forgets, forgets])
  const texts = ['', 'Hello', 'Hello', 'Hello '.repeat(20_000), 'Hello', crypto.getRandomValues(new Uint8Array(9000)).join()]
  for (const text of [...texts, ...texts]) {
    const answer = new Promise((resolve) => socket.once('message', resolve))
    socket.send(text)
    assert.equal(String(await answer), text)
  }
  socket.close()
  console.log('ok')
}

await (role === 'serve' ? serve() : ask())
