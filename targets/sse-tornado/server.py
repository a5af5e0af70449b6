"""Event streams on Tornado."""

import asyncio
import collections
import os
import signal

from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError
from tornado.web import Application, RequestHandler

EVENTS = 100
GAP_S = 0.01

rooms = collections.defaultdict(set)


class Root(RequestHandler):
    """Says that the server is there."""

    def get(self):
        self.set_header("Content-Length", "0")


class Stream(RequestHandler):
    """An answer of EVENTS events, each when it is due."""

    def prepare(self):
        self.set_header("Content-Type", "text/event-stream")
        self.set_header("Cache-Control", "no-cache")

    async def get(self):
        clock = asyncio.get_running_loop().time
        start = clock()
        try:
            for n in range(EVENTS):
                await asyncio.sleep(start + n * GAP_S - clock())
                self.write('data: {"n":%d}\n\n' % n)
                await self.flush()
            self.finish("data: [DONE]\n\n")
        except StreamClosedError:
            pass  # The client left.


class Events(Stream):
    """Writes to one client what is published in its room, until it leaves."""

    async def get(self):
        self.room, self.left = rooms[self.get_query_argument("room")], asyncio.Event()
        self.room.add(self)
        self.flush()
        await self.left.wait()

    def on_connection_close(self):
        self.room.discard(self)
        self.left.set()


class Publish(RequestHandler):
    """Tells everyone in a room the body."""

    def post(self, room):
        event = b"data: %s\n\n" % self.request.body
        for stream in rooms[room]:
            stream.write(event)
            stream.flush()
        self.set_status(204)


async def main():
    application = Application(
        [("/", Root), ("/events", Events), ("/publish/(.+)", Publish), ("/stream", Stream)]
    )
    server = HTTPServer(application)
    server.listen(int(os.environ.get("PORT", "3334")), os.environ.get("HOST", "127.0.0.1"), backlog=4096)
    stopped = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stopped.set)
    await stopped.wait()


if __name__ == "__main__":
    asyncio.run(main())
