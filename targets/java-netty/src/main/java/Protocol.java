import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.websocketx.BinaryWebSocketFrame;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import java.io.IOException;

/**
 * websocket-bench's two message forms. An echo needs no decoding: in both, its answer is the message itself, and so is
 * the answer to a message that belongs to neither. Only a broadcast has to be told apart.
 */
final class Protocol {
  /**
   * The type in byte 0, then a big-endian u32, the size of the rest, which opens with an i64 of unix nanoseconds.
   */
  private static final int HEADER_BYTES = 1 + 4;

  private static final int TIME_BYTES = 8;

  private static final ObjectMapper JSON = new ObjectMapper();

  private Protocol() {}

  /** What the sender of a broadcast gets besides its own copy, or null if the message is no broadcast. */
  static ByteBuf broadcastResult(WebSocketFrame message) {
    if (message instanceof TextWebSocketFrame) {
      return textResult(message.content());
    }
    return message instanceof BinaryWebSocketFrame ? binaryResult(message.content()) : null;
  }

  private static ByteBuf textResult(ByteBuf text) {
    // Plain text is echoed at full speed: an exception for each message would cost more than the echo.
    if (!text.isReadable() || text.getByte(text.readerIndex()) != '{') {
      return null;
    }
    try {
      JsonNode message = JSON.readTree(ByteBufUtil.getBytes(text));
      if (!message.path("type").asText().equals("broadcast")) {
        return null;
      }
      ((ObjectNode) message).put("type", "broadcastResult");
      return Unpooled.wrappedBuffer(JSON.writeValueAsBytes(message));
    } catch (IOException exception) {
      return null;
    }
  }

  private static ByteBuf binaryResult(ByteBuf data) {
    int start = data.readerIndex();
    int size = data.readableBytes();
    if (size < HEADER_BYTES + TIME_BYTES
        || data.getByte(start) != 'b'
        || data.getUnsignedInt(start + 1) != size - HEADER_BYTES) {
      return null;
    }
    return data.copy().setByte(0, 'r');
  }
}
