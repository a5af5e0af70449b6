import process from 'node:process';
import { serve } from './server.js';

const host = process.env.HOST ?? '127.0.0.1';
const port = Number(process.env.PORT ?? 3338);
const version = Number(process.env.SOCKET_IO ?? 4);
const recovery = process.env.RECOVERY === '1';

const server = await serve({ host, port, version, recovery });
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, () => server.close(() => process.exit(0)));
}
