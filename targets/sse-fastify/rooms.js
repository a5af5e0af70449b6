import { setTimeout as sleep } from 'node:timers/promises';

const EVENTS = 100;
const GAP_MS = 10;

/** The streams of each room. */
const rooms = new Map();

/** Adds a stream to a room until it closes. */
export function listen(room, stream) {
  if (!rooms.has(room)) rooms.set(room, new Set());
  const streams = rooms.get(room).add(stream);
  stream.on('close', () => streams.delete(stream));
}

/** Tells everyone in a room; the event is encoded once. */
export function publish(room, data) {
  const event = `data: ${data}\n\n`;
  for (const stream of rooms.get(room) ?? []) stream.write(event);
}

/** Writes an answer of EVENTS events, each when it is due. */
export async function writeEvents(stream) {
  const start = performance.now();
  for (let n = 0; n < EVENTS && !stream.destroyed; n += 1) {
    const left = start + n * GAP_MS - performance.now();
    if (left > 0) await sleep(left);
    stream.write(`data: {"n":${n}}\n\n`);
  }
  stream.end('data: [DONE]\n\n');
}
