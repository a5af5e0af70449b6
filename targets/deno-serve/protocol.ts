// websocket-bench's two message forms. An echo needs no decoding: in both, its answer is the message itself, and so
// is the answer to a message that belongs to neither. Only a broadcast has to be told apart.

const BROADCAST = "b".charCodeAt(0);
const RESULT = "r".charCodeAt(0);

// Byte 0 is the type, then a big-endian u32 is the size of the rest, which opens with an i64 of unix nanoseconds.
const HEADER_BYTES = 5;
const TIME_BYTES = 8;

/** The answer that the sender of a broadcast gets besides its own copy, or null if the message is no broadcast. */
export function broadcastResult(message: string | ArrayBuffer): string | ArrayBuffer | null {
  return typeof message === "string" ? jsonResult(message) : binaryResult(message);
}

function binaryResult(data: ArrayBuffer): ArrayBuffer | null {
  if (data.byteLength < HEADER_BYTES + TIME_BYTES) return null;
  const view = new DataView(data);
  if (view.getUint8(0) !== BROADCAST || view.getUint32(1) !== data.byteLength - HEADER_BYTES) return null;
  const result = data.slice(0);
  new DataView(result).setUint8(0, RESULT);
  return result;
}

function jsonResult(text: string): string | null {
  // Plain text is echoed at full speed: an exception for each message would cost more than the echo.
  if (!text.startsWith("{")) return null;
  let message: { type?: unknown; payload?: unknown };
  try {
    message = JSON.parse(text);
  } catch {
    return null;
  }
  if (message.type !== "broadcast") return null;
  return JSON.stringify({ type: "broadcastResult", payload: message.payload });
}
