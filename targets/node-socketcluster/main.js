import process from 'node:process';
import { serve } from './server.js';

const close = serve({ host: process.env.HOST ?? '127.0.0.1', port: Number(process.env.PORT ?? 3334) });
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => close().then(() => process.exit(0)));
