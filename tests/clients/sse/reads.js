// What Chromium's EventSource makes of streams: `node reads.js CHROMIUM FILE`, where the file is a JSON array of streams
// in base64; prints an array of [type, data, last event ID] for each.

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { chromium } from 'playwright-core'

const [executablePath, file] = process.argv.slice(2)
const streams = JSON.parse(readFileSync(file)).map((stream) => Buffer.from(stream, 'base64'))

const server = createServer((request, response) => {
  const stream = streams[Number(request.url.slice(1))]
  response.writeHead(200, { 'Content-Type': stream ? 'text/event-stream' : 'text/html' }).end(stream)
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))

// A stream that ends is an error, after which a browser would ask again.
function read([count, types]) {
  const one = (number) => new Promise((resolve) => {
    const [source, events] = [new EventSource(`/${number}`), []]
    const take = ({ type, data, lastEventId }) => events.push([type, data, lastEventId])
    types.forEach((type) => source.addEventListener(type, take))
    source.onerror = () => (source.close(), resolve(events))
  })
  return Promise.all(Array.from({ length: count }, (_, number) => one(number)))
}

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
try {
  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${server.address().port}/page`)
  const read_all = await page.evaluate(read, [streams.length, ['message', 'a', 'b']])
  await new Promise((resolve) => process.stdout.write(JSON.stringify(read_all), resolve))
} finally {
  await browser.close()
  server.close()
}
