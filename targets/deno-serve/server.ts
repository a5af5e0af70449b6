import { broadcastResult } from "./protocol.ts";

const CLOSE_GRACE_MS = 1000;

const clients = new Set<WebSocket>();
/** The other threads of `deno serve --parallel`: each has its own clients. */
const others = new BroadcastChannel("broadcasts");

others.onmessage = ({ data }) => deliver(data);

/** `deno serve` calls it for every request. */
export default {
  fetch(request: Request): Response {
    const { pathname } = new URL(request.url);
    if (pathname === "/") return new Response();
    if (pathname !== "/ws") return new Response(null, { status: 404 });
    if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") return new Response(null, { status: 426 });

    const { socket, response } = Deno.upgradeWebSocket(request);
    serve(socket);
    return response;
  },
} satisfies Deno.ServeDefaultExport;

/** Answers one client until it leaves. */
function serve(client: WebSocket) {
  client.binaryType = "arraybuffer";
  client.onopen = () => clients.add(client);
  client.onclose = () => clients.delete(client);
  // The connection broke, or the client broke the protocol; Deno has closed it, and would report it.
  client.onerror = (event) => event.preventDefault();
  client.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    const result = broadcastResult(data);
    if (result === null) {
      send(client, data);
      return;
    }
    deliver(data);
    others.postMessage(data);
    send(client, result);
  };
}

function deliver(data: string | ArrayBuffer) {
  for (const client of clients) send(client, data);
}

/** A client that is about to leave is in the set until it has. */
function send(client: WebSocket, data: string | ArrayBuffer) {
  if (client.readyState === WebSocket.OPEN) client.send(data);
}

for (const signal of ["SIGTERM", "SIGINT"] as const) Deno.addSignalListener(signal, stop);

/** Says goodbye to everyone here, and ends when they have left. */
async function stop() {
  const left = [...clients].map((client) => new Promise((resolve) => client.addEventListener("close", resolve)));
  for (const client of clients) client.close(1001);
  const grace = new Promise((resolve) => setTimeout(resolve, CLOSE_GRACE_MS));
  await Promise.race([Promise.all(left), grace]);
  // Ends this thread; the process ends with the last one.
  globalThis.close();
}
