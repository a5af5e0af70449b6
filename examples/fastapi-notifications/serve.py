"""Starts the app, and a Redis of its own unless REDIS_URL names another."""

import os
import subprocess
import tempfile

import uvicorn


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        broker = None
        if "REDIS_URL" not in os.environ:
            socket = f"{folder}/redis.sock"
            broker = subprocess.Popen(
                ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder],
                stdout=subprocess.DEVNULL,
            )
            os.environ["REDIS_URL"] = f"unix://{socket}"
        try:
            uvicorn.run("main:app", host="127.0.0.1", port=int(os.environ.get("PORT", "3341")), log_level="warning")
        finally:
            if broker:
                broker.terminate()
                broker.wait()


if __name__ == "__main__":
    main()
