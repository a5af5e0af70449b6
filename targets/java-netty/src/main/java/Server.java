import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.websocketx.WebSocketFrameAggregator;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolConfig;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.File;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;

/** An echo and broadcast server on Netty. */
public final class Server {
  private static final int MESSAGE_BYTES_MAX = 16 << 20;
  private static final int REQUEST_BYTES_MAX = 64 << 10;
  private static final int BACKLOG = 4096;
  private static final WriteBufferWaterMark QUEUE_BYTES =
      new WriteBufferWaterMark(512 << 10, 1 << 20);
  private static final int LOOP_GRACE_MS = 100;

  private final Clients clients = new Clients();
  private final EventLoopGroup acceptor;
  private final EventLoopGroup workers;
  private final Class<? extends ServerChannel> channelType;

  /** Null: connections are in the clear. */
  private final SslContext tls;

  public static void main(String[] args) throws InterruptedException, SSLException {
    var environment = System.getenv();
    var host = environment.getOrDefault("HOST", "127.0.0.1");
    var port = Integer.parseInt(environment.getOrDefault("PORT", "3334"));

    var server = new Server(tls(environment.get("TLS_CERT"), environment.get("TLS_KEY")));
    server.listen(new InetSocketAddress(host, port));
    Runtime.getRuntime().addShutdownHook(new Thread(server::stop));
  }

  private Server(SslContext tls) {
    this.tls = tls;
    IoHandlerFactory io =
        Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
    channelType =
        Epoll.isAvailable() ? EpollServerSocketChannel.class : NioServerSocketChannel.class;
    acceptor = new MultiThreadIoEventLoopGroup(1, io);
    workers = new MultiThreadIoEventLoopGroup(io);
  }

  /** What to speak TLS with, or null if there is no certificate. */
  private static SslContext tls(String certificate, String key) throws SSLException {
    if (certificate == null) {
      return null;
    }
    return SslContextBuilder.forServer(new File(certificate), new File(key)).build();
  }

  private void listen(InetSocketAddress address) throws InterruptedException {
    new ServerBootstrap()
        .group(acceptor, workers)
        .channel(channelType)
        .option(ChannelOption.SO_BACKLOG, BACKLOG)
        .option(ChannelOption.SO_REUSEADDR, true)
        .childOption(ChannelOption.TCP_NODELAY, true)
        .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, QUEUE_BYTES)
        .childHandler(new Pipeline())
        .bind(address)
        .sync();
  }

  /** Says goodbye to every client and stops. */
  private void stop() {
    acceptor.shutdownGracefully(0, LOOP_GRACE_MS, TimeUnit.MILLISECONDS);
    clients.closeAll();
    workers
        .shutdownGracefully(0, LOOP_GRACE_MS, TimeUnit.MILLISECONDS)
        .awaitUninterruptibly(LOOP_GRACE_MS);
  }

  /** What a new connection goes through. */
  private final class Pipeline extends ChannelInitializer<Channel> {
    private final WebSocketServerProtocolConfig webSocket =
        WebSocketServerProtocolConfig.newBuilder()
            .websocketPath("/ws")
            .maxFramePayloadLength(MESSAGE_BYTES_MAX)
            .build();
    private final ClientHandler client = new ClientHandler(clients);
    private final HomeHandler home = new HomeHandler();

    @Override
    protected void initChannel(Channel channel) {
      if (tls != null) {
        channel.pipeline().addLast(tls.newHandler(channel.alloc()));
      }
      channel
          .pipeline()
          .addLast(new HttpServerCodec())
          .addLast(new HttpObjectAggregator(REQUEST_BYTES_MAX))
          .addLast(new WebSocketServerProtocolHandler(webSocket))
          .addLast(new WebSocketFrameAggregator(MESSAGE_BYTES_MAX))
          .addLast(client)
          .addLast(home);
    }
  }
}
