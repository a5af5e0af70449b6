import { Module } from '@nestjs/common';
import { AppController } from './app.controller.js';
import { BenchmarkGateway } from './benchmark.gateway.js';

@Module({ controllers: [AppController], providers: [BenchmarkGateway] })
export class AppModule {}
