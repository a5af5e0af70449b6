package throng;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.springframework.web.socket.BinaryMessage;
import org.springframework.web.socket.CloseStatus;
import org.springframework.web.socket.TextMessage;
import org.springframework.web.socket.WebSocketMessage;
import org.springframework.web.socket.WebSocketSession;
import org.springframework.web.socket.handler.ConcurrentWebSocketSessionDecorator;
import org.springframework.web.socket.handler.SessionLimitExceededException;

/** One connection, which any thread may write to, and the message that it is sending. */
final class Client {
  private static final int MESSAGE_BYTES_MAX = 16 << 20;
  private static final int QUEUE_BYTES_MAX = 1 << 20;
  private static final int WRITE_MAX_MS = 10_000;

  private final WebSocketSession session;
  private final StringBuilder text = new StringBuilder();
  private final ByteArrayOutputStream data = new ByteArrayOutputStream(0);

  Client(WebSocketSession session) {
    this.session = new ConcurrentWebSocketSessionDecorator(session, WRITE_MAX_MS, QUEUE_BYTES_MAX);
  }

  /** The message, if this is its last part. */
  Optional<TextMessage> whole(TextMessage part) {
    if (part.isLast() && text.isEmpty()) {
      return Optional.of(part);
    }
    text.append(part.getPayload());
    if (!isComplete(part, text.length())) {
      return Optional.empty();
    }
    var message = new TextMessage(text);
    text.setLength(0);
    text.trimToSize();
    return Optional.of(message);
  }

  /** The message, if this is its last part: a copy, since Tomcat uses the part's memory again. */
  Optional<BinaryMessage> whole(BinaryMessage part) {
    ByteBuffer bytes = part.getPayload();
    data.write(bytes.array(), bytes.arrayOffset() + bytes.position(), bytes.remaining());
    if (!isComplete(part, data.size())) {
      return Optional.empty();
    }
    var message = new BinaryMessage(data.toByteArray());
    data.reset();
    return Optional.of(message);
  }

  private boolean isComplete(WebSocketMessage<?> part, int size) {
    if (size > MESSAGE_BYTES_MAX) {
      close(CloseStatus.TOO_BIG_TO_PROCESS);
      return false;
    }
    return part.isLast();
  }

  /** Sends it, or queues it behind what another thread is sending; a client that is too far behind is dropped. */
  void send(WebSocketMessage<?> message) {
    try {
      session.sendMessage(message);
    } catch (SessionLimitExceededException exception) {
      close(exception.getStatus());
    } catch (IOException | IllegalStateException exception) {
      close(CloseStatus.SESSION_NOT_RELIABLE); // It is gone, or leaving.
    }
  }

  void close(CloseStatus status) {
    try {
      session.close(status);
    } catch (IOException ignored) {
      // Then it is closed.
    }
  }
}
