"""An echo and broadcast application on Starlette."""

import os
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocketDisconnect

from everyone import connect_everyone, send
from protocol import broadcast_result


async def root(request):
    return Response()


async def serve(client):
    """Answers one client until it leaves."""
    everyone = client.app.state.everyone
    await client.accept()
    everyone.clients.add(client)
    try:
        while True:
            message = await receive(client)
            result = broadcast_result(message)
            if result is not None:
                await everyone.tell(message)
            await send(client, message if result is None else result)
    except (WebSocketDisconnect, RuntimeError):
        pass  # RuntimeError: it left while it was being answered.
    finally:
        everyone.clients.discard(client)


async def receive(client):
    """The next message: `str` for text, `bytes` for binary."""
    event = await client.receive()
    if event["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(event["code"])
    text = event.get("text")
    return event["bytes"] if text is None else text


@asynccontextmanager
async def lifespan(app):
    async with connect_everyone(os.environ.get("REDIS_SOCKET")) as everyone:
        app.state.everyone = everyone
        yield


app = Starlette(routes=[Route("/", root), WebSocketRoute("/ws", serve)], lifespan=lifespan)
