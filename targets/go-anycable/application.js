// The channel of websocket-bench, behind AnyCable's RPC over HTTP: connect and command are asked for, in JSON, and
// answered with what is to be sent to the client and with the streams it follows.
import http from 'node:http';

const SUCCESS = 1;
const FAILURE = 2;
const STREAM = 'all';

/** An HTTP server, not listening yet. Requests, and broadcasts to `broadcastUrl`, carry the secret. */
export function createApplication({ secret, broadcastUrl }) {
  const agent = new http.Agent({ keepAlive: true });
  const authorization = `Bearer ${secret}`;

  /** Has AnyCable send the message to everyone who follows the stream. */
  async function broadcast(message) {
    const body = JSON.stringify({ stream: STREAM, data: JSON.stringify(message) });
    const headers = { authorization, 'content-type': 'application/json' };
    await post(broadcastUrl, { agent, headers }, body);
  }

  async function command({ command: name, identifier, data }) {
    if (name === 'subscribe') {
      const confirmation = JSON.stringify({ identifier, type: 'confirm_subscription' });
      return { status: SUCCESS, transmissions: [confirmation], streams: [STREAM] };
    }
    if (name === 'unsubscribe') return { status: SUCCESS, stop_streams: true };
    const message = JSON.parse(data);
    switch (message.action) {
      case 'echo':
        return transmit(identifier, message);
      case 'broadcast':
        await broadcast(message);
        return transmit(identifier, { ...message, action: 'broadcastResult' });
      default:
        return { status: FAILURE, error_msg: `no action ${message.action}` };
    }
  }

  async function answer(request) {
    switch (request.url) {
      case '/_anycable/connect': {
        // With a name of its session, a client can come back to it.
        const welcome = JSON.stringify({ type: 'welcome', sid: request.headers['x-anycable-meta-sid'] });
        return { status: SUCCESS, identifiers: '{}', transmissions: [welcome] };
      }
      case '/_anycable/command':
        return command(JSON.parse(await read(request)));
      default:
        return null;
    }
  }

  return http.createServer(async (request, response) => {
    if (request.headers.authorization !== authorization) {
      response.writeHead(401).end();
      return;
    }
    try {
      const result = await answer(request);
      response.writeHead(result ? 200 : 404, { 'content-type': 'application/json' });
      response.end(result ? JSON.stringify(result) : '');
    } catch (error) {
      response.writeHead(422).end(error.message);
    }
  });
}

function transmit(identifier, message) {
  return { status: SUCCESS, transmissions: [JSON.stringify({ identifier, message })] };
}

async function read(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function post(url, options, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { ...options, method: 'POST' }, (response) => {
      response.resume();
      response.on('end', () => {
        if (response.statusCode < 300) resolve();
        else reject(new Error(`${url}: status ${response.statusCode}`));
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}
