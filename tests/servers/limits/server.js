// An echo server with the limits that it is given: `node server.js PORT LIMITS`, LIMITS a JSON object of
//   ws            options of the ws package: maxPayload, perMessageDeflate
//   origin, subprotocol   the only one that is let in
//   idle          { ms, code, resets }: closes who sends nothing; resets: "message" or "ping"
//   pings         ms from one to the next; who has not answered by then is cut off
//   connections   { max, by }: by: a status, or a close code above 999
//   handshakes    of each second; more are answered 429
//   burst         { max, by }: messages of each second on a connection; by: a close code, or "silence" or "message"
//   mute          answers nothing
//   fragile       handles no errors: a frame that breaks the protocol ends the process
//   together      ms for which answers are collected, to go into one frame
//   reorders      each second answer goes before the first
//   unread        bytes that may wait for a client; more close it with 1013
//   lossy         bytes that may wait for a client; a text of the server's own takes the place of further answers
//   cookie        the name of a cookie that tells clients apart
import http from 'node:http'
import process from 'node:process'
import { WebSocketServer } from 'ws'

const [port, limits] = [Number(process.argv[2]), JSON.parse(process.argv[3])]
const { origin, subprotocol, idle, pings, connections, handshakes, burst, together, reorders, unread, lossy, cookie, mute, fragile } = limits
const server = http.createServer((_, reply) => reply.end())
const sockets = new WebSocketServer({
  noServer: true,
  ...(subprotocol && { handleProtocols: (offered) => offered.has(subprotocol) && subprotocol }),
  ...limits.ws,
})
let [second, accepted, named] = [0, 0, 0]

/** The status with which a request is refused, if it is. */
const refusal = ({ headers }) => {
  if (origin && headers.origin !== origin) return 403
  const now = Math.floor(Date.now() / 1000)
  ;[second, accepted] = now === second ? [second, accepted + 1] : [now, 1]
  if (handshakes && accepted > handshakes) return 429
  if (connections?.by < 1000 && sockets.clients.size >= connections.max) return connections.by
}

server.on('upgrade', (request, socket, head) => {
  const status = refusal(request)
  if (status) return socket.end(`HTTP/1.1 ${status} No\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n`)
  sockets.handleUpgrade(request, socket, head, (client) => serve(client))
})
sockets.on('headers', (lines, { headers }) => {
  if (cookie && !headers.cookie?.includes(`${cookie}=`)) lines.push(`Set-Cookie: ${cookie}=${named++}; Path=/`)
})

const serve = (client) => {
  if (!fragile) client.on('error', () => {})
  if (connections?.by > 999 && sockets.clients.size > connections.max) return client.close(connections.by)
  let [timer, isAlive, begun, count, waiting] = [undefined, true, Date.now(), 0, []]
  const wait = () => {
    clearTimeout(timer)
    timer = idle && setTimeout(() => client.close(idle.code), idle.ms)
  }
  const pinging = pings && setInterval(() => {
    if (!isAlive) return client.terminate()
    isAlive = false
    client.ping()
  }, pings)
  const collecting = together && setInterval(() => {
    if (!waiting.length) return
    const parts = waiting.splice(0).flatMap((part, n) => (n ? [Buffer.from('\n'), part] : [part]))
    client.send(Buffer.concat(parts), { binary: waiting.isBinary })
  }, together)
  const answer = (data, binary) => {
    if (lossy && client.bufferedAmount > lossy) return client.send('{"type":"tick"}')
    waiting.isBinary = binary
    if (together) return waiting.push(data)
    const flush = () => waiting.splice(0).reverse().forEach((data) => client.send(data, { binary }))
    if (waiting.push(data) < (reorders ? 2 : 1)) setTimeout(flush, 20)
    else flush()
    if (unread && client.bufferedAmount > unread) client.close(1013)
  }
  client.on('pong', () => (isAlive = true))
  client.on('ping', () => idle?.resets === 'ping' && wait())
  client.on('message', (data, binary) => {
    wait()
    if (Date.now() - begun >= 1000) [begun, count] = [Date.now(), 0]
    if (burst && ++count > burst.max) {
      if (burst.by > 0) client.close(burst.by)
      if (burst.by === 'message') client.send('{"error":"slow down"}')
      return
    }
    if (!mute) answer(data, binary)
  })
  client.on('close', () => [timer, pinging, collecting].forEach(clearInterval))
  wait()
}
server.listen(port, '127.0.0.1')
