import { type BeforeApplicationShutdown } from '@nestjs/common';
import { MessageBody, SubscribeMessage, WebSocketGateway, WebSocketServer } from '@nestjs/websockets';
import type { Server } from 'ws';
import { broadcastResult, type Frame } from './protocol.js';

const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;

@WebSocketGateway({ path: '/ws', maxPayload: MESSAGE_BYTES_MAX })
export class BenchmarkGateway implements BeforeApplicationShutdown {
  @WebSocketServer()
  private readonly server!: Server;

  @SubscribeMessage('echo')
  echo(@MessageBody() frame: Frame): Frame {
    return frame;
  }

  /** Everyone gets what came in; what is returned goes to the sender. */
  @SubscribeMessage('broadcast')
  broadcast(@MessageBody() frame: Frame): Frame {
    for (const client of this.server.clients) {
      if (client.readyState === client.OPEN) client.send(frame);
    }
    return broadcastResult(frame);
  }

  /** Says goodbye; the adapter ends what is left of the connections. */
  beforeApplicationShutdown(): void {
    for (const client of this.server.clients) client.close(1001);
  }
}
