import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;

/**
 * websocket-bench's two message forms. An echo needs no decoding: in both, its answer is the message itself, and so is
 * the answer to a message that belongs to neither. Only a broadcast has to be told apart: these return what its sender
 * gets besides its own copy, and null for anything else.
 */
final class Protocol {
  /** The type in byte 0, then a big-endian u32, the size of the rest, which opens with an i64 of unix nanoseconds. */
  private static final int HEADER_BYTES = 1 + 4;

  private static final int TIME_BYTES = 8;

  private Protocol() {}

  static String textResult(String text) {
    // Plain text is echoed at full speed: an exception for each message would cost more than the echo.
    if (!text.startsWith("{")) {
      return null;
    }
    try {
      var message = new JsonObject(text);
      if (!"broadcast".equals(message.getValue("type"))) {
        return null;
      }
      return message.put("type", "broadcastResult").encode();
    } catch (DecodeException exception) {
      return null;
    }
  }

  static Buffer binaryResult(Buffer data) {
    if (data.length() < HEADER_BYTES + TIME_BYTES
        || data.getByte(0) != 'b'
        || data.getUnsignedInt(1) != data.length() - HEADER_BYTES) {
      return null;
    }
    return data.copy().setByte(0, (byte) 'r');
  }
}
