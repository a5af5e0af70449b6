// A chat that numbers what is said, and tells who joins what they have missed: `node server.js PORT KEPT`.
import process from 'node:process'
import { WebSocketServer } from 'ws'

const [port, kept] = process.argv.slice(2).map(Number)
const server = new WebSocketServer({ host: '127.0.0.1', port })
const members = new Set()
const history = []
let number = 0

server.on('connection', (socket, request) => {
  const tell = (message) => socket.send(JSON.stringify(message))
  const join = (after) => {
    history.filter((message) => message.meta.number > after).forEach(tell)
    if (!members.has(socket)) tell({ type: 'joined' })
    members.add(socket)
  }
  socket.on('error', () => {})
  socket.on('close', () => members.delete(socket))
  socket.on('message', (data) => {
    const { type, text, after } = JSON.parse(data)
    if (type === 'join') join(after)
    if (type !== 'say') return
    const message = { type: 'said', meta: { number: ++number }, text }
    history.push(message)
    history.splice(0, history.length - kept)
    const encoded = JSON.stringify(message)
    members.forEach((member) => member.send(encoded))
    tell({ type: 'ok', text })
  })
  const after = new URL(request.url, 'http://localhost').searchParams.get('after')
  if (after !== null) join(Number(after))
})
