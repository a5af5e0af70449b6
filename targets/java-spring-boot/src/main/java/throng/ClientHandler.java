package throng;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.context.SmartLifecycle;
import org.springframework.stereotype.Component;
import org.springframework.web.socket.BinaryMessage;
import org.springframework.web.socket.CloseStatus;
import org.springframework.web.socket.TextMessage;
import org.springframework.web.socket.WebSocketMessage;
import org.springframework.web.socket.WebSocketSession;
import org.springframework.web.socket.handler.AbstractWebSocketHandler;

/** Answers clients. Tomcat itself answers pings, and closes. */
@Component
class ClientHandler extends AbstractWebSocketHandler implements SmartLifecycle {
  private static final long CLOSE_GRACE_MS = 800;
  private static final long POLL_MS = 10;

  private final Map<String, Client> clients = new ConcurrentHashMap<>();
  private final Protocol protocol;
  private volatile boolean isRunning;

  ClientHandler(Protocol protocol) {
    this.protocol = protocol;
  }

  /** Tomcat sets aside the memory for a whole message with each connection: so messages come in parts of at most 8 KiB. */
  @Override
  public boolean supportsPartialMessages() {
    return true;
  }

  @Override
  public void afterConnectionEstablished(WebSocketSession session) {
    clients.put(session.getId(), new Client(session));
  }

  @Override
  public void afterConnectionClosed(WebSocketSession session, CloseStatus status) {
    clients.remove(session.getId());
  }

  @Override
  protected void handleTextMessage(WebSocketSession session, TextMessage part) {
    var client = clients.get(session.getId());
    client.whole(part).ifPresent(message -> answer(client, message, protocol.textResult(message)));
  }

  @Override
  protected void handleBinaryMessage(WebSocketSession session, BinaryMessage part) {
    var client = clients.get(session.getId());
    client.whole(part).ifPresent(message -> answer(client, message, protocol.binaryResult(message)));
  }

  /** Sends the message back; if it has a result it is a broadcast, and everyone gets it, and the sender the result. */
  private void answer(Client client, WebSocketMessage<?> message, WebSocketMessage<?> result) {
    if (result == null) {
      client.send(message);
      return;
    }
    clients.values().forEach(everyone -> everyone.send(message));
    client.send(result);
  }

  @Override
  public void start() {
    isRunning = true;
  }

  /** Says goodbye to every client and waits until they have left, at most as long as the grace. */
  @Override
  public void stop() {
    isRunning = false;
    clients.values().forEach(client -> client.close(CloseStatus.GOING_AWAY));
    try {
      for (long waited = 0; !clients.isEmpty() && waited < CLOSE_GRACE_MS; waited += POLL_MS) {
        Thread.sleep(POLL_MS);
      }
    } catch (InterruptedException exception) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public boolean isRunning() {
    return isRunning;
  }
}
