// A HAR as the exporter of Chromium's network panel writes it with sensitive data (front_end/models/har/Log.ts), made of the same
// events of the DevTools protocol. The panel's own exporter, which needs its window, is not run.

import { writeFileSync } from 'node:fs'

const pairs = (headers) => Object.entries(headers ?? {}).map(([name, value]) => ({ name, value }))
// Times of the protocol count from the browser's start; a request tells its wall clock as well.
const wallTime = (entry, timestamp) => entry.wallTime + timestamp - entry.timestamp

/** Records what a page says and hears; `finish` writes the file. */
export async function record(page) {
  const session = await page.context().newCDPSession(page)
  const entries = new Map()
  const bodies = []
  const all = []
  const extras = new Map()
  const add = (id, entry) => (entries.set(id, entry), all.push(Object.assign(entry, { id })), Object.assign(entry, extras.get(id)))
  // The headers as they went over the wire, with cookies, come in events of their own, in either order.
  const extra = (id, name, value) => {
    const entry = entries.get(id)
    if (entry !== undefined) entry[name] = value
    else extras.set(id, { ...extras.get(id), [name]: value })
  }
  const on = (name, handle) => session.on(`Network.${name}`, handle)
  on('requestWillBeSent', ({ requestId, request, wallTime, timestamp, type, redirectResponse }) => {
    if (redirectResponse !== undefined) Object.assign(entries.get(requestId), { response: redirectResponse })
    add(requestId, { request, wallTime, timestamp, type })
    extras.delete(requestId)
  })
  on('requestWillBeSentExtraInfo', ({ requestId, headers }) => extra(requestId, 'requestHeaders', headers))
  on('responseReceivedExtraInfo', ({ requestId, headers, statusCode }) => {
    // Of requests that were redirected, the first without: it may come once the next has been sent.
    const entry = all.find(({ id, extraStatus }) => id === requestId && extraStatus === undefined)
    Object.assign(entry ?? {}, { responseHeaders: headers, extraStatus: statusCode })
  })
  on('responseReceived', ({ requestId, response }) => Object.assign(entries.get(requestId) ?? {}, { response }))
  on('loadingFinished', ({ requestId }) => {
    const entry = entries.get(requestId)
    const read = session.send('Network.getResponseBody', { requestId }).then(({ body, base64Encoded }) => {
      Object.assign(entry, { body, base64Encoded })
    })
    bodies.push(read.catch(() => {}))
  })
  on('webSocketCreated', ({ requestId, url }) => add(requestId, { request: { method: 'GET', url }, type: 'WebSocket', frames: [] }))
  on('webSocketWillSendHandshakeRequest', ({ requestId, timestamp, wallTime, request }) => {
    Object.assign(entries.get(requestId), { timestamp, wallTime, requestHeaders: request.headers })
  })
  on('webSocketHandshakeResponseReceived', ({ requestId, response }) => Object.assign(entries.get(requestId), { response, requestHeaders: response.requestHeaders ?? entries.get(requestId).requestHeaders }))
  const frame = (type) => ({ requestId, timestamp, response: { opcode, payloadData } }) => {
    const entry = entries.get(requestId)
    entry.frames.push({ type, time: wallTime(entry, timestamp), opcode, data: payloadData })
  }
  on('eventSourceMessageReceived', ({ requestId, timestamp, eventName, eventId, data }) => {
    const entry = entries.get(requestId)
    entry.events ??= []
    entry.events.push({ time: wallTime(entry, timestamp), eventName, eventId, data })
  })
  on('webSocketFrameSent', frame('send'))
  on('webSocketFrameReceived', frame('receive'))
  await session.send('Network.enable', { maxTotalBufferSize: 64e6, maxResourceBufferSize: 32e6 })
  return {
    async finish(file) {
      await Promise.all(bodies)
      const log = {
        version: '1.2',
        creator: { name: 'WebInspector', version: '537.36' },
        pages: [],
        entries: all.filter((entry) => entry.wallTime !== undefined).map(exported),
      }
      writeFileSync(file, JSON.stringify({ log }, null, 2))
    },
  }
}

function exported(entry) {
  const { request, response = {}, wallTime, frames, events, body, base64Encoded } = entry
  const { pathname: _, searchParams } = new URL(request.url)
  const posted = request.postData === undefined ? {} : {
    postData: { mimeType: request.headers['Content-Type'] ?? '', text: request.postData },
  }
  const content = { size: body?.length ?? 0, mimeType: response.mimeType ?? 'x-unknown' }
  if (body !== undefined) Object.assign(content, { text: body }, base64Encoded ? { encoding: 'base64' } : {})
  return {
    _connectionId: String(response.connectionId ?? ''),
    _initiator: { type: 'other' },
    _priority: request.initialPriority ?? 'High',
    _resourceType: entry.type.toLowerCase(),
    ...(frames === undefined ? {} : { _webSocketMessages: frames }),
    ...(events === undefined ? {} : { _eventSourceMessages: events }),
    cache: {},
    connection: '80',
    request: {
      method: request.method,
      url: request.url,
      httpVersion: 'http/1.1',
      headers: pairs(entry.requestHeaders ?? request.headers),
      queryString: [...searchParams].map(([name, value]) => ({ name, value })),
      cookies: [],
      headersSize: -1,
      bodySize: request.postData?.length ?? 0,
      ...posted,
    },
    response: {
      status: entry.extraStatus ?? response.status ?? 0,
      statusText: response.statusText ?? '',
      httpVersion: 'http/1.1',
      headers: pairs(entry.responseHeaders ?? response.headers),
      cookies: [],
      content,
      redirectURL: '',
      headersSize: -1,
      bodySize: -1,
      _transferSize: 0,
      _error: null,
    },
    serverIPAddress: '127.0.0.1',
    startedDateTime: new Date(wallTime * 1000).toISOString(),
    time: 1,
    timings: { blocked: 0, dns: -1, ssl: -1, connect: -1, send: 0, wait: 1, receive: 0, _blocked_queueing: 0 },
  }
}
