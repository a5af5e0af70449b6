import { Ack, ConnectedSocket, MessageBody, SubscribeMessage, WebSocketGateway, WebSocketServer } from '@nestjs/websockets';
import type { Server, Socket } from 'socket.io';

const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;

type Acknowledge = ((payload: unknown) => void) | undefined;

@WebSocketGateway({ serveClient: false, maxHttpBufferSize: MESSAGE_BYTES_MAX })
export class BenchmarkGateway {
  @WebSocketServer()
  private readonly server!: Server;

  @SubscribeMessage('echo')
  echo(@ConnectedSocket() client: Socket, @MessageBody() payload: unknown, @Ack() acknowledge: Acknowledge): void {
    if (acknowledge) acknowledge(payload);
    else client.emit('echo', payload);
  }

  @SubscribeMessage('broadcast')
  broadcast(@ConnectedSocket() client: Socket, @MessageBody() payload: unknown, @Ack() acknowledge: Acknowledge): void {
    this.server.emit('broadcast', payload);
    if (acknowledge) acknowledge(payload);
    else client.emit('broadcastResult', payload);
  }
}
