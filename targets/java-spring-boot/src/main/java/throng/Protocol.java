package throng;

import java.nio.ByteBuffer;
import org.springframework.stereotype.Component;
import org.springframework.web.socket.BinaryMessage;
import org.springframework.web.socket.TextMessage;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * websocket-bench's two message forms. An echo needs no decoding: in both, its answer is the message itself, and so is
 * the answer to a message that belongs to neither. Only a broadcast has to be told apart: these return what its sender
 * gets besides its own copy, and null for anything else.
 */
@Component
class Protocol {
  /** The type in byte 0, then a big-endian u32, the size of the rest, which opens with an i64 of unix nanoseconds. */
  private static final int HEADER_BYTES = 1 + 4;

  private static final int TIME_BYTES = 8;

  private final JsonMapper json;

  Protocol(JsonMapper json) {
    this.json = json;
  }

  TextMessage textResult(TextMessage text) {
    // Plain text is echoed at full speed: an exception for each message would cost more than the echo.
    if (!text.getPayload().startsWith("{")) {
      return null;
    }
    try {
      var message = (ObjectNode) json.readTree(text.getPayload());
      if (!message.path("type").asString("").equals("broadcast")) {
        return null;
      }
      return new TextMessage(json.writeValueAsString(message.put("type", "broadcastResult")));
    } catch (JacksonException exception) {
      return null;
    }
  }

  BinaryMessage binaryResult(BinaryMessage binary) {
    var data = binary.getPayload();
    int size = data.remaining();
    if (size < HEADER_BYTES + TIME_BYTES
        || data.get(0) != 'b'
        || Integer.toUnsignedLong(data.getInt(1)) != size - HEADER_BYTES) {
      return null;
    }
    return new BinaryMessage(ByteBuffer.allocate(size).put(data.duplicate()).flip().put(0, (byte) 'r'));
  }
}
