// sockjs-client over one transport against a server: node client.js http://host:port transport
// Says ok if everything was as it should be.

import assert from 'node:assert/strict';
import process from 'node:process';
import SockJS from 'sockjs-client';

const DEADLINE_MS = 120_000;

const [base, transport] = process.argv.slice(2);
setTimeout(() => assert.fail('not done in time'), DEADLINE_MS).unref();

/** Opens a session; resolves with all that happened on it once it is closed. */
function session(service, { onOpen, onMessage } = {}) {
  return new Promise((resolve) => {
    const connection = new SockJS(`${base}${service}`, null, { transports: transport });
    const messages = [];
    connection.onopen = () => {
      assert.equal(connection.transport, transport);
      onOpen?.(connection);
    };
    connection.onmessage = ({ data }) => {
      messages.push(data);
      onMessage?.(connection, messages);
    };
    connection.onclose = ({ code, reason, wasClean }) => resolve({ messages, code, reason, wasClean });
  });
}

const closed = { code: 1000, reason: 'Normal closure', wasClean: true };

/** Sends these, and closes when as many have come back. */
async function echo(service, messages) {
  const happened = await session(service, {
    onOpen: (connection) => messages.forEach((message) => connection.send(message)),
    onMessage: (connection, received) => received.length === messages.length && connection.close(),
  });
  assert.deepEqual(happened, { messages, ...closed });
}

/** A listener that leaves with the first message, and a sender that leaves when it has its copy and its result. */
async function broadcast() {
  const copy = JSON.stringify({ type: 'broadcast', payload: { text: 'to all' } });
  const result = JSON.stringify({ type: 'broadcastResult', payload: { text: 'to all' } });
  let listening;
  const ready = new Promise((resolve) => {
    listening = resolve;
  });
  const listener = session('/sockjs', { onOpen: listening, onMessage: (connection) => connection.close() });
  await ready;
  const sender = session('/sockjs', {
    onOpen: (connection) => connection.send(copy),
    onMessage: (connection, received) => received.length === 2 && connection.close(),
  });
  assert.deepEqual(await listener, { messages: [copy], ...closed });
  const { messages, ...end } = await sender;
  // The result may come before the copy.
  assert.deepEqual([messages.sort(), end], [[copy, result].sort(), closed]);
}

// Beyond 4096 bytes the server ends a streaming answer, and the client asks anew.
await echo('/echo', ['hello', 'é€\u{1f600}\u2028\u200c\ufeff\uffff\u0000"\\\n</script>', 'x'.repeat(5000), 'after that']);
await echo('/cookie_needed_echo', ['with a cookie']);
await broadcast();
assert.deepEqual(await session('/close'), { messages: [], code: 3000, reason: 'Go away!', wasClean: true });
console.log('ok');
process.exit(0);
