package throng;

import io.quarkus.runtime.ShutdownDelayInitiatedEvent;
import io.quarkus.websockets.next.CloseReason;
import io.quarkus.websockets.next.OpenConnections;
import io.smallrye.mutiny.Uni;
import io.vertx.ext.web.Router;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.time.Duration;

/** What is not a client's. */
@ApplicationScoped
class Server {
  private static final Duration CLOSE_GRACE = Duration.ofMillis(800);
  private static final CloseReason GOING_AWAY = new CloseReason(1001);

  private final OpenConnections clients;

  Server(OpenConnections clients) {
    this.clients = clients;
  }

  /** Says that the server is there. */
  void routes(@Observes Router router) {
    router.get("/").handler(context -> context.response().end());
  }

  /**
   * Says goodbye to every client and waits until they have left, at most as long as the grace. Quarkus' own end comes after
   * the delay that this event opens: it would close the connections with code 1000.
   */
  void closeAll(@Observes ShutdownDelayInitiatedEvent event) {
    var closing = clients.stream().map(client -> client.close(GOING_AWAY)).toList();
    Uni.combine()
        .all()
        .unis(closing)
        .collectFailures()
        .discardItems()
        .ifNoItem()
        .after(CLOSE_GRACE)
        .fail()
        .onFailure()
        .recoverWithNull()
        .await()
        .indefinitely();
  }
}
