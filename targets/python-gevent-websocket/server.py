"""An echo server on gevent-websocket: one process, or PROCESSES of them that share the port."""

import os
import signal

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
        supervise(processes, lambda: serve(listener))
    else:
        serve(listener)


if __name__ == "__main__":
    main()
