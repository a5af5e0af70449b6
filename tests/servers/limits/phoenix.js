// A socket of Phoenix's in the second version of its protocol, with limits of its endpoint:
// `node phoenix.js PORT LIMITS`, LIMITS a JSON object of
//   timeout   ms without a frame, after which Cowboy closes with 1000
//   frame     bytes of a frame; a larger one is answered 1009
//   origin    the only one that check_origin lets in; clients without one come in
import http from 'node:http'
import process from 'node:process'
import { WebSocketServer } from 'ws'

const [port, { timeout, frame, origin }] = [Number(process.argv[2]), JSON.parse(process.argv[3])]
const server = http.createServer((_, reply) => reply.writeHead(404).end())
const sockets = new WebSocketServer({ noServer: true, ...(frame && { maxPayload: frame }) })
const topics = new Map()

server.on('upgrade', (request, socket, head) => {
  const { pathname } = new URL(request.url, 'http://phoenix')
  const isForeign = origin && request.headers.origin && request.headers.origin !== origin
  const status = pathname !== '/socket/websocket' ? 404 : isForeign && 403
  if (status) return socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`)
  sockets.handleUpgrade(request, socket, head, (client) => serve(client))
})

const serve = (client) => {
  client.on('error', () => {})
  const joined = new Set()
  let timer
  const wait = () => {
    clearTimeout(timer)
    timer = timeout && setTimeout(() => client.close(1000), timeout)
  }
  client.on('ping', wait)
  client.on('pong', wait)
  client.on('close', () => {
    clearTimeout(timer)
    joined.forEach((topic) => topics.get(topic).delete(client))
  })
  client.on('message', (data) => {
    wait()
    const [joinRef, ref, topic, event, payload] = JSON.parse(data)
    const reply = (status, response) => client.send(JSON.stringify([joinRef, ref, topic, 'phx_reply', { status, response }]))
    if (topic === 'phoenix') return reply('ok', {})
    if (event === 'phx_join') {
      if (!topics.has(topic)) topics.set(topic, new Set())
      topics.get(topic).add(client)
      joined.add(topic)
      return reply('ok', {})
    }
    if (!joined.has(topic)) return reply('error', { reason: 'unmatched topic' })
    const said = JSON.stringify([null, null, topic, event, payload])
    topics.get(topic).forEach((member) => member.send(said))
    reply('ok', {})
  })
  wait()
}
server.listen(port, '127.0.0.1')
