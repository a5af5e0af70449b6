// websocket-bench's messages. An echo needs no decoding: its answer is the message itself, and so is the answer to a
// message that is neither. Only a broadcast has to be told apart.

/** The answer that the sender of a broadcast gets besides its own copy, or null if the message is no broadcast. */
export function broadcastResult(text) {
  // Plain text is echoed at full speed: an exception for each message would cost more than the echo.
  if (!text.startsWith('{')) return null;
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    return null;
  }
  if (message.type !== 'broadcast') return null;
  return JSON.stringify({ type: 'broadcastResult', payload: message.payload });
}
