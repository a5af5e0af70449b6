// Servers that collect what is new and send it as one frame, or relay it without an answer: `node server.js MODE PORT`. GET /
// tells how many messages were said, how many of those answered, how many copies were sent, how many of them in a history, how many
// were signed for, how many said something else than the others, and how many connections came with a cookie; GET /page/ is the page
// of an app.
import crypto from 'node:crypto'
import http from 'node:http'
import process from 'node:process'
import { Server } from 'socket.io'
import { WebSocketServer } from 'ws'
import { page } from '../page.mjs'

const [mode, port] = [process.argv[2], Number(process.argv[3])]
const END = '\x1e'
const counts = { said: 0, answered: 0, sent: 0, replayed: 0, connections: 0, signed: 0, differing: 0, returned: 0, typedInChat: 0, typedInNews: 0 }
const server = http.createServer(({ method, url }, reply) => {
  if (method === 'GET' && !url.startsWith('/page/')) reply.end(JSON.stringify(counts))
})

/** Collects items for a while, and hands them over together. */
const collector = (everyMs, flush) => {
  const items = []
  setInterval(() => items.length && flush(items.splice(0)), everyMs)
  return (item) => items.push(item)
}

/** Says something every 20 ms to who has subscribed, by itself; what is to be left out takes a number all the same. */
const ticker = (isLeftOut, aheadMs = 0) => {
  new WebSocketServer({ server }).on('connection', (socket) => {
    let [seq, ticking] = [0]
    socket.on('message', () => {
      socket.send(JSON.stringify({ type: 'subscribed' }))
      ticking ??= setInterval(() => {
        if (isLeftOut(++seq)) return
        socket.send(JSON.stringify({ type: 'price', seq, at: new Date(Date.now() + aheadMs).toISOString() }))
        counts.sent++
      }, 20)
    })
    socket.on('close', () => clearInterval(ticking))
  })
}

/** Says the same to everybody every 20 ms, but for what one client is told in place of it. */
const prices = (isElse) => {
  const [members, start] = [new Map(), Date.now()]
  let seq = 0
  new WebSocketServer({ server }).on('connection', (socket) => {
    socket.on('message', (data) => members.set(socket, JSON.parse(data).client))
    socket.on('close', () => members.delete(socket))
  })
  setInterval(() => {
    seq++
    const price = { bid: seq, "ask": [seq + 1, { "at": start }] }
    for (const [socket, client] of members) {
      const said = isElse(client, seq) ? { ...price, bid: 0 } : price
      counts.differing += said === price ? 0 : 1
      counts.sent++
      // What differs beside the price is each receiver's own.
      socket.send(JSON.stringify({ type: 'price', to: client, seq, price: said }))
    }
  }, 20)
}

/**
 * Says what is new to everybody as one list; with `isConfirmed`, its sender is told that it was taken, and with `isLossy`, the client
 * that connected next to the sender gets no copy.
 */
const batches = (isConfirmed, isLossy) => {
  const sockets = new WebSocketServer({ server })
  const add = collector(50, (said) => {
    for (const socket of sockets.clients) {
      const list = said.filter(({ leftOut }) => leftOut !== socket).map(({ text }) => text)
      if (list.length) socket.send(JSON.stringify({ type: 'updates', list }))
      counts.sent += list.length
    }
  })
  sockets.on('connection', (socket) => socket.on('message', (data) => {
    const { text } = JSON.parse(data)
    const all = [...sockets.clients]
    counts.said++
    add({ text, leftOut: isLossy && all[(all.indexOf(socket) + 1) % all.length] })
    if (!isConfirmed) return
    counts.signed++
    socket.send(JSON.stringify({ type: 'taken', text }))
  }))
}

/** Lets those connect who were given a token, once for each, as a hub of SignalR that wants a negotiation does. */
const negotiate = () => {
  const tokens = new Set()
  server.on('request', (request, reply) => {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost')
    if (request.method !== 'POST' || pathname !== '/chat/negotiate') return
    const token = crypto.randomBytes(16).toString('base64url')
    tokens.add(token)
    const transport = { transport: 'WebSockets', transferFormats: ['Text', 'Binary'] }
    const version = Number(searchParams.get('negotiateVersion'))
    reply.setHeader('content-type', 'application/json')
    reply.end(JSON.stringify({ negotiateVersion: version, connectionId: 'c', connectionToken: token, availableTransports: [transport] }))
  })
  return ({ req }) => {
    const { pathname, searchParams } = new URL(req.url, 'http://localhost')
    const isKnown = pathname === '/chat' && tokens.delete(searchParams.get('id'))
    counts.signed += isKnown
    return isKnown
  }
}

const modes = {
  prices: () => prices(() => false),
  // Client 13 is told another price under every fifth number.
  'prices-differ': () => prices((client, seq) => client === 13 && seq % 5 === 0),
  ticks: () => ticker(() => false),
  // Every tenth is missing.
  holes: () => ticker((seq) => seq % 10 === 0),
  // By a clock that is five seconds ahead.
  ahead: () => ticker(() => false, 5_000),
  // A list in a field.
  batch: () => batches(),
  // The same, and each sender has a word of its own.
  confirmed: () => batches(true),
  'confirmed-lossy': () => batches(true, true),
  // Every two-hundredth copy is lost.
  leaky: () => {
    const sockets = new WebSocketServer({ server })
    let due = 0
    sockets.on('connection', (socket) => socket.on('message', (data) => {
      for (const other of sockets.clients) if (++due % 200) other.send(JSON.stringify({ type: 'said', text: JSON.parse(data).text }))
    }))
  },
  // The JSON hub protocol's framing.
  records: () => modes.hub(),
  negotiated: () => modes.hub(negotiate()),
  hub: (verifyClient) => {
    const everybody = new Set()
    new WebSocketServer({ server, verifyClient }).on('connection', (socket) => {
      let isGreeted = false
      socket.add = collector(5, (records) => {
        socket.send(records.join(''))
        counts.sent += records.length
      })
      const hear = (message) => {
        if (!isGreeted) {
          isGreeted = true
          return socket.send('{}' + END)
        }
        // Pings and goodbyes are nobody else's.
        if (message.type !== 1) return
        counts.said++
        const record = JSON.stringify({ type: 1, target: 'said', arguments: message.arguments }) + END
        everybody.forEach((other) => other.add(record))
      }
      everybody.add(socket)
      socket.on('close', () => everybody.delete(socket))
      socket.on('message', (data) => String(data).split(END).filter(Boolean).forEach((part) => hear(JSON.parse(part))))
    })
  },
  // An event whose argument is an array.
  // Names each client by a cookie, as balancers do, and counts those that come back with it; one that says "go" loses its connection.
  cookies: () => {
    const sockets = new WebSocketServer({ server })
    const isKnown = (request) => /node=\d/.test(request.headers.cookie)
    sockets.on('headers', (headers, request) => isKnown(request) || headers.push(`Set-Cookie: node=${counts.connections}; Path=/`))
    sockets.on('connection', (socket, request) => {
      counts.connections++
      counts.returned += isKnown(request)
      socket.on('message', (data) => {
        counts.said++
        sockets.clients.forEach((other) => other.send(String(data)))
      })
    })
  },
  // The same over polling: Engine.IO's own cookie.
  'cookies-polling': () => {
    const io = new Server(server, { serveClient: false, cookie: { name: 'node' } })
    io.engine.on('initial_headers', (_, request) => {
      counts.connections++
      counts.returned += /node=/.test(request.headers.cookie)
    })
    io.on('connection', (socket) => socket.on('say', (text) => io.emit('said', text)))
  },
  // Two namespaces of one connection, each with its own members and its own key.
  namespaces: () => {
    const io = new Server(server)
    for (const [name, key] of [['/chat', 'c'], ['/news', 'n']]) {
      io.of(name).use((socket, next) => next(socket.handshake.auth.key === key ? undefined : new Error('key')))
      io.of(name).on('connection', (socket) => {
        socket.on('typing', () => counts[name === '/chat' ? 'typedInChat' : 'typedInNews']++)
        socket.on('say', (text, done) => {
          counts.said++
          counts.sent += io.of(name).sockets.size
          io.of(name).emit('said', `${name} ${text}`)
          done()
        })
      })
    }
    setInterval(() => { counts.connections = io.engine.clientsCount }, 20)
  },
  event: () => {
    const io = new Server(server, { serveClient: false })
    const add = collector(100, (lines) => {
      counts.sent += lines.length * io.sockets.sockets.size
      io.emit('lines', lines)
    })
    io.on('connection', (socket) => socket.on('say', (text, done) => {
      counts.said++
      add(text)
      done?.(1)
    }))
  },
  // Who joins with ?after=N gets what it has missed as one frame; who says no N is new.
  history: () => {
    const log = []
    const sockets = new WebSocketServer({ server })
    sockets.on('connection', (socket, request) => {
      const after = new URL(request.url, 'http://localhost').searchParams.get('after')
      const list = after ? log.filter((message) => message.n > Number(after)) : []
      counts.replayed += list.length
      socket.send(JSON.stringify({ type: 'history', list, last: log.length }))
      socket.on('message', (data) => {
        counts.said++
        const message = { type: 'said', n: log.length + 1, text: JSON.parse(data).text }
        log.push(message)
        sockets.clients.forEach((other) => other.send(JSON.stringify(message)))
      })
    })
  },
  // Pusher's protocol, and its HTTP API, which verifies signatures as documented: private channels that are signed for, and client events to the others.
  pusher: () => {
    const channels = new Map()
    const isSigned = ({ method, url }, body) => {
      const { pathname, searchParams } = new URL(url, 'http://localhost')
      const signature = searchParams.get('auth_signature')
      searchParams.delete('auth_signature')
      const query = [...searchParams].sort(([a], [b]) => (a < b ? -1 : 1)).map((pair) => pair.join('=')).join('&')
      const isFresh = Math.abs(Date.now() / 1e3 - Number(searchParams.get('auth_timestamp'))) < 600
      const isWhole = crypto.createHash('md5').update(body).digest('hex') === searchParams.get('body_md5')
      const signed = crypto.createHmac('sha256', 'app-secret').update([method, pathname, query].join('\n')).digest('hex')
      return isFresh && isWhole && signature === signed
    }
    server.on('request', (request, reply) => {
      if (request.method !== 'POST') return
      let body = ''
      request.on('data', (part) => { body += part })
      request.on('end', () => {
        reply.statusCode = isSigned(request, body) ? 200 : 401
        reply.end('{}')
        if (reply.statusCode !== 200) return
        counts.said++
        // Pusher's library names several channels.
        const { name, channel, channels: named = [channel], data } = JSON.parse(body)
        for (const one of named) {
          for (const member of channels.get(one) ?? []) {
            member.send(JSON.stringify({ event: name, channel: one, data }))
            counts.sent++
          }
        }
      })
    })
    new WebSocketServer({ server }).on('connection', (socket) => {
      const id = `${++counts.connections}.${Math.floor(Math.random() * 1e9)}`
      const tell = (event, data, channel) => socket.send(JSON.stringify({ event, channel, data: JSON.stringify(data) }))
      const events = {
        'pusher:subscribe': ({ data: { channel, auth } }) => {
          const signed = crypto.createHmac('sha256', 'app-secret').update(`${id}:${channel}`).digest('hex')
          if (auth !== `app-key:${signed}`) return tell('pusher:error', { code: 4009 })
          counts.signed++
          channels.set(channel, (channels.get(channel) ?? new Set()).add(socket))
          tell('pusher_internal:subscription_succeeded', {}, channel)
        },
        'client-line': (message) => {
          counts.said++
          for (const other of channels.get(message.channel)) {
            if (other === socket) continue
            other.send(JSON.stringify(message))
            counts.sent++
          }
        },
      }
      socket.on('close', () => channels.forEach((members) => members.delete(socket)))
      socket.on('message', (data) => {
        const message = JSON.parse(data)
        events[message.event]?.(message)
      })
      tell('pusher:connection_established', { socket_id: id, activity_timeout: 120 })
    })
  },
  // Each message has a nonce that the answer before it gave, or the greeting.
  nonces: () => {
    new WebSocketServer({ server }).on('connection', (socket) => {
      let nonce
      const answer = (message) => {
        nonce = crypto.randomBytes(8).toString('hex')
        socket.send(JSON.stringify({ ...message, nonce }))
      }
      answer({ type: 'hello' })
      socket.on('message', (data) => {
        const message = JSON.parse(data)
        if (message.nonce !== nonce) return socket.send(JSON.stringify({ type: 'stale' }))
        counts.said++
        answer({ type: message.seq ? 'ok' : 'answer', text: message.text, seq: message.seq })
      })
    })
  },
  // JSON-RPC: an answer has the number of its call alone.
  rpc: () => {
    new WebSocketServer({ server }).on('connection', (socket) => socket.on('message', (data) => {
      counts.said++
      const { id, method } = JSON.parse(data)
      const outcome = method === 'echo' ? { result: null } : { error: { code: -32601, message: 'Method not found' } }
      socket.send(JSON.stringify({ jsonrpc: '2.0', ...outcome, id }))
    }))
  },
  // The same, where every third is refused.
  refuses: () => {
    new WebSocketServer({ server }).on('connection', (socket) => socket.on('message', (data) => {
      const { id } = JSON.parse(data)
      const isRefused = ++counts.said % 3 === 0
      counts.replayed += isRefused ? 1 : 0
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, ...(isRefused ? { error: { code: -32000 } } : { result: null }) }))
    }))
  },
  // Everybody gets all answers, each with the number of its call and the session of its caller, and a note to the caller before it. Every
  // fourth call has no answer at its own caller.
  addressed: () => {
    const sockets = new WebSocketServer({ server })
    sockets.on('connection', (socket) => {
      const session = `s${++counts.connections}`
      socket.send(JSON.stringify({ type: 'hello', session }))
      socket.on('message', (data) => {
        const { id, user } = JSON.parse(data)
        const isWithheld = ++counts.said % 4 === 0
        counts.answered += !isWithheld
        for (const other of sockets.clients) {
          other.send(JSON.stringify({ type: 'note', to: user }))
          if (other !== socket || !isWithheld) other.send(JSON.stringify({ type: 'answer', id, session }))
        }
      })
    })
  },
  // Everybody gets everything, but for the eighth.
  deaf: () => {
    const sockets = new WebSocketServer({ server })
    sockets.on('connection', (socket) => {
      socket.isDeaf = ++counts.connections === 8
      socket.on('message', (data) => {
        counts.said++
        sockets.clients.forEach((other) => other.isDeaf || other.send(String(data)))
      })
    })
  },
  // OCPP: a call has a UUID that no call had before, and nothing in it may be of the caller's own. Answers come in any order.
  calls: () => {
    const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
    const known = new Set()
    new WebSocketServer({ server }).on('connection', (socket) => {
      const answer = collector(20, (ids) => ids.reverse().forEach((id) => socket.send(JSON.stringify([3, id.toUpperCase(), {}]))))
      socket.on('message', (data) => {
        const [, id, , payload] = JSON.parse(data)
        const isSound = UUID.test(id) && !known.has(id) && Object.keys(payload).length === 0
        known.add(id)
        if (!isSound) return socket.send(JSON.stringify([4, id, 'FormationViolation', '', {}]))
        counts.said++
        answer(id)
      })
    })
  },
  // A game: moves go to the others in the room, and nothing answers.
  others: () => modes.relay(() => true),
  // The same, with room for 24: whoever comes later is let in, and told nothing.
  full: () => modes.relay((place) => place() < 24),
  // The same, where the eighth is told nothing.
  'deaf-in-room': () => modes.relay((place) => place() !== 7),
  relay: (isServed) => {
    const [rooms, sockets] = [new Map(), new WebSocketServer({ server })]
    const placeOf = (socket) => () => [...sockets.clients].indexOf(socket)
    sockets.on('connection', (socket, request) => {
      const name = new URL(request.url, 'http://localhost').searchParams.get('room')
      const room = rooms.get(name) ?? new Set()
      rooms.set(name, room.add(socket))
      socket.on('close', () => room.delete(socket))
      socket.on('message', (data) => {
        counts.said++
        for (const other of room) {
          if (other === socket || !isServed(placeOf(other))) continue
          other.send(String(data))
          counts.sent++
        }
      })
    })
  },
}

modes[mode]()
page(server, mode, import.meta.url)
server.listen(port, '127.0.0.1')
