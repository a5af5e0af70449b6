import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.http.ServerWebSocket;
import io.vertx.ext.web.RoutingContext;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/** The WebSockets of one event loop; broadcasts reach those of the others by the event bus. */
final class WebSockets {
  private static final String TEXT = "websockets.text";
  private static final String BINARY = "websockets.binary";
  private static final int QUEUE_BYTES_MAX = 1 << 20;
  private static final short GOING_AWAY = 1001;

  private final Set<ServerWebSocket> clients = new HashSet<>();
  private final EventBus bus;

  WebSockets(Vertx vertx) {
    bus = vertx.eventBus();
    bus.<String>localConsumer(TEXT, text -> deliver(text.body()));
    bus.<Buffer>localConsumer(BINARY, data -> deliver(data.body()));
  }

  void upgrade(RoutingContext context) {
    context.request().toWebSocket().onSuccess(this::serve).onFailure(context::fail);
  }

  Future<?> closeAll() {
    return Future.join(List.copyOf(clients).stream().map(client -> client.close(GOING_AWAY)).toList());
  }

  /** Answers a client. Vert.x itself answers pings, and closes. */
  private void serve(ServerWebSocket client) {
    clients.add(client);
    client.setWriteQueueMaxSize(QUEUE_BYTES_MAX);
    client.closeHandler(closed -> clients.remove(client));
    // The connection broke, or the client broke the protocol and has been told so.
    client.exceptionHandler(failure -> client.close());
    client.textMessageHandler(
        text -> {
          var result = Protocol.textResult(text);
          if (result != null) {
            bus.publish(TEXT, text);
          }
          client.writeTextMessage(result != null ? result : text);
          slowDown(client);
        });
    client.binaryMessageHandler(
        data -> {
          var result = Protocol.binaryResult(data);
          if (result != null) {
            bus.publish(BINARY, data);
          }
          client.writeBinaryMessage(result != null ? result : data);
          slowDown(client);
        });
  }

  /** A client that does not read is not read from. */
  private void slowDown(ServerWebSocket client) {
    if (client.writeQueueFull()) {
      client.pause();
      client.drainHandler(drained -> client.resume());
    }
  }

  private void deliver(String text) {
    forEachReader(client -> client.writeTextMessage(text));
  }

  private void deliver(Buffer data) {
    forEachReader(client -> client.writeBinaryMessage(data));
  }

  /** A client that is too far behind is dropped instead. */
  private void forEachReader(Consumer<ServerWebSocket> send) {
    // A copy, since a client leaves the set when it is closed.
    for (var client : List.copyOf(clients)) {
      if (client.writeQueueFull()) {
        client.close();
      } else {
        send.accept(client);
      }
    }
  }
}
