import io.netty.channel.Channel;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.handler.codec.http.websocketx.CloseWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.util.concurrent.ImmediateEventExecutor;

/** The open WebSockets. */
final class Clients {
  private static final long CLOSE_GRACE_MS = 800;

  private final ChannelGroup channels = new DefaultChannelGroup(ImmediateEventExecutor.INSTANCE);

  /** Until the channel closes. */
  void add(Channel channel) {
    channels.add(channel);
  }

  /** Sends the message to everyone; a client that is too far behind is dropped. */
  void broadcast(WebSocketFrame message) {
    for (Channel channel : channels) {
      if (channel.isWritable()) {
        channel.writeAndFlush(message.retainedDuplicate(), channel.voidPromise());
      } else {
        channel.close();
      }
    }
  }

  /** Says goodbye to every client and waits until they have left, at most as long as the grace. */
  void closeAll() {
    channels.writeAndFlush(new CloseWebSocketFrame(WebSocketCloseStatus.ENDPOINT_UNAVAILABLE));
    channels.newCloseFuture().awaitUninterruptibly(CLOSE_GRACE_MS);
  }
}
