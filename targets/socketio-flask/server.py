"""An echo and broadcast server on Flask-SocketIO and gevent."""

from gevent import monkey

monkey.patch_all()  # Before anything that keeps a socket or a lock of its own.

import os
import signal

import gevent
from flask import Flask
from flask_socketio import SocketIO, emit

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
CLOSE_GRACE_S = 1

app = Flask(__name__)
socketio = SocketIO(app, async_mode="gevent", cors_allowed_origins="*", max_http_buffer_size=MESSAGE_BYTES_MAX)


@app.get("/")
def root():
    return ""


@socketio.on("echo")
def handle_echo(payload):
    emit("echo", payload)


@socketio.on("broadcast")
def handle_broadcast(payload):
    emit("broadcast", payload, broadcast=True)
    emit("broadcastResult", payload)


def stop():
    """Closes the sessions, and then the server they came through."""
    for sid, _ in list(socketio.server.manager.get_participants("/", None)):
        socketio.server.disconnect(sid)
    socketio.wsgi_server.stop(timeout=CLOSE_GRACE_S)


if __name__ == "__main__":
    for signum in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(signum, stop)
    socketio.run(
        app,
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ.get("PORT", "3338")),
        backlog=4096,
    )
