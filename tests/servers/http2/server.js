// WebSockets over HTTP/2 (RFC 8441), by Node's own HTTP/2 and ws: `node server.js PORT [CERT KEY]`. It echoes at /, sends
// everybody what comes to /all, cuts off whoever comes to /cut with their first message, does not read what comes to /deaf, and
// closes what comes to /expired.
import { readFileSync } from 'node:fs'
import http2 from 'node:http2'
import process from 'node:process'
import WebSocket from 'ws'

const [port, cert, key] = process.argv.slice(2)
const settings = { enableConnectProtocol: true }
const server = cert
  ? http2.createSecureServer({ cert: readFileSync(cert), key: readFileSync(key), settings })
  : http2.createServer({ settings })
const everybody = new Set()

server.on('stream', (stream, { ':protocol': protocol, ':path': path }) => {
  stream.on('error', () => {})
  if (protocol !== 'websocket' || path === '/nowhere') return stream.respond({ ':status': 404 }, { endStream: true })
  stream.respond({ ':status': 200 })
  if (path === '/deaf') return stream.pause()
  const socket = new WebSocket(null, undefined, { autoPong: true })
  socket.setSocket(stream, Buffer.alloc(0), { maxPayload: 1 << 20, skipUTF8Validation: false, allowSynchronousEvents: true })
  socket.on('error', () => {})
  if (path === '/all') everybody.add(socket)
  if (path === '/expired') socket.close(4403, 'token expired')
  socket.on('close', () => everybody.delete(socket))
  socket.on('message', (data, binary) => {
    if (path === '/cut') return stream.close(http2.constants.NGHTTP2_CANCEL)
    if (path !== '/all') return socket.send(data, { binary })
    const { type, payload } = JSON.parse(data)
    everybody.forEach((member) => member.send(JSON.stringify({ type, payload })))
    socket.send(JSON.stringify({ type: `${type}Result`, payload }))
  })
})
server.listen(Number(port), '127.0.0.1')
