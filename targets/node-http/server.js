import http from 'node:http';

const CLOSE_GRACE_MS = 1000;
const BACKLOG = 4096;

/** Serves on host:port, and at the unix socket if one is named. Returns `close(done)`. */
export function serve({ host, port, socket }) {
  const places = [{ host, port }, ...(socket ? [{ path: socket }] : [])];
  const servers = places.map((place) => createServer().listen({ ...place, backlog: BACKLOG }));

  function close(done) {
    const grace = setTimeout(() => servers.forEach((server) => server.closeAllConnections()), CLOSE_GRACE_MS);
    const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)));
    Promise.all(closed).then(() => {
      clearTimeout(grace);
      done();
    });
  }

  return { close };
}

function createServer() {
  const server = http.createServer((request, response) => {
    response.statusCode = request.method === 'GET' && request.url === '/' ? 200 : 404;
    response.setHeader('Content-Length', 0);
    response.end();
  });
  // Closing an idle connection while its next request is on its way looks like a failure to the client.
  server.keepAliveTimeout = 0;
  return server;
}
