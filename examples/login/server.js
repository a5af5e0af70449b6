// A chat behind a login form: Express, its sessions, a CSRF token in the form, and a WebSocket that wants the session.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import process from 'node:process';
import express from 'express';
import session from 'express-session';
import { WebSocket, WebSocketServer } from 'ws';

const host = process.env.HOST ?? '127.0.0.1';
const port = Number(process.env.PORT ?? 3336);

const passwords = new Map(
  readFileSync(process.env.USERS ?? new URL('users.csv', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(',')),
);
const seen = { logins: 0, lines: 0, users: new Set() };

const sessions = session({
  name: 'chat.sid',
  secret: process.env.SESSION_SECRET ?? randomBytes(16).toString('hex'),
  resave: false,
  saveUninitialized: false,
});

const app = express();
app.disable('x-powered-by');
app.get('/seen', (request, response) => response.json({ ...seen, users: [...seen.users] }));
app.use(sessions);
app.use(express.urlencoded({ extended: false }));

app.get('/login', (request, response) => {
  request.session.csrf ??= randomBytes(24).toString('base64');
  response.send(`<!doctype html>
<title>Log in</title>
<form method="post" action="/login">
  <input type="hidden" name="_csrf" value="${request.session.csrf}">
  <input name="name"> <input name="password" type="password"> <button>Log in</button>
</form>`);
});

app.post('/login', (request, response) => {
  const { _csrf, name, password } = request.body ?? {};
  if (request.session.csrf === undefined || _csrf !== request.session.csrf) {
    response.status(403).send('This form is too old: reload it.');
    return;
  }
  if (password === undefined || passwords.get(name) !== password) {
    response.status(401).send(`${name} and ${password} do not go together.`);
    return;
  }
  // A new session, so that nobody else knows its name.
  request.session.regenerate((error) => {
    if (error) throw error;
    Object.assign(request.session, { user: name, ticket: randomBytes(12).toString('hex') });
    seen.logins += 1;
    response.redirect('/chat');
  });
});

app.get('/chat', (request, response) => {
  if (request.session.user === undefined) {
    response.redirect('/login');
    return;
  }
  response.send(`<!doctype html>
<title>Chat</title>
<meta name="chat-ticket" content="${request.session.ticket}">
<p>Hello, ${request.session.user}.
<form id="talk">
  <input id="text" autocomplete="off"> <button id="say" disabled>Say</button>
</form>
<ul id="lines"></ul>
<script>
  const [talk, text, say, lines] = ['talk', 'text', 'say', 'lines'].map((id) => document.getElementById(id));
  const ticket = document.querySelector('[name=chat-ticket]').content;

  const socket = new WebSocket(location.origin.replace('http', 'ws') + '/socket?ticket=' + ticket);
  socket.onopen = () => { say.disabled = false; };
  socket.onmessage = ({ data }) => {
    const { from, line, answer } = JSON.parse(data);
    lines.append(Object.assign(document.createElement('li'), { textContent: answer ?? from + ': ' + line }));
  };
  // A question is for the server.
  talk.onsubmit = (event) => {
    event.preventDefault();
    socket.send(JSON.stringify({ [text.value.endsWith('?') ? 'ask' : 'say']: text.value }));
    text.value = '';
  };
</script>`);
});

const server = http.createServer(app);
const sockets = new WebSocketServer({ noServer: true });

server.on('upgrade', (request, socket, head) => {
  sessions(request, {}, () => {
    const { user, ticket } = request.session;
    const given = new URL(request.url, 'http://localhost').searchParams.get('ticket');
    if (user === undefined || given !== ticket) {
      socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (client) => {
      seen.users.add(user);
      client.on('error', () => {});
      client.on('message', (data) => {
        const { ask, say } = JSON.parse(data);
        if (ask !== undefined) {
          client.send(JSON.stringify({ answer: ask }));
          return;
        }
        seen.lines += 1;
        const line = JSON.stringify({ from: user, line: say });
        for (const other of sockets.clients) if (other.readyState === WebSocket.OPEN) other.send(line);
      });
    });
  });
});

server.listen({ host, port, backlog: 1024 });
process.on('SIGTERM', () => process.exit(0));
process.on('SIGINT', () => process.exit(0));
