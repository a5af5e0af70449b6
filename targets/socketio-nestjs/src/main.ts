import 'reflect-metadata';
import process from 'node:process';
import type { Server } from 'node:http';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

const BACKLOG = 4096;

// Socket.IO is what Nest's gateways speak unless they are told otherwise.
const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
app.enableShutdownHooks();
await app.init();

const server: Server = app.getHttpServer();
server.listen({
  host: process.env.HOST ?? '127.0.0.1',
  port: Number(process.env.PORT ?? 3338),
  backlog: BACKLOG,
});
