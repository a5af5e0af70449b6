"""An echo server on the package websockets: `server.py PORT OPTIONS`, OPTIONS a JSON object of serve()'s own."""

import asyncio
import json
import sys

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed


async def echo(connection):
    try:
        async for message in connection:
            await connection.send(message)
    except ConnectionClosed:
        pass


async def main():
    options = json.loads(sys.argv[2])
    async with serve(echo, "127.0.0.1", int(sys.argv[1]), **options) as server:
        await server.serve_forever()


asyncio.run(main())
