// AnyCable-Go holds the connections; this process holds the application that it asks by HTTP, and lives as long as it.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { createApplication } from './application.js';

const ANYCABLE = 'node_modules/@anycable/anycable-go/bin/anycable-go';

const host = process.env.HOST ?? '127.0.0.1';
const port = process.env.PORT ?? '3339';
const secret = randomBytes(32).toString('hex');

const application = createApplication({ secret, broadcastUrl: `http://${host}:${port}/_broadcast` });
application.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => {
  const anycable = spawn(
    ANYCABLE,
    [
      `--host=${host}`,
      `--port=${port}`,
      `--rpc_host=http://127.0.0.1:${application.address().port}/_anycable`,
      `--http_rpc_secret=${secret}`,
      '--broadcast_adapter=http',
      `--http_broadcast_port=${port}`,
      `--broadcast_key=${secret}`,
      '--max_message_size=16777216',
      // The application keeps nothing about clients, so it need not hear of those who leave.
      '--disconnect_mode=never',
      '--log_level=warn',
      ...(process.env.BROKER ? [`--broker=${process.env.BROKER}`] : []),
    ],
    { stdio: 'inherit', env: { ...process.env, ANYCABLE_DISABLE_TELEMETRY: 'true' } },
  );
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.on(signal, () => {
      stopping = true;
      anycable.kill('SIGTERM');
    });
  }
  anycable.on('error', (error) => {
    console.error(`${ANYCABLE}: ${error.message}`);
    process.exit(1);
  });
  anycable.on('exit', () => process.exit(stopping ? 0 : 1));
});
