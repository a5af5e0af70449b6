import { WsAdapter } from '@nestjs/platform-ws';
import type { MessageMappingProperties } from '@nestjs/websockets';
import { EMPTY, fromEvent, mergeMap, type Observable, takeUntil } from 'rxjs';
import type { MessageEvent, WebSocket } from 'ws';
import { type Frame, isBroadcast } from './protocol.js';

/**
 * Nest's own adapter expects `{"event":…,"data":…}` and answers in JSON. This one hands messages to the gateway as they
 * came in, under the event that they mean, and sends its answers as they are.
 */
export class FrameAdapter extends WsAdapter {
  override bindMessageHandlers(
    client: WebSocket,
    handlers: MessageMappingProperties[],
    transform: (data: unknown) => Observable<unknown>,
  ): void {
    const callbacks = new Map(handlers.map(({ message, callback }) => [message, callback]));
    fromEvent<MessageEvent>(client, 'message')
      .pipe(
        mergeMap(({ data }) => {
          const frame = data as Frame;
          const callback = callbacks.get(isBroadcast(frame) ? 'broadcast' : 'echo');
          return callback ? transform(callback(frame)) : EMPTY;
        }),
        takeUntil(fromEvent(client, 'close')),
      )
      .subscribe((answer) => {
        if (client.readyState === client.OPEN) client.send(answer as Frame);
      });
  }
}
