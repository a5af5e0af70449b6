import org.eclipse.jetty.http.HttpMethod;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/** Says that the server is there. */
final class Home extends Handler.Abstract.NonBlocking {
  @Override
  public boolean handle(Request request, Response response, Callback callback) {
    if (!HttpMethod.GET.is(request.getMethod()) || !Request.getPathInContext(request).equals("/")) {
      return false;
    }
    callback.succeeded();
    return true;
  }
}
