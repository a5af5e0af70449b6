// The chat of Socket.IO's tutorial (socket.io/docs/v4/tutorial) on the port of $PORT, written anew, and without Express. GET /said
// tells how many messages were said.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import process from 'node:process'
import { Server } from 'socket.io'

const page = readFileSync(new URL('tutorial.html', import.meta.url))
let said = 0
const server = createServer((request, response) => {
  if (request.url === '/said') return response.end(JSON.stringify({ said }))
  response.writeHead(200, { 'Content-Type': 'text/html' }).end(page)
})
const io = new Server(server)

io.on('connection', (socket) => {
  socket.on('chat message', (msg) => {
    said++
    io.emit('chat message', msg)
  })
})

server.listen(Number(process.env.PORT), '127.0.0.1')
