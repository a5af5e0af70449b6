import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.EventBus;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.handler.sockjs.SockJSHandler;
import io.vertx.ext.web.handler.sockjs.SockJSSocket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The SockJS sessions that began at one event loop; broadcasts reach those of the others by the event bus. */
final class SockJs {
  private static final String MESSAGE = "sockjs";
  private static final int GOING_AWAY = 1001;

  /** Of several threads: a request may come to another event loop than that of its session. */
  private final Set<SockJSSocket> clients = ConcurrentHashMap.newKeySet();

  private final EventBus bus;
  private final Router router;

  SockJs(Vertx vertx) {
    bus = vertx.eventBus();
    bus.<String>localConsumer(MESSAGE, text -> clients.forEach(client -> client.write(text.body())));
    router = SockJSHandler.create(vertx).socketHandler(this::serve);
  }

  Router router() {
    return router;
  }

  void closeAll() {
    clients.forEach(client -> client.close(GOING_AWAY, "Going away"));
  }

  private void serve(SockJSSocket client) {
    clients.add(client);
    client.closeHandler(closed -> clients.remove(client));
    client.exceptionHandler(failure -> client.close());
    client.handler(message -> answer(client, message));
  }

  private void answer(SockJSSocket client, Buffer message) {
    var text = message.toString();
    var result = Protocol.textResult(text);
    if (result == null) {
      client.write(message);
    } else {
      bus.publish(MESSAGE, text);
      client.write(result);
    }
  }
}
