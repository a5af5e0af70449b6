const EVENTS = 100;
const GAP_MS = 10;
const STREAM = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' };

type Stream = ReadableStreamDefaultController<string>;

/** The streams of each room. */
const rooms = new Map<string, Set<Stream>>();

Bun.serve({
  hostname: Bun.env.HOST ?? '127.0.0.1',
  port: Number(Bun.env.PORT ?? 3334),
  // A stream may be silent for longer than the ten seconds that are the default.
  idleTimeout: 0,
  routes: {
    '/': new Response(),
    '/events': (request) => listen(new URL(request.url).searchParams.get('room') ?? ''),
    '/publish/:room': {
      POST: async (request) => {
        const event = `data: ${await request.text()}\n\n`;
        for (const stream of rooms.get(request.params.room) ?? []) stream.enqueue(event);
        return new Response(null, { status: 204 });
      },
    },
    '/stream': () => new Response(events(), { headers: STREAM }),
  },
  fetch: () => new Response(null, { status: 404 }),
});

/** Adds a stream to a room until its client leaves. */
function listen(room: string) {
  const streams = rooms.get(room) ?? new Set();
  rooms.set(room, streams);
  let own: Stream;
  const body = new ReadableStream({
    start(controller) {
      own = controller;
      streams.add(own);
      // Bun sends the head with the first bytes: a comment, so that it does so at once.
      own.enqueue(':\n\n');
    },
    cancel: () => void streams.delete(own),
  });
  return new Response(body, { headers: STREAM });
}

/** EVENTS events, each when it is due. */
async function* events() {
  const start = performance.now();
  for (let n = 0; n < EVENTS; n += 1) {
    const left = start + n * GAP_MS - performance.now();
    if (left > 0) await Bun.sleep(left);
    yield `data: {"n":${n}}\n\n`;
  }
  yield 'data: [DONE]\n\n';
}

for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(0));
