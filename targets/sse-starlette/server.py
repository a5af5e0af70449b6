"""Event streams on Starlette, sse-starlette and Uvicorn."""

import asyncio
import collections
import os

import uvicorn
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

EVENTS = 100
GAP_S = 0.01

rooms = collections.defaultdict(set)


async def root(request):
    return Response()


async def events(request):
    queue, room = asyncio.Queue(), rooms[request.query_params["room"]]

    async def stream():
        try:
            while True:
                yield {"data": await queue.get()}
        finally:
            room.discard(queue)

    # Before the head goes out: a client that is connected hears all that is published.
    room.add(queue)
    return EventSourceResponse(stream(), sep="\n")


async def publish(request):
    data = (await request.body()).decode()
    for queue in rooms[request.path_params["room"]]:
        queue.put_nowait(data)
    return Response(status_code=204)


async def stream(request):
    """An answer of EVENTS events, each when it is due."""

    async def write():
        clock = asyncio.get_running_loop().time
        start = clock()
        for n in range(EVENTS):
            await asyncio.sleep(start + n * GAP_S - clock())
            yield {"data": '{"n":%d}' % n}
        yield {"data": "[DONE]"}

    return EventSourceResponse(write(), sep="\n")


app = Starlette(
    routes=[
        Route("/", root),
        Route("/events", events),
        Route("/publish/{room}", publish, methods=["POST"]),
        Route("/stream", stream),
    ]
)

if __name__ == "__main__":
    uvicorn.run(
        app,
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ.get("PORT", "3334")),
        backlog=4096,
        log_level="warning",
        loop="uvloop",
        http="httptools",
        timeout_keep_alive=3600,
        timeout_graceful_shutdown=1,
    )
