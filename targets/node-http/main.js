import cluster from 'node:cluster';
import process from 'node:process';
import { serve } from './server.js';

const workers = Number(process.env.WORKERS ?? 1);

if (workers > 1 && cluster.isPrimary) {
  startWorkers(workers);
} else {
  startServer();
}

function startServer() {
  const server = serve({
    host: process.env.HOST ?? '127.0.0.1',
    port: Number(process.env.PORT ?? 3334),
    socket: process.env.SOCKET,
  });
  onStopSignal(() => server.close(() => process.exit(0)));
}

/** The primary owns the port and deals out connections. When a worker ends by itself, all do. */
function startWorkers(count) {
  let stopping = false;
  cluster.on('exit', () => {
    if (!stopping) process.exit(1);
    if (Object.keys(cluster.workers).length === 0) process.exit(0);
  });
  onStopSignal(() => {
    stopping = true;
    for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGTERM');
  });
  for (let i = 0; i < count; i += 1) cluster.fork();
}

/** Calls `stop` once: a worker may get the signal twice, from its process group and from the primary. */
function onStopSignal(stop) {
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      stop();
    });
  }
}
