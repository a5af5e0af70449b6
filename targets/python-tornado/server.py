"""An echo server on Tornado: one process, or PROCESSES of them that share the port."""

import asyncio
import contextlib
import os
import signal
import sys

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
    """Runs so many processes and hands them the signal to stop; when one ends by itself, all do, and it is named."""
    children = {fork(run) for _ in range(count)}
    is_stopped = False

    def stop_all(*_):
        nonlocal is_stopped
        is_stopped = True
        for pid in children:
            # A signal may come before the one that was waited for is out of the set.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, stop_all)
    failure = None
    while children:
        pid, status = os.wait()
        children.remove(pid)
        if not is_stopped:
            failure = f"process {pid} ended by itself: {describe(status)}"
        stop_all()
    return failure


def describe(status):
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return f"status {os.WEXITSTATUS(status)}"


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
        sys.exit(supervise(processes, run))
    else:
        run()


if __name__ == "__main__":
    main()
