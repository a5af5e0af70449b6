"""An echo server or a client with permessage-deflate, on Python's websockets: see peer.js."""

import asyncio
import random
import sys

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory, ServerPerMessageDeflateFactory

ROLE, WHERE, TAKEOVER = sys.argv[1:]
FORGETS = TAKEOVER == "forgotten"
CHOICE = {"server_no_context_takeover": FORGETS, "client_no_context_takeover": FORGETS}


async def echo(connection):
    if not connection.protocol.extensions:
        return await connection.close(1008, "no compression")
    async for message in connection:
        await connection.send(message)


async def run_server():
    factory = ServerPerMessageDeflateFactory(**CHOICE)
    async with serve(echo, "127.0.0.1", int(WHERE), compression=None, extensions=[factory]) as server:
        await server.serve_forever()


async def ask():
    factory = ClientPerMessageDeflateFactory(**CHOICE)
    async with connect(WHERE, compression=None, extensions=[factory]) as connection:
        [extension] = connection.protocol.extensions
        agreed = extension.remote_no_context_takeover, extension.local_no_context_takeover
        assert agreed == (FORGETS, FORGETS), extension
        texts = ["", "Hello", "Hello", "Hello " * 20_000, "Hello", str([random.random() for _ in range(999)])]
        for text in texts * 2:
            await connection.send(text)
            assert await connection.recv() == text
    print("ok")


asyncio.run(run_server() if ROLE == "serve" else ask())
