import java.time.Duration;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.websocket.server.ServerWebSocketContainer;
import org.eclipse.jetty.websocket.server.WebSocketUpgradeHandler;

/** An echo and broadcast server on Jetty. */
public final class EchoServer {
  private static final int MESSAGE_BYTES_MAX = 16 << 20;
  private static final int BACKLOG = 4096;

  /** How many messages may wait for a client before it is given up. */
  private static final int QUEUE_MAX = 1024;

  private final Clients clients = new Clients();
  private final Server server = new Server();

  public static void main(String[] args) throws Exception {
    var environment = System.getenv();
    var host = environment.getOrDefault("HOST", "127.0.0.1");
    var port = Integer.parseInt(environment.getOrDefault("PORT", "3334"));
    new EchoServer(host, port).start();
  }

  private EchoServer(String host, int port) {
    var connector = new ServerConnector(server);
    connector.setHost(host);
    connector.setPort(port);
    connector.setAcceptQueueSize(BACKLOG);
    server.addConnector(connector);
    var webSockets = WebSocketUpgradeHandler.from(server, this::configure);
    webSockets.setHandler(new Home());
    server.setHandler(webSockets);
  }

  private void configure(ServerWebSocketContainer container) {
    container.setMaxTextMessageSize(MESSAGE_BYTES_MAX);
    container.setMaxBinaryMessageSize(MESSAGE_BYTES_MAX);
    container.setMaxFrameSize(MESSAGE_BYTES_MAX);
    container.setMaxOutgoingFrames(QUEUE_MAX);
    // A client may be silent for as long as it likes.
    container.setIdleTimeout(Duration.ZERO);
    container.addMapping("/ws", (request, response, callback) -> new Client(clients));
  }

  private void start() throws Exception {
    server.start();
    Runtime.getRuntime().addShutdownHook(new Thread(this::stop));
  }

  private void stop() {
    try {
      clients.closeAll();
      server.stop();
    } catch (Exception exception) {
      exception.printStackTrace();
    }
  }
}
