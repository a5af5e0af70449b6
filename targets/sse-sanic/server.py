"""Event streams on Sanic."""

import asyncio
import collections
import os

from sanic import Sanic, empty

EVENTS = 100
GAP_S = 0.01

rooms = collections.defaultdict(set)

app = Sanic("throng")
app.config.ACCESS_LOG = False
app.config.MOTD = False
app.config.KEEP_ALIVE_TIMEOUT = 3600
app.config.RESPONSE_TIMEOUT = 3600
app.config.GRACEFUL_SHUTDOWN_TIMEOUT = 1.0


@app.get("/")
async def root(request):
    return empty(status=200)


async def open_stream(request):
    return await request.respond(content_type="text/event-stream", headers={"Cache-Control": "no-cache"})


@app.get("/events")
async def events(request):
    """Writes to one client what is published in its room, until it leaves."""
    queue, room = asyncio.Queue(), rooms[request.args.get("room")]
    # Before the head goes out: a client that is connected hears all that is published.
    room.add(queue)
    try:
        response = await open_stream(request)
        # The head goes out with the first bytes: a comment, so that it does so at once.
        await response.send(":\n\n")
        while True:
            await response.send(await queue.get())
    finally:
        room.discard(queue)


@app.post("/publish/<room>")
async def publish(request, room):
    event = b"data: %s\n\n" % request.body
    for queue in rooms[room]:
        queue.put_nowait(event)
    return empty()


@app.get("/stream")
async def stream(request):
    """An answer of EVENTS events, each when it is due."""
    response = await open_stream(request)
    clock = asyncio.get_running_loop().time
    start = clock()
    for n in range(EVENTS):
        await asyncio.sleep(start + n * GAP_S - clock())
        await response.send('data: {"n":%d}\n\n' % n)
    await response.send("data: [DONE]\n\n")
    await response.eof()


if __name__ == "__main__":
    app.run(
        host=os.environ.get("HOST", "127.0.0.1"),
        port=int(os.environ.get("PORT", "3334")),
        backlog=4096,
        single_process=True,
    )
