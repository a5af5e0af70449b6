"""A benchmark server on sockjs-tornado: the benchmark at /sockjs, and at /broadcast the example of the library."""

import asyncio
import json
import os
import signal

from sockjs.tornado import SockJSConnection, SockJSRouter
from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler

CLOSE_GRACE_S = 1


class Home(RequestHandler):
    """Says that the server is there."""

    def get(self):
        self.set_header("Content-Length", "0")


class Benchmark(SockJSConnection):
    """Answers as websocket-bench's servers do."""

    members = set()

    def on_open(self, request):
        self.members.add(self)

    def on_close(self):
        self.members.discard(self)

    def on_message(self, message):
        result = broadcast_result(message)
        if result is None:
            self.send(message)
            return
        self.broadcast(self.members, message)
        self.send(result)


class Broadcast(SockJSConnection):
    """Sends everything to everyone: what the SockJS test of 2011 measured."""

    members = set()

    def on_open(self, request):
        self.members.add(self)

    def on_close(self):
        self.members.discard(self)

    def on_message(self, message):
        self.broadcast(self.members, message)


def broadcast_result(text):
    """The answer that the sender of a broadcast gets besides its own copy, or None if the message is no broadcast."""
    # Plain text is echoed at full speed: an exception for each message would cost more than the echo.
    if not text.startswith("{"):
        return None
    try:
        message = json.loads(text)
    except ValueError:
        return None
    if message.get("type") != "broadcast":
        return None
    return json.dumps({"type": "broadcastResult", "payload": message.get("payload")}, separators=(",", ":"))


async def main():
    routers = [SockJSRouter(Benchmark, "/sockjs"), SockJSRouter(Broadcast, "/broadcast")]
    urls = [url for router in routers for url in router.urls]
    server = HTTPServer(Application([("/", Home), *urls]))
    server.listen(int(os.environ.get("PORT", "3337")), os.environ.get("HOST", "127.0.0.1"), backlog=4096)

    stopped = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stopped.set)
    await stopped.wait()
    server.stop()
    for connection in [*Benchmark.members, *Broadcast.members]:
        connection.close(1001, "Going away")
    try:
        await asyncio.wait_for(server.close_all_connections(), CLOSE_GRACE_S)
    except asyncio.TimeoutError:
        pass


if __name__ == "__main__":
    asyncio.run(main())
