// GraphQL over WebSocket on graphql-ws and graphql-js: `node server.js PORT [TOKEN]`. With a token, `connection_init` must have it.
// Both APIs are here: throng's own, and one as an application has it (`say`, `said`).

import process from 'node:process'
import { GraphQLScalarType, Kind, buildSchema } from 'graphql'
import { useServer } from 'graphql-ws/use/ws'
import { WebSocketServer } from 'ws'

const [port, token] = process.argv.slice(2)
const schema = buildSchema(`
  scalar JSON
  type Line { id: ID!, room: String!, text: String! }
  type Query { hello: String }
  type Mutation { echo(payload: JSON!): JSON, broadcast(payload: JSON!): JSON, say(room: String!, text: String!): ID }
  type Subscription { messages: JSON, said(room: String!): Line! }
`)
const any = (value) => value
Object.assign(schema.getType('JSON'), { serialize: any, parseValue: any, parseLiteral: (node) => node.kind === Kind.STRING && node.value })
if (!(schema.getType('JSON') instanceof GraphQLScalarType)) throw new Error('no scalar')

// Who listens, by topic: each has a queue of its own.
const listeners = new Map()

function publish(topic, value) {
  for (const listener of listeners.get(topic) ?? []) listener(value)
}

async function* listen(topic, field) {
  const queue = []
  let wake = () => {}
  const listener = (value) => {
    queue.push(value)
    wake()
  }
  if (!listeners.has(topic)) listeners.set(topic, new Set())
  listeners.get(topic).add(listener)
  try {
    for (;;) {
      while (queue.length > 0) yield { [field]: queue.shift() }
      await new Promise((resolve) => { wake = resolve })
    }
  } finally {
    listeners.get(topic).delete(listener)
  }
}

let lines = 0
const roots = {
  query: { hello: 'world' },
  mutation: {
    echo: ({ payload }) => payload,
    broadcast({ payload }) {
      publish('messages', payload)
      return payload
    },
    say({ room, text }) {
      if (text.length > 500) throw new Error('too long')
      lines += 1
      publish(`said ${room}`, { id: lines, room, text })
      return lines
    },
  },
  subscription: {
    messages: () => listen('messages', 'messages'),
    said: ({ room }) => listen(`said ${room}`, 'said'),
  },
}

const sockets = new WebSocketServer({ host: '127.0.0.1', port: Number(port), path: '/graphql', backlog: 1024 })
useServer(
  { schema, roots, onConnect: ({ connectionParams }) => token === undefined || connectionParams?.token === token },
  sockets,
)
process.on('SIGTERM', () => process.exit(0))
