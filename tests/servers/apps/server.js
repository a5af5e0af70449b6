// Servers for files in examples/apps, and for apps that are recorded: `node server.js MODE PORT`. GET / tells how many
// messages were said, and how many copies were sent, or what a mode counts besides; GET /page/ is the page of an app.
import http from 'node:http'
import process from 'node:process'
import { page } from '../page.mjs'
import { events } from './events.js'
import { graphql } from './graphql.js'
import { liveview } from './liveview.js'
import { stomp } from './stomp.js'
import { game, supabase } from './rooms.js'
import { yoga } from './yoga.js'

const [mode, port] = [process.argv[2], Number(process.argv[3])]
const counts = { said: 0, sent: 0 }
const server = http.createServer((request, reply) => {
  if (request.url === '/') reply.end(JSON.stringify(counts))
})

const modes = {
  events,
  game,
  graphql,
  liveview,
  supabase,
  yoga,
  stomp: (server, counts) => stomp(server, counts, 'ws'),
  sockjs: (server, counts) => stomp(server, counts, 'sockjs'),
}
modes[mode](server, counts)
page(server, mode, import.meta.url)
server.listen(port, '127.0.0.1')
