"""An echo and broadcast server on websockets."""

import asyncio
import os
import signal
import ssl
from http import HTTPStatus

from websockets.asyncio.server import broadcast, serve
from websockets.exceptions import ConnectionClosed

from protocol import broadcast_result

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
CLOSE_GRACE_S = 1

clients = set()


async def handle(client):
    """Answers one client until it leaves."""
    clients.add(client)
    try:
        async for message in client:
            result = broadcast_result(message)
            if result is not None:
                broadcast(clients, message)
            await client.send(message if result is None else result)
    except ConnectionClosed:
        pass  # It left while it was being answered, or broke the protocol and was told.
    finally:
        clients.discard(client)


def answer_request(connection, request):
    """Says that the server is there; None goes on to the handshake."""
    if request.path == "/ws":
        return None
    found = request.path == "/"
    return connection.respond(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND, "")


def tls():
    """What to speak TLS with, if there is a certificate."""
    if "TLS_CERT" not in os.environ:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(os.environ["TLS_CERT"], os.environ["TLS_KEY"])
    return context


async def main():
    stopped = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stopped.set)

    # Leaving it says goodbye to every client.
    async with serve(
        handle,
        os.environ.get("HOST", "127.0.0.1"),
        int(os.environ.get("PORT", "3334")),
        ssl=tls(),
        backlog=4096,
        process_request=answer_request,
        compression=None,
        max_size=MESSAGE_BYTES_MAX,
        ping_interval=None,
        close_timeout=CLOSE_GRACE_S,
    ):
        await stopped.wait()


if __name__ == "__main__":
    asyncio.run(main())
