package throng;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.vertx.core.buffer.Buffer;
import jakarta.inject.Singleton;

/**
 * websocket-bench's two message forms. An echo needs no decoding: in both, its answer is the message itself, and so is
 * the answer to a message that belongs to neither. Only a broadcast has to be told apart: these return what its sender
 * gets besides its own copy, and null for anything else.
 */
@Singleton
class Protocol {
  /** The type in byte 0, then a big-endian u32, the size of the rest, which opens with an i64 of unix nanoseconds. */
  private static final int HEADER_BYTES = 1 + 4;

  private static final int TIME_BYTES = 8;

  private final ObjectMapper json;

  Protocol(ObjectMapper json) {
    this.json = json;
  }

  String textResult(String text) {
    // Plain text is echoed at full speed: an exception for each message would cost more than the echo.
    if (!text.startsWith("{")) {
      return null;
    }
    try {
      var message = (ObjectNode) json.readTree(text);
      if (!message.path("type").asText().equals("broadcast")) {
        return null;
      }
      return json.writeValueAsString(message.put("type", "broadcastResult"));
    } catch (JsonProcessingException exception) {
      return null;
    }
  }

  Buffer binaryResult(Buffer data) {
    if (data.length() < HEADER_BYTES + TIME_BYTES
        || data.getByte(0) != 'b'
        || data.getUnsignedInt(1) != data.length() - HEADER_BYTES) {
      return null;
    }
    return data.copy().setByte(0, (byte) 'r');
  }
}
