// Lets in whoever has a token that jsonwebtoken verifies, wherever it is, and says who was there: GET /users.
// `node server.js PORT ALGORITHM FILE`: makes a key, and writes what signs into the file.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import process from 'node:process';
import jwt from 'jsonwebtoken';
import { Server } from 'socket.io';
import { WebSocketServer } from 'ws';

const [port, algorithm, file] = process.argv.slice(2);
const key = makeKey();
const users = new Map();
const refused = [];

// What verifies; what signs is in the file.
function makeKey() {
  const pem = { privateKeyEncoding: { type: 'pkcs8', format: 'pem' }, publicKeyEncoding: { type: 'spki', format: 'pem' } };
  const make = {
    HS256: () => {
      const secret = randomBytes(32).toString('hex');
      return { privateKey: secret, publicKey: secret };
    },
    RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048, ...pem }),
    ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256', ...pem }),
  };
  const { privateKey, publicKey } = make[algorithm]();
  writeFileSync(file, privateKey);
  return publicKey;
}

// Whoever shows this token; throws if it is none.
function admit(place, token) {
  try {
    const claims = jwt.verify(token, key, { algorithms: [algorithm] });
    const known = users.get(claims.sub) ?? { ...claims, place, times: 0 };
    known.times += 1;
    users.set(claims.sub, known);
    return claims;
  } catch (error) {
    refused.push(`${place}: ${error.message}`);
    throw error;
  }
}

// Every place in which clients have a token, and what is there.
function tokenOf(request) {
  const url = new URL(request.url, 'http://server');
  const cookies = Object.fromEntries((request.headers.cookie ?? '').split('; ').map((pair) => pair.split('=')));
  const protocols = (request.headers['sec-websocket-protocol'] ?? '').split(', ');
  const found = {
    path: url.pathname.match(/^\/as\/(.+)$/)?.[1],
    query: url.searchParams.get('token'),
    header: request.headers.authorization?.replace(/^Bearer /, ''),
    cookie: cookies.jid,
    subprotocol: protocols[0] === 'access_token' ? protocols[1] : undefined,
  };
  return Object.entries(found).find(([, token]) => token) ?? ['nowhere', ''];
}

const server = http.createServer((request, response) => {
  if (request.url === '/users') {
    response.end(JSON.stringify({ users: [...users.values()], refused: refused.splice(0) }));
    users.clear();
    return;
  }
  try {
    admit(...tokenOf(request));
    response.end('hello');
  } catch {
    response.writeHead(401).end();
  }
});

const sockets = new WebSocketServer({
  noServer: true,
  handleProtocols: (protocols) => (protocols.has('access_token') ? 'access_token' : false),
});
server.on('upgrade', (request, socket, head) => {
  if (request.url.startsWith('/socket.io/')) return;
  try {
    admit(...tokenOf(request));
  } catch {
    socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n');
    return;
  }
  sockets.handleUpgrade(request, socket, head, (client) => {
    client.on('message', (data, isBinary) => client.send(data, { binary: isBinary }));
  });
});

const io = new Server(server);
io.use((socket, next) => {
  try {
    admit('auth', socket.handshake.auth.token);
    next();
  } catch (error) {
    next(error);
  }
});
io.on('connection', (socket) => socket.on('echo', (payload) => socket.emit('echo', payload)));

server.listen(Number(port), '127.0.0.1');
