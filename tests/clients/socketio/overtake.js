// Plain requests that come while or after a WebSocket takes their session over: `node overtake.js URL ROUNDS`, by hand, for no
// client that keeps the rules makes them. socket.io itself and throng's server have to answer alike. Says ok if so.

import assert from 'node:assert/strict'
import net from 'node:net'
import process from 'node:process'

const DEADLINE_MS = 120_000
const POLLING = '/socket.io/?EIO=4&transport=polling'
const FOR_WEBSOCKET = [
  'Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
]
const UNKNOWN = { status: 400, body: '{"code":1,"message":"Session ID unknown"}' }
const BAD_REQUEST = { status: 400, body: '{"code":3,"message":"Bad request"}' }
const CLOSE = [0x88, '']

const [url, rounds] = process.argv.slice(2)
const { hostname, port } = new URL(url)
setTimeout(() => assert.fail('not done in time'), DEADLINE_MS).unref()

/** A connection, and what has come on it and is not read yet. */
class Connection {
  received = Buffer.alloc(0)
  isEnded = false
  wake = () => {}

  static async open() {
    const connection = new Connection()
    connection.socket = net.connect({ host: hostname, port, noDelay: true })
    connection.socket.on('data', (bytes) => {
      connection.received = Buffer.concat([connection.received, bytes])
      connection.wake()
    })
    connection.socket.on('close', () => {
      connection.isEnded = true
      connection.wake()
    })
    connection.socket.on('error', () => {})
    await new Promise((resolve) => connection.socket.once('connect', resolve))
    return connection
  }

  request(method, path, fields = [], body = '') {
    const lines = [`${method} ${path} HTTP/1.1`, 'Host: x', ...fields]
    if (method === 'POST') lines.push(`Content-Length: ${body.length}`)
    this.socket.write(lines.join('\r\n') + '\r\n\r\n' + body)
  }

  /** Waits until `parse` finds something in what has come, which gives it and how many bytes it takes. */
  async read(parse) {
    for (;;) {
      const found = parse(this.received)
      if (found) {
        this.received = this.received.subarray(found.bytes)
        return found.value
      }
      assert(!this.isEnded, `ended after ${JSON.stringify(this.received.toString())}`)
      await new Promise((resolve) => (this.wake = resolve))
    }
  }

  async answer() {
    const { status, head } = await this.read((all) => {
      const end = all.indexOf('\r\n\r\n')
      const text = all.subarray(0, end).toString()
      return end >= 0 && { value: { status: Number(text.slice(9, 12)), head: text }, bytes: end + 4 }
    })
    if (status === 101) return { status, body: '' }
    if (!/transfer-encoding: chunked/i.test(head)) {
      return { status, body: await this.take(Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)) }
    }
    for (let body = ''; ; ) {
      const size = await this.read((all) => {
        const end = all.indexOf('\r\n')
        return end >= 0 && { value: parseInt(all.subarray(0, end).toString(), 16), bytes: end + 2 }
      })
      body += (await this.take(size + 2)).slice(0, size)
      if (size === 0) return { status, body }
    }
  }

  take(bytes) {
    return this.read((all) => all.length >= bytes && { value: all.subarray(0, bytes).toString(), bytes })
  }

  async ask(...request) {
    this.request(...request)
    return this.answer()
  }

  /** Sends a message of a WebSocket, masked with zeros. */
  say(text) {
    this.socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]))
  }

  /** A short frame: its first byte, and its payload. */
  hear() {
    return this.read((all) => {
      const bytes = 2 + all[1]
      return all.length >= bytes && { value: [all[0], all.subarray(2, bytes).toString()], bytes }
    })
  }

  end() {
    this.socket.destroy()
  }
}

/** A session that polls, with the connection that it was opened on and a WebSocket that is about to take it over. */
async function open() {
  const polls = await Connection.open()
  const { body } = await polls.ask('GET', POLLING)
  const path = `${POLLING}&sid=${/"sid":"([^"]+)"/.exec(body)[1]}`
  assert.deepEqual(await polls.ask('POST', path, [], '40'), { status: 200, body: 'ok' })
  assert.equal((await polls.ask('GET', path)).status, 200)
  const { socket, status } = await upgrade(path)
  assert.equal(status, 101)
  socket.say('2probe')
  assert.deepEqual(await socket.hear(), [0x81, '3probe'])
  return { path, polls, socket }
}

async function upgrade(path) {
  const socket = await Connection.open()
  return { socket, ...(await socket.ask('GET', path.replace('polling', 'websocket'), FOR_WEBSOCKET)) }
}

/** A WebSocket that is granted and closed at once. */
async function turnedAway(path) {
  const { socket, status } = await upgrade(path)
  assert.deepEqual({ status, said: await socket.hear() }, { status: 101, said: CLOSE })
  socket.end()
}

/** A WebSocket that is not granted. */
async function refused(path, message) {
  const { socket, status, body } = await upgrade(path)
  assert.deepEqual({ status, body }, { status: 400, body: message })
  socket.end()
}

await refused(`${POLLING}&sid=nobody`, 'Session ID unknown')
for (let round = 0; round < Number(rounds); round++) {
  const { path, polls, socket } = await open()
  if (round === 0) {
    await turnedAway(path)
    await refused(path.replace('EIO=4', 'EIO=3'), 'Bad request')
    assert.deepEqual(await polls.ask('GET', path.replace('EIO=4', 'EIO=3')), BAD_REQUEST)
  }
  const late = await Connection.open()
  socket.say('5')
  late.request(...(round % 3 === 0 ? ['POST', path, [], '40'] : ['GET', path]))
  assert.deepEqual(await late.answer(), BAD_REQUEST, `round ${round}`)
  if (round === 0) await turnedAway(path)
  socket.end()
  // The server may not have noticed yet that it is gone.
  const ends = [BAD_REQUEST, UNKNOWN].map(({ body }) => body)
  for (let body = ends[0]; body !== UNKNOWN.body; ) {
    body = (await late.ask('GET', path)).body
    assert(ends.includes(body), body)
  }
  for (const connection of [polls, late]) connection.end()
}
console.log('ok')
process.exit()
