// Socket.IO that sends everybody what is broadcast: `node server.js PORT RECOVERY_MS [PING_MS]`. With 0, nobody gets
// what they missed.
import http from 'node:http'
import process from 'node:process'
import { Server } from 'socket.io'

const [port, recovery, ping = 1000] = process.argv.slice(2).map(Number)
const server = http.createServer()
const lasting = recovery > 0 ? { connectionStateRecovery: { maxDisconnectionDuration: recovery } } : {}
// A client that is gone without a word is noticed after twice the time between pings.
const io = new Server(server, { pingInterval: ping, pingTimeout: ping, ...lasting })

io.on('connection', (socket) => {
  socket.on('echo', (payload) => socket.emit('echo', payload))
  socket.on('broadcast', (payload) => {
    io.emit('broadcast', payload)
    socket.emit('broadcastResult', payload)
  })
})
server.listen(port, '127.0.0.1')
