"""An echo and broadcast server on aiohttp."""

import asyncio
import os
import ssl
import weakref

import uvloop
from aiohttp import WSCloseCode, WSMsgType, web

from protocol import broadcast_result

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
CLOSE_GRACE_S = 1

CLIENTS = web.AppKey("clients", weakref.WeakSet)

routes = web.RouteTableDef()


@routes.get("/")
async def root(request):
    return web.Response()


@routes.get("/ws")
async def serve(request):
    """Answers one client until it leaves."""
    client = web.WebSocketResponse(compress=False, max_msg_size=MESSAGE_BYTES_MAX)
    await client.prepare(request)
    clients = request.app[CLIENTS]
    clients.add(client)
    try:
        async for event in client:
            if event.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                break  # The connection broke, or the client broke the protocol and was told.
            result = broadcast_result(event.data)
            if result is not None:
                await broadcast(clients, event.data)
            await send(client, event.data if result is None else result)
    except ConnectionError:
        pass  # It left while it was being answered.
    finally:
        clients.discard(client)
    return client


async def broadcast(clients, message):
    # Others may come and go while a slow client is waited for.
    for client in list(clients):
        try:
            await send(client, message)
        except ConnectionError:
            pass  # It left; its own handler takes it away.


async def send(client, message):
    await (client.send_str(message) if isinstance(message, str) else client.send_bytes(message))


async def say_goodbye(app):
    """Closes the connections, as aiohttp's documentation has it: nothing else ends their handlers."""
    goodbyes = [client.close(code=WSCloseCode.GOING_AWAY) for client in list(app[CLIENTS])]
    await asyncio.gather(*goodbyes, return_exceptions=True)


def build_app():
    app = web.Application()
    app[CLIENTS] = weakref.WeakSet()
    app.add_routes(routes)
    app.on_shutdown.append(say_goodbye)
    return app


def tls():
    """What to speak TLS with, if there is a certificate."""
    if "TLS_CERT" not in os.environ:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(os.environ["TLS_CERT"], os.environ["TLS_KEY"])
    return context


if __name__ == "__main__":
    web.run_app(
        build_app(),
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ.get("PORT", "3334")),
        ssl_context=tls(),
        backlog=4096,
        access_log=None,
        print=None,
        shutdown_timeout=CLOSE_GRACE_S,
        loop=uvloop.new_event_loop(),
    )
