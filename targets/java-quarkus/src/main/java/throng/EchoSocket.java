package throng;

import io.quarkus.websockets.next.OnBinaryMessage;
import io.quarkus.websockets.next.OnTextMessage;
import io.quarkus.websockets.next.WebSocket;
import io.quarkus.websockets.next.WebSocketConnection;
import io.smallrye.mutiny.Uni;
import io.vertx.core.buffer.Buffer;

/** Answers clients, on the event loops. Quarkus itself answers pings, and closes. */
@WebSocket(path = "/ws")
class EchoSocket {
  private final Protocol protocol;

  EchoSocket(Protocol protocol) {
    this.protocol = protocol;
  }

  @OnTextMessage
  Uni<String> text(String text, WebSocketConnection client) {
    var result = protocol.textResult(text);
    if (result != null) {
      start(client.broadcast().sendText(text));
    }
    return Uni.createFrom().item(result != null ? result : text);
  }

  @OnBinaryMessage
  Uni<Buffer> binary(Buffer data, WebSocketConnection client) {
    var result = protocol.binaryResult(data);
    if (result != null) {
      start(client.broadcast().sendBinary(data));
    }
    return Uni.createFrom().item(result != null ? result : data);
  }

  /** Writes to everyone, and waits for nobody. It fails for those who have left. */
  private static void start(Uni<Void> sending) {
    sending.subscribe().with(sent -> {}, failure -> {});
  }
}
