// A chat in rooms on the subprotocol of subscriptions-transport-ws.
import EventEmitter, { on } from 'node:events'
import { createRequire } from 'node:module'
import { GraphQLID, GraphQLNonNull, GraphQLObjectType, GraphQLSchema, GraphQLString, execute, subscribe } from 'graphql'

const { SubscriptionServer } = createRequire(import.meta.url)('subscriptions-transport-ws')

const required = (type) => ({ type: new GraphQLNonNull(type) })

/** Serves /graphql. */
export const graphql = (server, counts) => {
  const rooms = new EventEmitter().setMaxListeners(0)
  const said = {
    type: GraphQLString,
    args: { room: required(GraphQLID) },
    subscribe: (_, { room }) => on(rooms, room),
    resolve: ([text]) => {
      counts.sent++
      return text
    },
  }
  const say = {
    type: GraphQLID,
    args: { room: required(GraphQLID), text: required(GraphQLString) },
    resolve: (_, { room, text }) => {
      rooms.emit(room, text)
      return ++counts.said
    },
  }
  const object = (name, fields) => new GraphQLObjectType({ name, fields })
  const schema = new GraphQLSchema({
    query: object('Query', { said: { type: GraphQLID, resolve: () => counts.said } }),
    mutation: object('Mutation', { say }),
    subscription: object('Subscription', { said }),
  })
  SubscriptionServer.create({ schema, execute, subscribe, keepAlive: 500 }, { server, path: '/graphql' })
}
