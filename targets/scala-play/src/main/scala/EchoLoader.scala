import org.apache.pekko.stream.scaladsl.Flow
import play.api.ApplicationLoader.Context
import play.api.http.websocket.{BinaryMessage, Message, TextMessage}
import play.api.mvc.{Handler, Results, WebSocket}
import play.api.routing.Router
import play.api.routing.sird._
import play.api.{Application, ApplicationLoader, BuiltInComponentsFromContext, NoHttpFiltersComponents}

/** An echo server on Play, put together without injection. */
class EchoLoader extends ApplicationLoader {
  override def load(context: Context): Application = new EchoComponents(context).application
}

private class EchoComponents(context: Context)
    extends BuiltInComponentsFromContext(context)
    with NoHttpFiltersComponents {

  override lazy val router: Router = Router.from {
    case GET(p"/")   => defaultActionBuilder(Results.Ok(""))
    case GET(p"/ws") => echo
  }

  /** Sends back whatever comes, text or binary. Play itself answers pings, and closes. */
  private def echo: Handler = WebSocket.accept[Message, Message] { _ =>
    Flow[Message].collect {
      case text: TextMessage   => text
      case data: BinaryMessage => data
    }
  }
}
