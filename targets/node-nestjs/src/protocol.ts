// websocket-bench's two message forms. An echo needs no decoding: in both, its answer is the message itself, and so
// is the answer to a message that belongs to neither. Only a broadcast has to be told apart.

/** A message as ws hands it out: text, or what is binary. */
export type Frame = string | Buffer;

const BROADCAST = 'b'.charCodeAt(0);
const RESULT = 'r'.charCodeAt(0);

// Byte 0 is the type, then a big-endian u32 is the size of the rest, which opens with an i64 of unix nanoseconds.
const HEADER_BYTES = 5;
const TIME_BYTES = 8;

export function isBroadcast(frame: Frame): boolean {
  return typeof frame === 'string' ? parse(frame)?.type === 'broadcast' : isBinaryBroadcast(frame);
}

function isBinaryBroadcast(data: Buffer): boolean {
  if (data[0] !== BROADCAST || data.length < HEADER_BYTES + TIME_BYTES) return false;
  return data.readUInt32BE(1) === data.length - HEADER_BYTES;
}

/** The answer that the sender of a broadcast gets besides its own copy. */
export function broadcastResult(broadcast: Frame): Frame {
  if (typeof broadcast === 'string') {
    return JSON.stringify({ type: 'broadcastResult', payload: parse(broadcast)?.payload });
  }
  const result = Buffer.from(broadcast);
  result[0] = RESULT;
  return result;
}

function parse(text: string): { type?: unknown; payload?: unknown } | null {
  // Plain text is echoed at full speed: an exception for each message would cost more than the echo.
  if (!text.startsWith('{')) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
