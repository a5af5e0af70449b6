"""An echo server on Tornado: one process, or PROCESSES of them that share the port."""

import asyncio
import os
import signal

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler
from tornado.websocket import WebSocketHandler

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
CLOSE_GRACE_S = 1


class Home(RequestHandler):
    """Says that the server is there."""

    def get(self):
        self.set_header("Content-Length", "0")


class Echo(WebSocketHandler):
    """Sends back whatever comes, text or binary."""

    clients = set()

    def check_origin(self, origin):
        return True  # Whoever measures is no browser, and has no origin of ours.

    def open(self):
        self.clients.add(self)

    def on_close(self):
        self.clients.discard(self)

    def on_message(self, message):
        self.write_message(message, binary=isinstance(message, bytes))


async def serve(sockets):
    """Serves until SIGTERM or SIGINT, then says goodbye to every client."""
    stopped = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stopped.set)

    application = Application([("/", Home), ("/ws", Echo)], websocket_max_message_size=MESSAGE_BYTES_MAX)
    server = HTTPServer(application)
    server.add_sockets(sockets)
    await stopped.wait()

    server.stop()
    for client in list(Echo.clients):
        client.close(1001, "Going away")
    try:
        await asyncio.wait_for(server.close_all_connections(), CLOSE_GRACE_S)
    except asyncio.TimeoutError:
        pass


def supervise(count, run):
    """Runs so many processes and hands them the signal to stop; when one ends by itself, all do."""
    children = {fork(run) for _ in range(count)}

    def stop_all(*_):
        for pid in children:
            os.kill(pid, signal.SIGTERM)

    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, stop_all)
    while children:
        pid, _ = os.wait()
        children.remove(pid)
        stop_all()


def fork(run):
    pid = os.fork()
    if pid == 0:
        run()
        os._exit(0)
    return pid


def main():
    host = os.environ.get("HOST", "127.0.0.1")
    port = int(os.environ.get("PORT", "3334"))
    processes = int(os.environ.get("PROCESSES", "1"))
    # Bound before the fork, so that every process accepts from the same queue.
    sockets = bind_sockets(port, host, backlog=4096)

    def run():
        asyncio.run(serve(sockets))

    if processes > 1:
        supervise(processes, run)
    else:
        run()


if __name__ == "__main__":
    main()
