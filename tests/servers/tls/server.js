// HTTPS that gives out TOKEN, and says which handshakes were of sessions before: `node server.js PORT CERT KEY VERSION [CLIENTS]`, VERSION such as
// TLSv1.3. For each connection it prints `resumed` or `full`. Of clients it wants a certificate that is in the file CLIENTS, or of one
// that is.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import process from 'node:process'

const [port, cert, key, version, clients] = process.argv.slice(2)
const wanted = clients && { ca: readFileSync(clients), requestCert: true, rejectUnauthorized: true }
const secured = { ...wanted, cert: readFileSync(cert), key: readFileSync(key), minVersion: version, maxVersion: version }
const server = createServer(secured, (_, response) => response.end(JSON.stringify({ access_token: process.env.TOKEN })))
server.on('secureConnection', (socket) => console.log(socket.isSessionReused() ? 'resumed' : 'full'))
server.listen(Number(port), '127.0.0.1')
