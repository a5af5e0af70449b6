// A small chat: a login, rooms, questions and answers, and a server that throws out who is not alive.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import process from 'node:process';
import { WebSocket, WebSocketServer } from 'ws';

const host = process.env.HOST ?? '127.0.0.1';
const port = Number(process.env.PORT ?? 3335);
const pingMs = Number(process.env.PING_MS ?? 5000);
const idleMs = Number(process.env.IDLE_MS ?? 30000);
// A busy server finds several pongs in the queue behind its timer.
const PINGS_MAX = 3;

const passwords = new Map(
  readFileSync(process.env.USERS ?? new URL('users.csv', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(',')),
);
const rooms = new Map();

const handlers = {
  login(client, { user, password }) {
    if (password === undefined || passwords.get(user) !== password) {
      send(client, { type: 'error', error: { code: 'bad_credentials', user } });
      return;
    }
    client.user = user;
    send(client, { type: 'session', user });
  },
  join(client, { room }) {
    if (!rooms.has(room)) rooms.set(room, new Set());
    const members = rooms.get(room);
    for (const member of members) send(member, { type: 'entered', user: client.user });
    members.add(client);
    client.room = room;
    send(client, { room, type: 'joined' });
  },
  ask(client, { ref, text }) {
    send(client, { in_reply_to: ref, type: 'answer', text: String(text).toUpperCase() });
  },
  say(client, { room, ref, text }) {
    const members = rooms.get(room);
    if (!members?.has(client)) {
      send(client, { type: 'error', error: { code: 'not_in_room', room } });
      return;
    }
    const line = JSON.stringify({ from: client.user, line: { text, ref }, type: 'said' });
    for (const member of members) {
      if (member !== client && member.readyState === WebSocket.OPEN) member.send(line);
    }
    send(client, { type: 'delivered', ref });
  },
  pong(client) {
    client.unanswered = 0;
  },
  alive() {},
};

function send(client, message) {
  if (client.readyState === WebSocket.OPEN) client.send(JSON.stringify(message));
}

function handle(client, data) {
  let message;
  try {
    message = JSON.parse(data);
  } catch {
    client.close(1003, 'not JSON');
    return;
  }
  const needsLogin = message?.type !== 'login' && client.user === undefined;
  const handler = Object.hasOwn(handlers, message?.type) && !needsLogin && handlers[message.type];
  if (handler) handler(client, message);
  else send(client, { type: 'error', error: { code: needsLogin ? 'login_first' : 'unknown_type' } });
}

const server = http.createServer((request, response) => response.writeHead(200, { 'Content-Length': 0 }).end());
const sockets = new WebSocketServer({ server });

sockets.on('connection', (client) => {
  client.unanswered = 0;
  client.spokenAt = performance.now();
  client.on('message', (data) => {
    // An answered ping is no sign of life of the application: that is what `alive` is for.
    if (!String(data).includes('"pong"')) client.spokenAt = performance.now();
    handle(client, data);
  });
  client.on('close', () => {
    const members = rooms.get(client.room);
    members?.delete(client);
    for (const member of members ?? []) send(member, { type: 'left', user: client.user });
  });
  client.on('error', () => {});
  send(client, { type: 'welcome' });
});

setInterval(() => {
  for (const client of sockets.clients) {
    if (client.unanswered >= PINGS_MAX) client.close(4001, 'no pong');
    else if (performance.now() - client.spokenAt > idleMs) client.close(4002, 'not alive');
    client.unanswered += 1;
    send(client, { type: 'ping' });
  }
}, pingMs);

server.listen({ host, port, backlog: 1024 });
process.on('SIGTERM', () => process.exit(0));
process.on('SIGINT', () => process.exit(0));
