import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.handler.BodyHandler;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** An echo and broadcast server on Vert.x: each event loop runs one of these. */
public final class Server extends VerticleBase {
  private static final int MESSAGE_BYTES_MAX = 16 << 20;
  private static final int BACKLOG = 4096;
  private static final long CLOSE_GRACE_MS = 800;
  private static final long STOP_MS = 1000;

  private WebSockets webSockets;
  private SockJs sockJs;

  public static void main(String[] args) {
    var vertx = Vertx.vertx(new VertxOptions().setPreferNativeTransport(true));
    var instances =
        new DeploymentOptions().setInstances(VertxOptions.DEFAULT_EVENT_LOOP_POOL_SIZE);
    vertx
        .deployVerticle(Server.class, instances)
        .onFailure(
            failure -> {
              failure.printStackTrace();
              System.exit(1);
            });
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(vertx)));
  }

  private static void stop(Vertx vertx) {
    try {
      vertx.close().await(STOP_MS, TimeUnit.MILLISECONDS);
    } catch (TimeoutException ignored) {
      // Whoever has not left by now is dropped with the process.
    }
  }

  @Override
  public Future<?> start() {
    webSockets = new WebSockets(vertx);
    sockJs = new SockJs(vertx);
    var router = Router.router(vertx);
    router.get("/").handler(RoutingContext::end);
    router.get("/ws").handler(webSockets::upgrade);
    router.route("/sockjs/*").handler(BodyHandler.create(false).setBodyLimit(MESSAGE_BYTES_MAX));
    router.route("/sockjs/*").subRouter(sockJs.router());

    var environment = System.getenv();
    var options =
        new HttpServerOptions()
            .setHost(environment.getOrDefault("HOST", "127.0.0.1"))
            .setPort(Integer.parseInt(environment.getOrDefault("PORT", "3334")))
            .setAcceptBacklog(BACKLOG)
            .setMaxWebSocketFrameSize(MESSAGE_BYTES_MAX)
            .setMaxWebSocketMessageSize(MESSAGE_BYTES_MAX)
            .setPerMessageWebSocketCompressionSupported(false);
    return vertx.createHttpServer(options).requestHandler(router).listen();
  }

  /** Says goodbye to every client and waits until they have left, at most as long as the grace. */
  @Override
  public Future<?> stop() {
    sockJs.closeAll();
    return Future.any(webSockets.closeAll(), vertx.timer(CLOSE_GRACE_MS, TimeUnit.MILLISECONDS));
  }
}
