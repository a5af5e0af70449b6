// A chat in rooms on GraphQL Yoga, whose subscriptions go over graphql-ws (the-guild.dev/graphql/yoga-server/docs/features/subscriptions).
import { useServer } from 'graphql-ws/use/ws'
import { createPubSub, createSchema, createYoga } from 'graphql-yoga'
import { WebSocketServer } from 'ws'

const typeDefs = `
  type Line { id: ID!, text: String! }
  type Query { said: Int! }
  type Mutation { say(room: String!, text: String!): ID }
  type Subscription { said(room: String!): Line! }
`

/** Serves /graphql. */
export const yoga = (server, counts) => {
  const rooms = createPubSub()
  const say = (_, { room, text }) => {
    const id = ++counts.said
    rooms.publish('said', room, { id, text })
    return id
  }
  const resolve = (line) => {
    counts.sent++
    return line
  }
  const said = { subscribe: (_, { room }) => rooms.subscribe('said', room), resolve }
  const resolvers = { Query: { said: () => counts.said }, Mutation: { say }, Subscription: { said } }
  const app = createYoga({ schema: createSchema({ typeDefs, resolvers }), logging: false })
  server.on('request', (request, reply) => request.url.startsWith(app.graphqlEndpoint) && app(request, reply))
  const onSubscribe = async ({ extra, ...context }, _, params) => {
    const enveloped = app.getEnveloped({ ...context, req: extra.request, socket: extra.socket, params })
    const { schema, execute, subscribe, contextFactory, parse, validate } = enveloped
    const document = parse(params.query)
    const errors = validate(schema, document)
    if (errors.length > 0) return errors
    const { operationName, variables: variableValues } = params
    return { schema, document, operationName, variableValues, contextValue: await contextFactory(), rootValue: { execute, subscribe } }
  }
  const execute = (args) => args.rootValue.execute(args)
  const subscribe = (args) => args.rootValue.subscribe(args)
  useServer({ execute, subscribe, onSubscribe }, new WebSocketServer({ server, path: app.graphqlEndpoint }))
}
