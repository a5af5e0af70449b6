// One transport of sockjs-client against one server: node client.js http://host:port transport
// Says what happened on stdout, a line for each event; whoever started it knows what to expect.

import SockJS from 'sockjs-client';

const [base, transport] = process.argv.slice(2);

/** Opens a service; every event of the connection is a line. */
function open(service, onOpen, onMessage) {
  return new Promise((resolve) => {
    const connection = new SockJS(`${base}${service}`, null, { transports: transport });
    connection.onopen = () => {
      console.log(`${service} open ${connection.transport}`);
      onOpen?.(connection);
    };
    connection.onmessage = ({ data }) => {
      console.log(`${service} message ${JSON.stringify(data)}`);
      onMessage?.(connection, data);
    };
    connection.onclose = ({ code, reason, wasClean }) => {
      console.log(`${service} close ${code} ${JSON.stringify(reason)} ${wasClean}`);
      resolve();
    };
  });
}

/** Sends these, and closes when all have come back. */
function echo(service, messages) {
  let missing = messages.length;
  return open(
    service,
    (connection) => messages.forEach((message) => connection.send(message)),
    (connection) => {
      missing -= 1;
      if (missing === 0) connection.close();
    },
  );
}

/** A listener that leaves with the first message, and a sender that leaves when it has its copy and its result. */
async function broadcast() {
  let heard = 0;
  let listening;
  const ready = new Promise((resolve) => (listening = resolve));
  const listener = open('/sockjs', listening, (connection) => connection.close());
  await ready;
  const sender = open(
    '/sockjs',
    (connection) => connection.send(JSON.stringify({ type: 'broadcast', payload: { text: 'to all' } })),
    (connection) => {
      heard += 1;
      if (heard === 2) connection.close();
    },
  );
  await Promise.all([listener, sender]);
}

const odd = 'é€\u{1f600}\u2028\u200c\ufeff\uffff\u0000"\\\n</script>';
await echo('/echo', ['hello', odd, 'x'.repeat(5000), 'after the limit']);
await open('/close');
await echo('/cookie_needed_echo', ['with a cookie']);
await broadcast();
process.exit(0);
