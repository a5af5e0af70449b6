import type { ServerWebSocket } from 'bun';
import { broadcastResult } from './protocol';

const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;
const CLOSE_GRACE_MS = 1000;
/** What everyone subscribes to. */
const EVERYONE = 'everyone';

/** Serves until SIGTERM or SIGINT. A worker also tells its parent of each broadcast, and delivers the others'. */
export function startServer() {
  const clients = new Set<ServerWebSocket>();

  const server = Bun.serve({
    hostname: Bun.env.HOST ?? '127.0.0.1',
    port: Number(Bun.env.PORT ?? 3334),
    tls: certificate(),
    // Workers share the port; the kernel deals out the connections.
    reusePort: process.send !== undefined,
    routes: {
      '/': new Response(),
      '/ws': (request, server) => (server.upgrade(request) ? undefined : new Response(null, { status: 426 })),
    },
    fetch: () => new Response(null, { status: 404 }),
    websocket: {
      maxPayloadLength: MESSAGE_BYTES_MAX,
      // Otherwise a slow reader would miss messages without being told.
      closeOnBackpressureLimit: true,
      open(client) {
        clients.add(client);
        client.subscribe(EVERYONE);
      },
      message(client, message) {
        const result = broadcastResult(message);
        if (result === null) {
          client.send(message);
          return;
        }
        server.publish(EVERYONE, message);
        process.send?.(message);
        client.send(result);
      },
      close(client) {
        clients.delete(client);
      },
    },
  });

  process.on('message', (message: string | Buffer) => server.publish(EVERYONE, message));
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, stop);

  async function stop() {
    for (const client of clients) client.close(1001);
    await Promise.race([server.stop(), Bun.sleep(CLOSE_GRACE_MS)]);
    process.exit(0);
  }
}

/** What to speak TLS with, if there is one. */
function certificate() {
  const { TLS_CERT, TLS_KEY } = Bun.env;
  return TLS_CERT && TLS_KEY ? { cert: Bun.file(TLS_CERT), key: Bun.file(TLS_KEY) } : undefined;
}
