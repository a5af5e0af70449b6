import process from 'node:process';
import { buildApp } from './app.js';

const CLOSE_GRACE_MS = 1000;

const app = await buildApp();
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, stop);
await app.listen({
  host: process.env.HOST ?? '127.0.0.1',
  port: Number(process.env.PORT ?? 3334),
  backlog: 4096,
});

async function stop() {
  setTimeout(() => process.exit(0), CLOSE_GRACE_MS).unref();
  await app.close();
}
