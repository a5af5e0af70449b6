// websocket-bench's two message forms. An echo needs no decoding: in both, its answer is the message itself, and so
// is the answer to a message that belongs to neither. Only a broadcast has to be told apart.

const BROADCAST = 'b'.charCodeAt(0);
const RESULT = 'r'.charCodeAt(0);
const OPEN_BRACE = '{'.charCodeAt(0);

// Byte 0 is the type, then a big-endian u32 is the size of the rest, which opens with an i64 of unix nanoseconds.
const HEADER_BYTES = 5;
const TIME_BYTES = 8;

/** The answer that the sender of a broadcast gets besides its own copy, or null if the message is no broadcast. */
export function broadcastResult(data, isBinary) {
  return isBinary ? binaryResult(data) : jsonResult(data);
}

function binaryResult(data) {
  if (data[0] !== BROADCAST || data.length < HEADER_BYTES + TIME_BYTES) return null;
  if (data.readUInt32BE(1) !== data.length - HEADER_BYTES) return null;
  const result = Buffer.from(data);
  result[0] = RESULT;
  return result;
}

function jsonResult(data) {
  // Plain text is echoed at full speed: an exception for each message would cost more than the echo.
  if (data[0] !== OPEN_BRACE) return null;
  let message;
  try {
    message = JSON.parse(data);
  } catch {
    return null;
  }
  if (message.type !== 'broadcast') return null;
  return JSON.stringify({ type: 'broadcastResult', payload: message.payload });
}
