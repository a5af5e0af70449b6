#!/usr/bin/env node
// Starts the program from the package of this platform. Where Node.js can, it becomes that program; else it waits for it.
'use strict';

const { spawn } = require('node:child_process');
const os = require('node:os');

const own = `throng-bench-linux-${process.arch}`;
let program;
try {
  program = require.resolve(`${own}/bin/throng`);
} catch {
  console.error(`throng: the package ${own} is missing. Was npm told to leave out optional dependencies (--omit=optional)?`);
  process.exit(1);
}

const args = process.argv.slice(2);
if (typeof process.execve === 'function') {
  process.removeAllListeners('warning');
  process.on('warning', () => {}); // that execve is experimental
  process.execve(program, [program, ...args]);
}

const child = spawn(program, args, { stdio: 'inherit' });
// A terminal sends Ctrl-C, and the SIGHUP of its end, to both: handed on, it would be the second signal, which ends a run
// without its report. To end this process alone, send SIGTERM.
process.on('SIGINT', () => {});
process.on('SIGHUP', () => {});
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('exit', (code, signal) => process.exit(code ?? 128 + os.constants.signals[signal]));
