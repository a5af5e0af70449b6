"""An echo and broadcast server on python-socketio and Uvicorn."""

import os

import socketio
import uvicorn

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
CLOSE_GRACE_S = 1

sio = socketio.AsyncServer(async_mode="asgi", cors_allowed_origins="*", max_http_buffer_size=MESSAGE_BYTES_MAX)


@sio.event
async def echo(sid, payload):
    await sio.emit("echo", payload, to=sid)


@sio.event
async def broadcast(sid, payload):
    await sio.emit("broadcast", payload)
    await sio.emit("broadcastResult", payload, to=sid)


async def root(scope, receive, send):
    """Plain requests that are not Socket.IO's: says that the server is there."""
    if scope["type"] != "http":
        return
    status = 200 if scope["path"] == "/" else 404
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


app = socketio.ASGIApp(sio, other_asgi_app=root)

if __name__ == "__main__":
    uvicorn.run(
        app,
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ.get("PORT", "3338")),
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
