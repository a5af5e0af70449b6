import http from 'node:http';
import sockjs from 'sockjs';
import { broadcastResult } from './protocol.js';

const CLOSE_GRACE_MS = 1000;

/** Serves on host:port: the benchmark at /sockjs, and at /broadcast the example of the library. Returns `close(done)`. */
export function serve({ host, port }) {
  const server = http.createServer((request, response) => {
    response.statusCode = request.method === 'GET' && request.url === '/' ? 200 : 404;
    response.setHeader('Content-Length', 0);
    response.end();
  });
  const services = [benchmark(), broadcast()];
  for (const { prefix, service } of services) service.installHandlers(server, { prefix });
  server.listen({ host, port, backlog: 4096 });

  function close(done) {
    for (const { connections } of services) {
      for (const connection of connections) connection.close(1001, 'Going away');
    }
    server.close(done);
    setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS).unref();
  }

  return { close };
}

/** Answers as websocket-bench's servers do. */
function benchmark() {
  const { service, connections } = createService();
  service.on('connection', (connection) => {
    connection.on('data', (message) => {
      const result = broadcastResult(message);
      if (result === null) {
        connection.write(message);
        return;
      }
      for (const other of connections) other.write(message);
      connection.write(result);
    });
  });
  return { prefix: '/sockjs', service, connections };
}

/** Sends everything to everyone: what the SockJS test of 2011 measured. */
function broadcast() {
  const { service, connections } = createService();
  service.on('connection', (connection) => {
    connection.on('data', (message) => {
      for (const other of connections) other.write(message);
    });
  });
  return { prefix: '/broadcast', service, connections };
}

function createService() {
  const service = sockjs.createServer({ log: () => {} });
  const connections = new Set();
  service.on('connection', (connection) => {
    connections.add(connection);
    connection.on('close', () => connections.delete(connection));
  });
  return { service, connections };
}
