import { broadcastResult } from './protocol.js';

/** A plugin of Fastify: the route that echoes, and tells everyone what anyone broadcasts. */
export default async function benchmark(app) {
  app.get('/ws', { websocket: true }, (client) => {
    client.on('message', (data, isBinary) => {
      const result = broadcastResult(data, isBinary);
      if (result === null) {
        client.send(data, { binary: isBinary });
        return;
      }
      broadcast(data, isBinary);
      client.send(result, { binary: isBinary });
    });
  });

  function broadcast(data, isBinary) {
    for (const client of app.websocketServer.clients) {
      if (client.readyState === client.OPEN) client.send(data, { binary: isBinary });
    }
  }
}
