import process from 'node:process';
import Fastify from 'fastify';
import { listen, publish, writeEvents } from './rooms.js';

const STREAM = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' };

const app = Fastify({ keepAliveTimeout: 0 });
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
app.get('/', (_request, reply) => reply.send());
app.get('/events', (request, reply) => {
  const stream = open(reply);
  stream.flushHeaders();
  listen(request.query.room, stream);
});
app.post('/publish/:room', (request, reply) => {
  publish(request.params.room, request.body);
  reply.code(204).send();
});
app.get('/stream', (_request, reply) => writeEvents(open(reply)));

/** Takes the answer out of Fastify's hands, as its documentation has it for streams. */
function open(reply) {
  reply.hijack();
  return reply.raw.writeHead(200, STREAM);
}

const host = process.env.HOST ?? '127.0.0.1';
const port = Number(process.env.PORT ?? 3334);
await app.listen({ host, port, backlog: 4096 });
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(0));
