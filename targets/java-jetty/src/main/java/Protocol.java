import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;

/**
 * websocket-bench's two message forms. An echo needs no decoding: in both, its answer is the message itself, and so is
 * the answer to a message that belongs to neither. Only a broadcast has to be told apart: these return what its sender
 * gets besides its own copy, and null for anything else.
 */
final class Protocol {
  /** The type in byte 0, then a big-endian u32, the size of the rest, which opens with an i64 of unix nanoseconds. */
  private static final int HEADER_BYTES = 1 + 4;

  private static final int TIME_BYTES = 8;

  private static final ObjectMapper JSON = new ObjectMapper();

  private Protocol() {}

  static String textResult(String text) {
    // Plain text is echoed at full speed: an exception for each message would cost more than the echo.
    if (!text.startsWith("{")) {
      return null;
    }
    try {
      var message = (ObjectNode) JSON.readTree(text);
      if (!message.path("type").asText().equals("broadcast")) {
        return null;
      }
      return JSON.writeValueAsString(message.put("type", "broadcastResult"));
    } catch (JsonProcessingException exception) {
      return null;
    }
  }

  static ByteBuffer binaryResult(ByteBuffer data) {
    int start = data.position();
    int size = data.remaining();
    if (size < HEADER_BYTES + TIME_BYTES
        || data.get(start) != 'b'
        || Integer.toUnsignedLong(data.getInt(start + 1)) != size - HEADER_BYTES) {
      return null;
    }
    return ByteBuffer.allocate(size).put(data.slice()).flip().put(0, (byte) 'r');
  }
}
