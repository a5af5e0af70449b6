// A server of Node.js's own modules, with one trouble: node server.js PORT MODE, where MODE is `name` or `name:figure`.

const crypto = require('crypto');
const http = require('http');
const net = require('net');

const [port, mode] = process.argv.slice(2);
const [name, text] = mode.split(':');
const figure = Number(text);
let asked = 0;
const open = new Set();

// What an HTTP request is answered with; a mode that is not here is one of sockets.
const answers = {
  status: (response) => {
    response.writeHead(figure, {'WWW-Authenticate': 'Bearer'});
    response.end('no ticket, no entry\n');
  },
  redirect: (response) => {
    response.writeHead(301, {Location: '/elsewhere'});
    response.end();
  },
  // Every so many is answered with 503.
  failing: (response) => {
    response.writeHead(++asked % figure ? 200 : 503);
    response.end('an answer');
  },
  silent: () => {},
  // After so many milliseconds, which cost nothing.
  slow: (response) => setTimeout(() => response.end('an answer'), figure),
  // So many milliseconds of this process's one thread.
  busy: (response) => {
    const end = process.hrtime.bigint() + BigInt(figure * 1e6);
    while (process.hrtime.bigint() < end);
    response.end('an answer');
  },
  // Every so many ends in its midst.
  cut: (response) => {
    response.writeHead(200, {'Content-Length': 100});
    if (++asked % figure) return response.end('x'.repeat(100));
    response.write('x'.repeat(50));
    setTimeout(() => response.destroy(), 5);
  },
  echo: (response) => response.end('here is a WebSocket'),
};

// Half of the time, by turns of no regular length, every answer takes so many milliseconds, however few clients there are.
let mood = false;
function changeMood() {
  mood = !mood;
  setTimeout(changeMood, 200 + Math.random() * 1500);
}
if (name === 'moody') changeMood();
const isInAMood = () => mood;

// RFC 6455: frames of at most 64 KiB, whole in one or several reads, are sent back as they are.
function echo(socket) {
  let waiting = Buffer.alloc(0);
  socket.on('data', (bytes) => {
    waiting = Buffer.concat([waiting, bytes]);
    for (;;) {
      if (waiting.length < 2) return;
      const short = waiting[1] & 127;
      const head = short === 126 ? 4 : 2;
      if (waiting.length < head + 4) return;
      const length = short === 126 ? waiting.readUInt16BE(2) : short;
      if (waiting.length < head + 4 + length) return;
      const mask = waiting.subarray(head, head + 4);
      const payload = Buffer.from(waiting.subarray(head + 4, head + 4 + length));
      for (let i = 0; i < length; i++) payload[i] ^= mask[i & 3];
      const first = waiting[0];
      const header = waiting.subarray(0, head);
      header[1] &= 127;
      const answer = Buffer.concat([header, payload]);
      if (isInAMood()) setTimeout(() => socket.write(answer), figure);
      else socket.write(answer);
      waiting = waiting.subarray(head + 4 + length);
      if ((first & 15) === 8) return socket.end();
    }
  });
}

function upgrade(request, socket) {
  const key = request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
  const accept = crypto.createHash('sha1').update(key).digest('base64');
  socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
    `Sec-WebSocket-Accept: ${accept}\r\n\r\n`);
  socket.on('error', () => {});
  socket.on('close', () => open.delete(socket));
  open.add(socket);
  echo(socket);
  // One more than it can take: all are thrown out.
  if (name === 'full' && open.size > figure) open.forEach((other) => other.destroy());
}

// What says it is another protocol as soon as it is connected to, or nothing at all.
const sockets = {
  banner: (socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'),
  mute: (socket) => socket.on('error', () => {}),
};

let server;
if (sockets[name]) {
  server = net.createServer(sockets[name]);
} else {
  server = http.createServer((request, response) => {
    response.on('error', () => {});
    (answers[name] || answers.echo)(response);
  });
  server.keepAliveTimeout = 60000;
  if (['echo', 'full', 'moody'].includes(name)) server.on('upgrade', upgrade);
}
server.listen(Number(port), '127.0.0.1');
