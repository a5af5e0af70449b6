"""The server in one process. Importing this makes the reactor."""

from autobahn.twisted.resource import WebSocketResource
from autobahn.twisted.websocket import WebSocketServerFactory, WebSocketServerProtocol
from twisted.internet import reactor
from twisted.internet.defer import DeferredList
from twisted.web.resource import Resource
from twisted.web.server import Site

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
CLOSE_GRACE_S = 1


class Home(Resource):
    """Says that the server is there."""

    def render_GET(self, request):
        return b""


class Echo(WebSocketServerProtocol):
    """Sends back whatever comes, text or binary."""

    clients = set()

    def onOpen(self):
        self.clients.add(self)

    def onClose(self, wasClean, code, reason):
        self.clients.discard(self)

    def onMessage(self, payload, isBinary):
        self.sendMessage(payload, isBinary)


class QuietSite(Site):
    """Keeps no log of requests."""

    def log(self, request):
        pass


def serve(listener):
    """Serves until SIGTERM or SIGINT, then says goodbye to every client."""
    factory = WebSocketServerFactory()
    factory.protocol = Echo
    factory.setProtocolOptions(maxMessagePayloadSize=MESSAGE_BYTES_MAX, closeHandshakeTimeout=CLOSE_GRACE_S)
    factory.startFactory()
    root = Resource()
    root.putChild(b"", Home())
    root.putChild(b"ws", WebSocketResource(factory))

    reactor.adoptStreamPort(listener.fileno(), listener.family, QuietSite(root))
    reactor.addSystemEventTrigger("before", "shutdown", close_all)
    reactor.run()


def close_all():
    clients = list(Echo.clients)
    for client in clients:
        client.sendClose(1000, "Going away")
    return DeferredList([client.is_closed for client in clients])
