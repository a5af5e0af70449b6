import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;
import org.eclipse.jetty.websocket.api.StatusCode;

/** The open WebSockets. */
final class Clients {
  private static final long CLOSE_GRACE_MS = 800;
  private static final long POLL_MS = 10;

  private final Set<Session> sessions = ConcurrentHashMap.newKeySet();

  void add(Session session) {
    sessions.add(session);
  }

  void remove(Session session) {
    sessions.remove(session);
  }

  /** Sends the text to everyone; a client that is too far behind is dropped. */
  void broadcast(String text) {
    for (Session session : sessions) {
      session.sendText(text, orDrop(session));
    }
  }

  /** Sends the bytes to everyone; a client that is too far behind is dropped. */
  void broadcast(ByteBuffer data) {
    for (Session session : sessions) {
      session.sendBinary(data.slice(), orDrop(session));
    }
  }

  /** Says goodbye to every client and waits until they have left, at most as long as the grace. */
  void closeAll() throws InterruptedException {
    for (Session session : sessions) {
      session.close(StatusCode.SHUTDOWN, "", Callback.NOOP);
    }
    for (long waited = 0; !sessions.isEmpty() && waited < CLOSE_GRACE_MS; waited += POLL_MS) {
      Thread.sleep(POLL_MS);
    }
  }

  private static Callback orDrop(Session session) {
    return Callback.from(() -> {}, failure -> session.disconnect());
  }
}
