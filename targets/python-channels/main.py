"""One Daphne, or WORKERS of them at one port, and the Redis that their channel layer needs."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
BACKLOG = 4096


@contextmanager
def redis_server():
    """A Redis at a unix socket, without persistence, for as long as it is needed."""
    # Beside SOCKET, where the path of a unix socket stays short enough, wherever this folder is.
    near = os.path.dirname(os.environ.get("SOCKET", "")) or None
    with tempfile.TemporaryDirectory(prefix="channels-redis-", dir=near) as folder:
        place = os.path.join(folder, "redis.sock")
        command = ["redis-server", "--port", "0", "--unixsocket", place, "--save", "", "--dir", folder]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as redis:
            try:
                while not os.path.exists(place):
                    if redis.poll() is not None:
                        raise SystemExit(f"redis-server ended with status {redis.returncode}")
                    time.sleep(0.01)
                yield place
            finally:
                redis.terminate()


def start_daphne(listener, redis_socket):
    """Daphne as its documentation starts several under a supervisor: at a socket that is bound already."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "daphne", "--fd", str(listener.fileno()), "--verbosity", "0"),
            *("--websocket_timeout", "-1", "--ping-interval", "0"),
            *("--websocket-max-message-size", str(MESSAGE_BYTES_MAX)),
            *("--websocket-max-frame-size", str(MESSAGE_BYTES_MAX)),
            "benchmark.asgi:application",
        ],
        pass_fds=[listener.fileno()],
        env={**os.environ, "REDIS_SOCKET": redis_socket},
    )


def stop(signum, frame):
    """Leaves main, once: the signal may come twice, also to the process group."""
    signal.signal(signum, signal.SIG_IGN)
    raise SystemExit


def main():
    place = os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "3334"))
    workers = int(os.environ.get("WORKERS", "1"))
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, stop)

    daphnes = []
    with socket.create_server(place, backlog=BACKLOG) as listener, redis_server() as redis_socket:
        try:
            daphnes += (start_daphne(listener, redis_socket) for _ in range(workers))
            os.wait()
            raise SystemExit("one of the processes ended by itself, so all do")
        finally:
            for daphne in daphnes:
                daphne.terminate()
            for daphne in daphnes:
                daphne.wait()


if __name__ == "__main__":
    main()
