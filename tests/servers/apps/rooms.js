// Relays in rooms, on plain WebSockets.
import { WebSocketServer } from 'ws'

/** Members by the names of their rooms. */
class Rooms {
  #members = new Map()

  /** Lets a socket in until it closes. */
  enter(name, socket) {
    const members = this.others(name)
    this.#members.set(name, members.add(socket))
    socket.on('close', () => members.delete(socket))
  }

  others(name) {
    return this.#members.get(name) ?? new Set()
  }

  /** Tells everybody in the room but this socket, and returns how many they are. */
  tell(name, text, except) {
    const others = [...this.others(name)].filter((other) => other !== except)
    others.forEach((other) => other.send(text))
    return others.length
  }
}

/** A game: moves go to the others of a match, and nothing answers them. */
export const game = (server, counts) => {
  const matches = new Rooms()
  let players = 0
  new WebSocketServer({ server }).on('connection', (socket) => {
    const events = {
      join: ({ match }) => {
        socket.match = match
        socket.player = ++players
        matches.tell(match, JSON.stringify({ type: 'entered', player: socket.player }))
        matches.enter(match, socket)
        socket.send(JSON.stringify({ type: 'welcome', player: socket.player }))
      },
      move: (move) => {
        if (move.player !== socket.player) throw new Error(`player ${socket.player} moves ${move.player}`)
        counts.said++
        counts.sent += matches.tell(socket.match, JSON.stringify(move), socket)
      },
    }
    socket.on('message', (data) => {
      const message = JSON.parse(data)
      events[message.type](message)
    })
  })
}

/** Supabase Realtime's Broadcast, by supabase.com/docs/guides/realtime/protocol. Whoever lacks the key is not let in. */
export const supabase = (server, counts) => {
  const topics = new Rooms()
  const verifyClient = ({ req }) => new URL(req.url, 'http://localhost').searchParams.get('apikey') === 'anon'
  new WebSocketServer({ server, verifyClient }).on('connection', (socket, request) => {
    const isFirst = new URL(request.url, 'http://localhost').searchParams.get('vsn') !== '2.0.0'
    const encode = (join_ref, ref, topic, event, payload) =>
      JSON.stringify(isFirst ? { topic, event, payload, ref, join_ref } : [join_ref, ref, topic, event, payload])
    const decode = (data) => {
      const message = JSON.parse(data)
      return isFirst ? [message.join_ref, message.ref, message.topic, message.event, message.payload] : message
    }
    const joined = new Map()
    const events = {
      heartbeat: (reply) => reply('ok', {}),
      phx_join: (reply, topic, { config = {} }, join_ref) => {
        if (!topic.startsWith('realtime:')) return reply('error', { reason: 'TopicNameRequired: You must provide a topic name' })
        joined.set(topic, config.broadcast ?? {})
        topics.enter(topic, socket)
        reply('ok', { postgres_changes: [] })
        socket.send(encode(join_ref, null, topic, 'presence_state', {}))
        const system = { message: 'Subscribed to PostgreSQL', status: 'ok', extension: 'postgres_changes', channel: topic.slice(9) }
        socket.send(encode(join_ref, null, topic, 'system', system))
      },
      broadcast: (reply, topic, payload) => {
        const { self = false, ack = false } = joined.get(topic)
        counts.said++
        counts.sent += topics.tell(topic, encode(null, null, topic, 'broadcast', payload), self ? undefined : socket)
        if (ack) reply('ok', {})
      },
    }
    socket.on('message', (data) => {
      const [join_ref, ref, topic, event, payload] = decode(data)
      const reply = (status, response) => socket.send(encode(join_ref, ref, topic, 'phx_reply', { status, response }))
      events[event](reply, topic, payload, join_ref)
    })
  })
}
