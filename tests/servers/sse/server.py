"""Event streams on Starlette and sse-starlette: `python server.py PORT`. GET /events?room=NAME is a stream, POST /publish/NAME tells the
room its body, and GET /told is how many events were given to streams."""

import asyncio
import collections
import sys

import uvicorn
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

rooms = collections.defaultdict(set)
told = 0


async def events(request):
    queue, room = asyncio.Queue(), rooms[request.query_params["room"]]

    async def stream():
        room.add(queue)
        try:
            while True:
                yield {"event": "news", "data": await queue.get()}
        finally:
            room.discard(queue)

    return EventSourceResponse(stream())


async def publish(request):
    global told
    data = (await request.body()).decode()
    for queue in rooms[request.path_params["room"]]:
        told += 1
        queue.put_nowait(data)
    return PlainTextResponse("", status_code=204)


async def count(request):
    return PlainTextResponse(str(told))


app = Starlette(
    routes=[
        Route("/events", events),
        Route("/publish/{room}", publish, methods=["POST"]),
        Route("/told", count),
    ]
)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
