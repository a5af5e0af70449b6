import fs from 'node:fs';
import process from 'node:process';
import Fastify from 'fastify';
import websocket from '@fastify/websocket';
import benchmark from './benchmark.js';

const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;

export async function buildApp() {
  const app = Fastify({ forceCloseConnections: 'idle', https: certificate() });
  await app.register(websocket, {
    options: { maxPayload: MESSAGE_BYTES_MAX },
    // ws has closed the connection with the right code by now.
    errorHandler: () => {},
    preClose: sayGoodbye,
  });
  app.get('/', (_request, reply) => reply.send());
  await app.register(benchmark);
  return app;
}

/** The plugin's own hook closes without a code. */
function sayGoodbye(done) {
  for (const client of this.websocketServer.clients) client.close(1001);
  this.websocketServer.close(done);
}

/** What to speak TLS with, if there is one. */
function certificate() {
  const { TLS_CERT, TLS_KEY } = process.env;
  return TLS_CERT ? { cert: fs.readFileSync(TLS_CERT), key: fs.readFileSync(TLS_KEY) } : null;
}
