"""Granian with one worker, or with WORKERS of them and a Redis of their own between them."""

import os
import subprocess
import tempfile
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

from granian import Granian
from granian.constants import Interfaces, Loops
from granian.log import LogLevels

# Granian counts a WebSocket as a request under way, and takes no more of them than this, in each worker.
CLIENTS_MAX = 1 << 20
CLOSE_GRACE_S = 1


@contextmanager
def redis_server():
    """A Redis at a unix socket, without persistence, for as long as it is needed."""
    # Beside SOCKET, where the path of a unix socket stays short enough, wherever this folder is.
    place = os.path.dirname(os.environ.get("SOCKET", "")) or None
    with tempfile.TemporaryDirectory(prefix="granian-redis-", dir=place) as folder:
        socket = os.path.join(folder, "redis.sock")
        command = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as redis:
            try:
                while not os.path.exists(socket):
                    if redis.poll() is not None:
                        raise SystemExit(f"redis-server ended with status {redis.returncode}")
                    time.sleep(0.01)
                os.environ["REDIS_SOCKET"] = socket
                yield
            finally:
                redis.terminate()


def path(variable):
    """The path that an environment variable names, if it is set: Granian wants no string."""
    return Path(os.environ[variable]) if variable in os.environ else None


def main():
    workers = int(os.environ.get("WORKERS", "1"))
    server = Granian(
        "app:app",
        address=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ.get("PORT", "3334")),
        interface=Interfaces.ASGI,
        ssl_cert=path("TLS_CERT"),
        ssl_key=path("TLS_KEY"),
        workers=workers,
        loop=Loops.uvloop,
        backlog=4096,
        backpressure=CLIENTS_MAX,
        log_level=LogLevels.warning,
        workers_kill_timeout=CLOSE_GRACE_S,
    )
    with redis_server() if workers > 1 else nullcontext():
        server.serve()


if __name__ == "__main__":
    main()
