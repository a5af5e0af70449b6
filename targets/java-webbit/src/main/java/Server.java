import java.net.InetSocketAddress;
import java.net.URI;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.webbitserver.BaseWebSocketHandler;
import org.webbitserver.HttpHandler;
import org.webbitserver.WebServer;
import org.webbitserver.WebSocketConnection;
import org.webbitserver.netty.NettyWebServer;

/** An echo server on Webbit. */
public final class Server {
  private static final long CLOSE_GRACE_MS = 1000;

  public static void main(String[] args) throws Exception {
    var environment = System.getenv();
    var host = environment.getOrDefault("HOST", "127.0.0.1");
    var port = Integer.parseInt(environment.getOrDefault("PORT", "3334"));

    var echo = new Echo();
    WebServer server =
        new NettyWebServer(
                Executors.newSingleThreadScheduledExecutor(),
                new InetSocketAddress(host, port),
                URI.create("http://" + host + ":" + port))
            .add("/ws", echo)
            .add("/", home())
            .start()
            .get();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server, echo)));
  }

  /** Says that the server is there. */
  private static HttpHandler home() {
    return (request, response, control) -> {
      if (request.uri().equals("/")) {
        response.header("Content-Length", 0).end();
      } else {
        control.nextHandler();
      }
    };
  }

  /** Says goodbye to every client and stops, at most as long as the grace. */
  private static void stop(WebServer server, Echo echo) {
    echo.closeAll();
    try {
      server.stop().get(CLOSE_GRACE_MS, TimeUnit.MILLISECONDS);
    } catch (TimeoutException ignored) {
      // Whoever has not left by now is dropped with the process.
    } catch (Exception exception) {
      exception.printStackTrace();
    }
  }

  /** Sends back whatever comes, text or binary. */
  private static final class Echo extends BaseWebSocketHandler {
    private final Set<WebSocketConnection> clients = ConcurrentHashMap.newKeySet();

    @Override
    public void onOpen(WebSocketConnection client) {
      clients.add(client);
    }

    @Override
    public void onClose(WebSocketConnection client) {
      clients.remove(client);
    }

    @Override
    public void onMessage(WebSocketConnection client, String text) {
      client.send(text);
    }

    @Override
    public void onMessage(WebSocketConnection client, byte[] data) {
      client.send(data);
    }

    void closeAll() {
      clients.forEach(WebSocketConnection::close);
    }
  }
}
