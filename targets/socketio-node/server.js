import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import process from 'node:process';

const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;
const CLOSE_GRACE_MS = 1000;

/** Serves on host:port with socket.io of this major version, 4 or 2; `recovery`: version 4 keeps what
 *  clients miss that lose their connection. Returns `close(done)`. */
export async function serve({ host, port, version, recovery }) {
  const server = createServer((request, response) => {
    response.statusCode = request.method === 'GET' && request.url === '/' ? 200 : 404;
    response.setHeader('Content-Length', 0);
    response.end();
  });
  const io = await attach(server, version, recovery);
  io.on('connection', (socket) => {
    socket.on('echo', (payload, acknowledge) => {
      if (acknowledge) acknowledge(payload);
      else socket.emit('echo', payload);
    });
    socket.on('broadcast', (payload, acknowledge) => {
      io.emit('broadcast', payload);
      if (acknowledge) acknowledge(payload);
      else socket.emit('broadcastResult', payload);
    });
  });
  server.listen({ host, port, backlog: 4096 });

  function close(done) {
    // Closes the sessions, and then the server they came through.
    io.close(done);
    setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS).unref();
  }

  return { close };
}

/** Version 2 is a function in a CommonJS module, version 4 a class. */
async function attach(server, version, recovery) {
  // Clients bring their own library; compression, which version 2 has on by default, is off in both.
  const options = { serveClient: false, perMessageDeflate: false, maxHttpBufferSize: MESSAGE_BYTES_MAX };
  if (version === 2) {
    const { default: socketIo } = await import('socket.io-2');
    return socketIo(server, options);
  }
  const { Server } = await import('socket.io');
  return new Server(server, recovery ? { ...options, connectionStateRecovery: {} } : options);
}

/** Over TLS, if there is a certificate. */
function createServer(onRequest) {
  const { TLS_CERT, TLS_KEY } = process.env;
  if (!TLS_CERT) return http.createServer(onRequest);
  return https.createServer({ cert: fs.readFileSync(TLS_CERT), key: fs.readFileSync(TLS_KEY) }, onRequest);
}
