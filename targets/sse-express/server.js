import process from 'node:process';
import express from 'express';
import { listen, publish, writeEvents } from './rooms.js';

const STREAM = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' };

const app = express();
app.disable('x-powered-by');
app.get('/', (_request, response) => response.end());
app.get('/events', (request, response) => {
  response.set(STREAM).flushHeaders();
  listen(request.query.room, response);
});
app.post('/publish/:room', express.text({ type: () => true }), (request, response) => {
  publish(request.params.room, request.body);
  response.sendStatus(204);
});
app.get('/stream', (_request, response) => writeEvents(response.set(STREAM)));

const host = process.env.HOST ?? '127.0.0.1';
const port = Number(process.env.PORT ?? 3334);
const server = app.listen({ host, port, backlog: 4096 });
// Closing an idle connection while its next request is on its way looks like a failure to the client.
server.keepAliveTimeout = 0;
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(0));
