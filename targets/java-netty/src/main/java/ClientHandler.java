import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler.HandshakeComplete;

/** Answers clients. Netty's own handlers before this one answer pings, and closes. */
@Sharable
final class ClientHandler extends SimpleChannelInboundHandler<WebSocketFrame> {
  private final Clients clients;

  ClientHandler(Clients clients) {
    this.clients = clients;
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) throws Exception {
    if (event instanceof HandshakeComplete) {
      clients.add(context.channel());
    }
    super.userEventTriggered(context, event);
  }

  @Override
  protected void channelRead0(ChannelHandlerContext context, WebSocketFrame message) {
    ByteBuf result = Protocol.broadcastResult(message);
    if (result == null) {
      context.write(message.retain());
    } else {
      clients.broadcast(message);
      context.write(message.replace(result));
    }
  }

  /** Sends the answers to all that was read at once. */
  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    context.flush();
  }

  /** A client that does not read is not read from. */
  @Override
  public void channelWritabilityChanged(ChannelHandlerContext context) {
    context.channel().config().setAutoRead(context.channel().isWritable());
  }

  /** The connection broke, or the client broke the protocol and has been told so. */
  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    context.close();
  }
}
