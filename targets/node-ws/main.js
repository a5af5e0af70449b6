import cluster from 'node:cluster';
import process from 'node:process';
import { serve } from './server.js';

const host = process.env.HOST ?? '127.0.0.1';
const port = Number(process.env.PORT ?? 3334);
const workers = Number(process.env.WORKERS ?? 1);

if (workers > 1 && cluster.isPrimary) {
  startWorkers(workers);
} else {
  startServer();
}

/** One server; as a worker of a cluster it also hands its broadcasts to the primary, and delivers the others'. */
function startServer() {
  const relay = cluster.isWorker ? (data, isBinary) => process.send({ data, isBinary }) : () => {};
  const server = serve({ host, port, relay });
  if (cluster.isWorker) process.on('message', ({ data, isBinary }) => server.deliver(data, isBinary));
  onStopSignal(() => server.close(() => process.exit(0)));
}

/** The primary owns the port, deals out connections, and passes each broadcast on to the other workers. */
function startWorkers(count) {
  let stopping = false;
  // 'advanced' keeps a Buffer a Buffer; the default would turn it into a JSON array of numbers.
  cluster.setupPrimary({ serialization: 'advanced' });
  cluster.on('message', (sender, broadcast) => {
    for (const worker of Object.values(cluster.workers)) {
      if (worker !== sender) worker.send(broadcast);
    }
  });
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
