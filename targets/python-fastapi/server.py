"""An echo and broadcast server on FastAPI and Uvicorn."""

import os

import uvicorn
from fastapi import FastAPI, Response, WebSocket, WebSocketDisconnect

from protocol import broadcast_result

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
CLOSE_GRACE_S = 1

app = FastAPI(openapi_url=None)


class ConnectionManager:
    """Who is connected, as FastAPI's own documentation keeps it."""

    def __init__(self):
        self.active = set()

    async def connect(self, client):
        await client.accept()
        self.active.add(client)

    def disconnect(self, client):
        self.active.discard(client)

    async def broadcast(self, message):
        # Others may come and go while a slow client is waited for.
        for client in list(self.active):
            try:
                await send(client, message)
            except (WebSocketDisconnect, RuntimeError):
                pass  # It left; its own task takes it away.


manager = ConnectionManager()


@app.get("/")
async def root():
    return Response()


@app.websocket("/ws")
async def serve(client: WebSocket):
    """Answers one client until it leaves."""
    await manager.connect(client)
    try:
        while True:
            message = await receive(client)
            result = broadcast_result(message)
            if result is not None:
                await manager.broadcast(message)
            await send(client, message if result is None else result)
    except (WebSocketDisconnect, RuntimeError):
        pass  # RuntimeError: it left while it was being answered.
    finally:
        manager.disconnect(client)


async def receive(client):
    """The next message: `str` for text, `bytes` for binary."""
    event = await client.receive()
    if event["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(event["code"])
    text = event.get("text")
    return event["bytes"] if text is None else text


async def send(client, message):
    await (client.send_text(message) if isinstance(message, str) else client.send_bytes(message))


if __name__ == "__main__":
    uvicorn.run(
        app,
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ.get("PORT", "3334")),
        ssl_certfile=os.environ.get("TLS_CERT"),
        ssl_keyfile=os.environ.get("TLS_KEY"),
        backlog=4096,
        log_level="warning",
        loop="uvloop",
        http="httptools",
        ws_max_size=MESSAGE_BYTES_MAX,
        ws_per_message_deflate=False,
        ws_ping_interval=None,
        timeout_graceful_shutdown=CLOSE_GRACE_S,
    )
