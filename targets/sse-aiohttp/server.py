"""Event streams on aiohttp."""

import asyncio
import collections
import os

import uvloop
from aiohttp import web

EVENTS = 100
GAP_S = 0.01

rooms = collections.defaultdict(set)
routes = web.RouteTableDef()


@routes.get("/")
async def root(request):
    return web.Response()


async def open_stream(request):
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    return response


@routes.get("/events")
async def events(request):
    """Writes to one client what is published in its room, until it leaves."""
    queue, room = asyncio.Queue(), rooms[request.query["room"]]
    # Before the head goes out: a client that is connected hears all that is published.
    room.add(queue)
    try:
        response = await open_stream(request)
        while True:
            await response.write(await queue.get())
    except ConnectionError:
        pass  # It left while it was written to.
    finally:
        room.discard(queue)


@routes.post("/publish/{room}")
async def publish(request):
    event = b"data: %s\n\n" % await request.read()
    for queue in rooms[request.match_info["room"]]:
        queue.put_nowait(event)
    return web.Response(status=204)


@routes.get("/stream")
async def stream(request):
    """An answer of EVENTS events, each when it is due."""
    response = await open_stream(request)
    clock = asyncio.get_running_loop().time
    start = clock()
    for n in range(EVENTS):
        await asyncio.sleep(start + n * GAP_S - clock())
        await response.write(b'data: {"n":%d}\n\n' % n)
    await response.write(b"data: [DONE]\n\n")
    return response


if __name__ == "__main__":
    app = web.Application()
    app.add_routes(routes)
    web.run_app(
        app,
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ.get("PORT", "3334")),
        backlog=4096,
        access_log=None,
        print=None,
        keepalive_timeout=3600,
        shutdown_timeout=1,
        handler_cancellation=True,
        loop=uvloop.new_event_loop(),
    )
