"""An echo server on aiohttp: `aio.py PORT OPTIONS`, OPTIONS a JSON object of WebSocketResponse's own."""

import json
import sys

from aiohttp import WSMsgType, web


async def echo(request):
    socket = web.WebSocketResponse(**json.loads(sys.argv[2]))
    await socket.prepare(request)
    async for message in socket:
        if message.type == WSMsgType.TEXT:
            await socket.send_str(message.data)
        elif message.type == WSMsgType.BINARY:
            await socket.send_bytes(message.data)
    return socket


app = web.Application()
app.router.add_get("/ws", echo)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
