import { startServer } from './server';
import { startWorkers } from './workers';

const workers = Number(Bun.env.WORKERS ?? 1);

if (workers > 1) startWorkers(workers);
else startServer();
