import java.nio.ByteBuffer;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;

/**
 * Answers one client; the next message is asked for when the answer is written. Jetty itself answers pings, and closes.
 * It calls public classes only.
 */
public final class Client implements Session.Listener {
  private final Clients clients;
  private Session session;

  Client(Clients clients) {
    this.clients = clients;
  }

  @Override
  public void onWebSocketOpen(Session session) {
    this.session = session;
    clients.add(session);
    session.demand();
  }

  @Override
  public void onWebSocketText(String text) {
    var result = Protocol.textResult(text);
    if (result != null) {
      clients.broadcast(text);
    }
    session.sendText(result != null ? result : text, thenRead());
  }

  @Override
  public void onWebSocketBinary(ByteBuffer data, Callback callback) {
    var result = Protocol.binaryResult(data);
    if (result == null) {
      // The bytes are Jetty's again when they are written.
      session.sendBinary(data, Callback.from(callback, session::demand));
      return;
    }
    clients.broadcast(BufferUtil.copy(data));
    callback.succeed();
    session.sendBinary(result, thenRead());
  }

  @Override
  public void onWebSocketClose(int code, String reason, Callback callback) {
    clients.remove(session);
    callback.succeed();
  }

  private Callback thenRead() {
    return Callback.from(session::demand, failure -> session.disconnect());
  }
}
