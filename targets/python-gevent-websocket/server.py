"""An echo server on gevent-websocket: one process, or PROCESSES of them that share the port."""

import contextlib
import os
import signal
import sys

import gevent
from gevent import socket
from gevent.pywsgi import WSGIServer
from geventwebsocket import WebSocketError
from geventwebsocket.handler import WebSocketHandler

CLOSE_GRACE_S = 1


class Application:
    """Echoes at /ws; says that the server is there at /."""

    def __init__(self):
        self.clients = set()

    def __call__(self, environ, start_response):
        path, websocket = environ["PATH_INFO"], environ.get("wsgi.websocket")
        if path == "/ws" and websocket:
            self.echo(websocket)
        elif path == "/":
            start_response("200 OK", [("Content-Length", "0")])
        else:
            start_response("404 Not Found", [("Content-Length", "0")])
        return []

    def echo(self, websocket):
        """Sends back whatever comes, text or binary, until the client leaves."""
        self.clients.add(websocket)
        try:
            while (message := websocket.receive()) is not None:
                websocket.send(message, binary=not isinstance(message, str))
        except WebSocketError:
            pass  # The connection is gone, or the client broke the protocol and was told.
        finally:
            self.clients.discard(websocket)

    def close_all(self):
        for websocket in list(self.clients):
            gevent.spawn(websocket.close, 1001)


def serve(listener):
    """Serves until SIGTERM or SIGINT, then says goodbye to every client."""
    application = Application()
    server = WSGIServer(listener, application, handler_class=WebSocketHandler, log=None)

    def stop():
        application.close_all()
        server.stop(timeout=CLOSE_GRACE_S)

    for signum in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(signum, stop)
    server.serve_forever(stop_timeout=CLOSE_GRACE_S)


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
    pid = gevent.fork()  # Gives the child an event loop of its own.
    if pid == 0:
        run()
        os._exit(0)
    return pid


def main():
    host = os.environ.get("HOST", "127.0.0.1")
    port = int(os.environ.get("PORT", "3334"))
    processes = int(os.environ.get("PROCESSES", "1"))
    # Bound before the fork, so that every process accepts from the same queue.
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(4096)

    if processes > 1:
        sys.exit(supervise(processes, lambda: serve(listener)))
    else:
        serve(listener)


if __name__ == "__main__":
    main()
