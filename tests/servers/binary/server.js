// Servers whose messages are no text, each in its library's own words: `node server.js MODE PORT`. GET / tells how many messages
// were said, and how many copies were sent.
import http from 'node:http'
import process from 'node:process'
import signalr from '@microsoft/signalr'
import { MessagePackHubProtocol } from '@microsoft/signalr-protocol-msgpack'
import { decode, encode } from '@msgpack/msgpack'
import protobuf from 'protobufjs'
import { Server } from 'socket.io'
import parser from 'socket.io-msgpack-parser'
import { WebSocketServer } from 'ws'

const [mode, port] = [process.argv[2], Number(process.argv[3])]
const counts = { said: 0, sent: 0 }
const server = http.createServer((_, reply) => reply.end(JSON.stringify(counts)))

/** Sends something to everybody. */
const tell = (sockets, message) => {
  for (const socket of sockets) {
    socket.send(message)
    counts.sent++
  }
}

const binary = (data, isBinary) => {
  if (!isBinary) throw new Error('text')
  return data
}

const modes = {
  // A greeting with a timestamp (an extension) and bytes; then `{"say":{"text":T,"n":N}}` to all, and the first is sent twice in
  // one frame, as `{"said":…}` and as a note.
  msgpack: () => {
    const sockets = new WebSocketServer({ server })
    sockets.on('connection', (socket) => {
      socket.send(encode({ hello: new Date(0), key: new Uint8Array([1, 2, 3]) }))
      socket.on('message', (data, isBinary) => {
        const { join, say } = decode(binary(data, isBinary))
        if (join) {
          if (join.key !== 'AQID' || join.empty !== null || join.list[1] !== -300) throw new Error('join')
          return socket.send(encode({ joined: true }))
        }
        if (typeof say.n !== 'number' || say.half !== 0.5) throw new Error('say')
        counts.said++
        const note = encode({ note: counts.said })
        tell(sockets.clients, Buffer.concat([encode({ said: say.text }), note]))
      })
    })
  },
  // Protocol Buffers: an envelope with a message in it.
  protobuf: () => {
    const { root } = protobuf.parse(`syntax = "proto3";
      message Say { string text = 1; uint32 room = 2; }
      message Envelope { uint64 at = 1; Say say = 2; Say said = 3; }`)
    const Envelope = root.lookupType('Envelope')
    const sockets = new WebSocketServer({ server })
    sockets.on('connection', (socket) => socket.on('message', (data, isBinary) => {
      const { say } = Envelope.decode(binary(data, isBinary))
      if (say.room !== 300) throw new Error('room')
      counts.said++
      tell(sockets.clients, Envelope.encode({ at: 5, said: say }).finish())
    }))
  },
  // A hub of SignalR with its binary protocol: invocations are answered, and what is said by `Say` goes to all.
  signalr: () => {
    const hub = new MessagePackHubProtocol()
    const sockets = new WebSocketServer({ server })
    sockets.on('connection', (socket) => {
      socket.binaryType = 'arraybuffer'
      let isGreeted = false
      socket.on('message', (data, isBinary) => {
        if (!isGreeted) {
          isGreeted = true
          const { protocol } = JSON.parse(Buffer.from(data).toString().replace(/\x1e$/, ''))
          if (protocol !== 'messagepack') throw new Error(protocol)
          return socket.send(Buffer.from('{}\x1e'))
        }
        for (const message of hub.parseMessages(binary(data, isBinary), null)) {
          if (message.type !== signalr.MessageType.Invocation) continue
          counts.said++
          const [text] = message.arguments
          if (message.target === 'Say') {
            const copy = { type: signalr.MessageType.Invocation, headers: {}, target: 'said', arguments: [text], streamIds: [] }
            tell(sockets.clients, Buffer.from(hub.writeMessage(copy)))
          }
          const { invocationId } = message
          if (invocationId) {
            const done = { type: signalr.MessageType.Completion, headers: {}, invocationId, result: text.length }
            socket.send(Buffer.from(hub.writeMessage(done)))
          }
        }
      })
    })
  },
  // Socket.IO with the parser that its documentation names for MessagePack.
  socketio: () => {
    const io = new Server(server, { parser })
    io.use((socket, next) => next(socket.handshake.auth.token === 'secret' ? undefined : new Error('no')))
    io.on('connection', (socket) => socket.on('say', (text, done) => {
      counts.said++
      counts.sent += io.engine.clientsCount
      io.emit('said', { text })
      done('ok')
    }))
  },
}
modes[mode]()
server.listen(port, '127.0.0.1')
