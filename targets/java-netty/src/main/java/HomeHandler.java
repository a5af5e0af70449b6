import static io.netty.handler.codec.http.HttpHeaderNames.CONTENT_LENGTH;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;

/** Says that the server is there. */
@Sharable
final class HomeHandler extends SimpleChannelInboundHandler<FullHttpRequest> {
  @Override
  protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
    var found = request.method().equals(HttpMethod.GET) && request.uri().equals("/");
    var status = found ? HttpResponseStatus.OK : HttpResponseStatus.NOT_FOUND;
    var response =
        new DefaultFullHttpResponse(request.protocolVersion(), status, Unpooled.EMPTY_BUFFER);
    response.headers().setInt(CONTENT_LENGTH, 0);
    HttpUtil.setKeepAlive(response, HttpUtil.isKeepAlive(request));
    var sent = context.writeAndFlush(response);
    if (!HttpUtil.isKeepAlive(request)) {
      sent.addListener(ChannelFutureListener.CLOSE);
    }
  }
}
