import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import process from 'node:process';
import { WebSocket, WebSocketServer } from 'ws';
import { broadcastResult } from './protocol.js';

const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;
const CLOSE_GRACE_MS = 1000;

/**
 * Serves on host:port; `relay(data, isBinary)` is told of each broadcast made here.
 * Returns `deliver(data, isBinary)`, for broadcasts made elsewhere, and `close(done)`.
 */
export function serve({ host, port, relay }) {
  const server = createServer((request, response) => {
    response.statusCode = request.method === 'GET' && request.url === '/' ? 200 : 404;
    response.setHeader('Content-Length', 0);
    response.end();
  });
  const sockets = new WebSocketServer({ server, path: '/ws', maxPayload: MESSAGE_BYTES_MAX });

  function deliver(data, isBinary) {
    for (const client of sockets.clients) {
      if (client.readyState === WebSocket.OPEN) client.send(data, { binary: isBinary });
    }
  }

  sockets.on('connection', (client) => {
    client.on('message', (data, isBinary) => {
      const result = broadcastResult(data, isBinary);
      if (result === null) {
        client.send(data, { binary: isBinary });
        return;
      }
      deliver(data, isBinary);
      relay(data, isBinary);
      client.send(result, { binary: isBinary });
    });
    // ws has closed the connection with the right code by now; without a listener the error would end the process.
    client.on('error', () => {});
  });

  server.listen({ host, port, backlog: 4096 });

  function close(done) {
    for (const client of sockets.clients) client.close(1001);
    setTimeout(() => sockets.clients.forEach((client) => client.terminate()), CLOSE_GRACE_MS).unref();
    sockets.close();
    server.close(done);
    server.closeIdleConnections();
  }

  return { deliver, close };
}

/** Over TLS, if there is a certificate. */
function createServer(onRequest) {
  const { TLS_CERT, TLS_KEY } = process.env;
  if (!TLS_CERT) return http.createServer(onRequest);
  return https.createServer({ cert: fs.readFileSync(TLS_CERT), key: fs.readFileSync(TLS_KEY) }, onRequest);
}
