// A chat on Socket.IO: a token for each user, rooms, lines to the others, and who comes and goes.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import process from 'node:process';
import jwt from 'jsonwebtoken';
import { Server } from 'socket.io';

const host = process.env.HOST ?? '127.0.0.1';
const port = Number(process.env.PORT ?? 3337);
const secret = process.env.JWT_SECRET;
if (!secret) {
  console.error('JWT_SECRET is not set: it is what tokens are signed with');
  process.exit(1);
}

const page = readFileSync(new URL('public/index.html', import.meta.url));
let lines = 0;

const server = http.createServer((request, response) => {
  if (request.url === '/') {
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(page);
    return;
  }
  // Counts lines, to compare with those of a load.
  const users = new Set([...io.sockets.sockets.values()].map((socket) => socket.data.user));
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ users: users.size, lines }));
});
const io = new Server(server);

io.use((socket, next) => {
  try {
    socket.data.user = jwt.verify(socket.handshake.auth.token, secret, { algorithms: ['HS256'] }).sub;
    next();
  } catch (error) {
    next(new Error(`not let in: ${error.message}`));
  }
});

io.on('connection', (socket) => {
  // What somebody joins with, the others are told: a mood, a status.
  socket.on('join', async (room, ...more) => {
    const answer = typeof more.at(-1) === 'function' ? more.pop() : undefined;
    if (typeof room !== 'string' || room === '') {
      answer?.({ ok: false, error: 'no such room' });
      return;
    }
    await socket.join(room);
    socket.data.room = room;
    socket.to(room).emit('entered', { user: socket.data.user, status: more[0] });
    answer?.({ ok: true, room });
  });
  socket.on('leave', async (room, answer) => {
    if (room === undefined || socket.data.room !== room) {
      answer?.({ ok: false, error: 'you are not there' });
      return;
    }
    await socket.leave(room);
    socket.data.room = undefined;
    socket.to(room).emit('left', { user: socket.data.user });
    answer?.({ ok: true, room });
  });
  socket.on('say', ({ text }, answer) => {
    const { room, user } = socket.data;
    if (room === undefined) {
      answer?.({ ok: false, error: 'join a room first' });
      return;
    }
    lines += 1;
    socket.to(room).emit('line', { from: user, text });
    answer?.({ ok: true });
  });
  socket.on('disconnect', () => {
    if (socket.data.room !== undefined) socket.to(socket.data.room).emit('left', { user: socket.data.user });
  });
});

server.listen({ host, port, backlog: 1024 });
process.on('SIGTERM', () => process.exit(0));
process.on('SIGINT', () => process.exit(0));
