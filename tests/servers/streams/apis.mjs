// APIs whose answers come in pieces, as their pages describe them: `node apis.mjs PORT`. OpenAI's chat completions at /v1/chat/completions,
// Anthropic's messages at /v1/messages, Ollama's chat at /api/chat, and the Model Context Protocol over streamable HTTP at /mcp, where requests
// need the session that `initialize` gave them. Each answer has TOKENS tokens; with ?fail, an error in place of the last of them and of the
// rest. With ?json, MCP answers with JSON. GET /journal says how many requests of each kind were answered, and how many sessions there are.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'

const TOKENS = 5
const sessions = new Set()
const answered = {}

const event = (type, data) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
const data = (value) => `data: ${JSON.stringify(value)}\n\n`
const line = (value) => `${JSON.stringify(value)}\n`
const tokens = (fails, form) => Array.from({ length: fails ? TOKENS - 1 : TOKENS }, (_, n) => form(`word${n} `))

// platform.openai.com/docs/api-reference/chat-streaming
const openai = (fails) => {
  const chunk = (delta, finish_reason = null) => data({ object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })
  const end = fails ? [data({ error: { message: 'overloaded', type: 'server_error' } })] : [chunk({}, 'stop'), 'data: [DONE]\n\n']
  return [chunk({ role: 'assistant', content: '' }), ...tokens(fails, (content) => chunk({ content })), ...end]
}

// docs.anthropic.com/en/docs/build-with-claude/streaming
const anthropic = (fails) => [
  event('message_start', { message: { id: 'msg_1', role: 'assistant', content: [] } }),
  event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  event('ping', {}),
  ...tokens(fails, (text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })),
  ...(fails
    ? [event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } })]
    : [event('content_block_stop', { index: 0 }), event('message_delta', { delta: { stop_reason: 'end_turn' } }), event('message_stop', {})])
]

// github.com/ollama/ollama/blob/main/docs/api.md
const ollama = (fails) => {
  const part = (content, done) => line({ model: 'm', message: { role: 'assistant', content }, done })
  return [...tokens(fails, (content) => part(content, false)), fails ? line({ error: 'out of memory' }) : part('', true)]
}

const apis = {
  '/v1/chat/completions': { parts: openai, type: 'text/event-stream', is: (body) => body.stream && body.messages.length > 0 },
  '/v1/messages': {
    parts: anthropic,
    type: 'text/event-stream; charset=utf-8',
    is: (body, headers) => body.stream && body.max_tokens > 0 && headers['anthropic-version']
  },
  '/api/chat': { parts: ollama, type: 'application/x-ndjson', is: (body) => body.model && body.messages.length > 0 }
}

// modelcontextprotocol.io, 2025-06-18, Streamable HTTP
function mcp(request, response, body, query) {
  const accept = request.headers.accept ?? ''
  if (!accept.includes('application/json') || !accept.includes('text/event-stream')) return response.writeHead(406).end()
  const session = request.headers['mcp-session-id']
  if (body.method === 'initialize') {
    const id = randomUUID()
    sessions.add(id)
    response.writeHead(200, { 'Content-Type': 'application/json', 'Mcp-Session-Id': id })
    const result = { protocolVersion: body.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'mock', version: '1' } }
    return response.end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result }))
  }
  if (!session) return response.writeHead(400).end()
  if (!sessions.has(session)) return response.writeHead(404).end()
  if (body.id === undefined) return response.writeHead(202).end()
  answered.mcp = (answered.mcp ?? 0) + 1
  const outcome = query.has('fail') ? { error: { code: -32603, message: 'Internal error' } } : { result: { tools: [] } }
  const reply = { jsonrpc: '2.0', id: body.id, ...outcome }
  response.setHeader('Content-Type', query.has('json') ? 'application/json' : 'text/event-stream')
  if (query.has('json')) return response.end(JSON.stringify(reply))
  const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } }
  response.end(`event: message\n${data(progress)}event: message\n${data(reply)}`)
}

createServer(async (request, response) => {
  let text = ''
  for await (const part of request) text += part
  const { pathname, searchParams: query } = new URL(request.url, 'http://localhost')
  if (pathname === '/journal') return response.end(JSON.stringify({ answered, sessions: sessions.size }))
  if (request.method !== 'POST') return response.writeHead(405).end()
  const body = JSON.parse(text)
  if (pathname === '/mcp') return mcp(request, response, body, query)
  const api = apis[pathname]
  if (!api?.is(body, request.headers)) return response.writeHead(api ? 400 : 404, { 'Content-Type': 'application/json' }).end('{"error":{}}')
  answered[api.parts.name] = (answered[api.parts.name] ?? 0) + 1
  response.writeHead(200, { 'Content-Type': api.type })
  for (const part of api.parts(query.has('fail'))) response.write(part)
  response.end()
}).listen(Number(process.argv[2]), '127.0.0.1')
