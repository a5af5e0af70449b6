package throng;

import org.springframework.context.annotation.Configuration;
import org.springframework.web.socket.config.annotation.EnableWebSocket;
import org.springframework.web.socket.config.annotation.WebSocketConfigurer;
import org.springframework.web.socket.config.annotation.WebSocketHandlerRegistry;

@Configuration
@EnableWebSocket
class WebSocketConfiguration implements WebSocketConfigurer {
  private final ClientHandler clients;

  WebSocketConfiguration(ClientHandler clients) {
    this.clients = clients;
  }

  @Override
  public void registerWebSocketHandlers(WebSocketHandlerRegistry registry) {
    // A load generator is no browser and may send any Origin.
    registry.addHandler(clients, "/ws").setAllowedOriginPatterns("*");
  }
}
