import http from 'node:http';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { listen, publish, writeEvents } from './rooms.js';

const STREAM = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' };

const server = http.createServer(async (request, response) => {
  const url = new URL(request.url, 'http://localhost');
  const published = url.pathname.match(/^\/publish\/(.+)$/);
  if (request.method === 'POST' && published) {
    publish(published[1], await text(request));
    response.writeHead(204).end();
  } else if (url.pathname === '/events') {
    response.writeHead(200, STREAM).flushHeaders();
    listen(url.searchParams.get('room'), response);
  } else if (url.pathname === '/stream') {
    await writeEvents(response.writeHead(200, STREAM));
  } else {
    response.writeHead(url.pathname === '/' ? 200 : 404, { 'Content-Length': 0 }).end();
  }
});
// Closing an idle connection while its next request is on its way looks like a failure to the client.
server.keepAliveTimeout = 0;

const host = process.env.HOST ?? '127.0.0.1';
const port = Number(process.env.PORT ?? 3334);
server.listen({ host, port, backlog: 4096 });
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(0));
