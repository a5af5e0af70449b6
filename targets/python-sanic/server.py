"""An echo and broadcast server on Sanic."""

import asyncio
import logging
import os
import ssl

from sanic import Sanic, empty
from sanic.exceptions import WebsocketClosed
from websockets.exceptions import ConnectionClosed

from protocol import broadcast_result

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
CLOSE_GRACE_S = 1.0

app = Sanic("throng")
app.config.ACCESS_LOG = False
app.config.MOTD = False
app.config.WEBSOCKET_MAX_SIZE = MESSAGE_BYTES_MAX
app.config.WEBSOCKET_PING_INTERVAL = None
app.config.GRACEFUL_SHUTDOWN_TIMEOUT = CLOSE_GRACE_S
app.ctx.clients = set()
# It would tell of each connection that ends.
logging.getLogger("sanic.websockets").setLevel(logging.WARNING)


@app.get("/")
async def root(request):
    return empty(status=200)


@app.websocket("/ws")
async def serve(request, client):
    """Answers one client until it leaves."""
    clients = request.app.ctx.clients
    clients.add(client)
    try:
        async for message in client:
            result = broadcast_result(message)
            if result is not None:
                await broadcast(clients, message)
            await client.send(message if result is None else result)
    finally:
        clients.discard(client)


async def broadcast(clients, message):
    # Others may come and go while a slow client is waited for.
    for client in list(clients):
        try:
            await client.send(message)
        except (ConnectionClosed, WebsocketClosed):
            pass  # It left; its own handler takes it away.


@app.before_server_stop
async def say_goodbye(app):
    await asyncio.gather(*(client.close(1001) for client in list(app.ctx.clients)), return_exceptions=True)


def tls():
    """What to speak TLS with, if there is a certificate."""
    if "TLS_CERT" not in os.environ:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(os.environ["TLS_CERT"], os.environ["TLS_KEY"])
    return context


if __name__ == "__main__":
    app.run(
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ.get("PORT", "3334")),
        ssl=tls(),
        backlog=4096,
        single_process=True,
    )
