import type { Subprocess } from 'bun';

/** Runs so many servers on one port, and passes each broadcast on to the others. When one ends by itself, all do. */
export function startWorkers(count: number) {
  const workers: Subprocess[] = [];
  let stopping = false;

  for (let i = 0; i < count; i += 1) {
    workers.push(
      Bun.spawn({
        cmd: [process.execPath, Bun.main],
        env: { ...Bun.env, WORKERS: '1' },
        stdio: ['ignore', 'inherit', 'inherit'],
        // 'advanced' keeps a Buffer a Buffer.
        serialization: 'advanced',
        ipc(broadcast, sender) {
          for (const worker of workers) if (worker !== sender) worker.send(broadcast);
        },
        onExit() {
          if (!stopping) stop(1);
        },
      }),
    );
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => stop(0));

  async function stop(code: number) {
    stopping = true;
    for (const worker of workers) worker.kill('SIGTERM');
    await Promise.all(workers.map((worker) => worker.exited));
    process.exit(code);
  }
}
