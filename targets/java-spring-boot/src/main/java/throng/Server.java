package throng;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** An echo and broadcast server on Spring Boot. */
@SpringBootApplication
@RestController
public class Server {
  public static void main(String[] args) {
    SpringApplication.run(Server.class, args);
  }

  /** Says that the server is there. */
  @GetMapping("/")
  void home() {}
}
