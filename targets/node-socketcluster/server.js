import http from 'node:http';
import socketClusterServer from 'socketcluster-server';

/** The most that a client may say at once. */
const MESSAGE_BYTES_MAX = 16 << 20;

/** Serves a procedure "echo", and channels that anybody may subscribe and publish to. What it returns closes all of it. */
export function serve({ host, port }) {
  const httpServer = http.createServer((request, response) => response.end());
  const server = socketClusterServer.attach(httpServer, { maxPayload: MESSAGE_BYTES_MAX });
  admit(server);
  httpServer.listen({ host, port, backlog: 4096 });
  return async () => {
    httpServer.close();
    await server.close();
  };
}

async function admit(server) {
  for await (const { socket } of server.listener('connection')) answer(socket);
}

async function answer(socket) {
  for await (const request of socket.procedure('echo')) request.end(request.data);
}
