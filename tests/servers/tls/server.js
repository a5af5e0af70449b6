// HTTPS that says which handshakes were of sessions before: `node server.js PORT CERT KEY VERSION`, VERSION such as TLSv1.3. For each
// connection it prints `resumed` or `full`.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import process from 'node:process'

const [port, cert, key, version] = process.argv.slice(2)
const secured = { cert: readFileSync(cert), key: readFileSync(key), minVersion: version, maxVersion: version }
const server = createServer(secured, (_, response) => response.end('here'))
server.on('secureConnection', (socket) => console.log(socket.isSessionReused() ? 'resumed' : 'full'))
server.listen(Number(port), '127.0.0.1')
