// Socket.IO that sends everybody what is broadcast: `node server.js PORT RECOVERY_MS`. With 0, nobody gets what they missed.
import http from 'node:http'
import process from 'node:process'
import { Server } from 'socket.io'

const [port, recovery] = process.argv.slice(2).map(Number)
const server = http.createServer()
const lasting = recovery > 0 ? { connectionStateRecovery: { maxDisconnectionDuration: recovery } } : {}
// A client that is gone without a word is noticed after two seconds.
const io = new Server(server, { pingInterval: 1000, pingTimeout: 1000, ...lasting })

io.on('connection', (socket) => {
  socket.on('broadcast', (payload) => {
    io.emit('broadcast', payload)
    socket.emit('broadcastResult', payload)
  })
})
server.listen(port, '127.0.0.1')
