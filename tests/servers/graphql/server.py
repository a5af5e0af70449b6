"""GraphQL over WebSocket on strawberry: `python server.py PORT`. The same two APIs as server.js."""

import asyncio
import sys
from collections import defaultdict
from collections.abc import AsyncGenerator

import strawberry
import uvicorn
from strawberry.asgi import GraphQL
from strawberry.scalars import JSON

LISTENERS: dict[str, set[asyncio.Queue]] = defaultdict(set)
LINES = iter(range(1, sys.maxsize))


@strawberry.type
class Line:
    id: strawberry.ID
    room: str
    text: str


def publish(topic, value):
    for queue in LISTENERS[topic]:
        queue.put_nowait(value)


async def listen(topic):
    queue = asyncio.Queue()
    LISTENERS[topic].add(queue)
    try:
        while True:
            yield await queue.get()
    finally:
        LISTENERS[topic].discard(queue)


@strawberry.type
class Query:
    hello: str = "world"


@strawberry.type
class Mutation:
    @strawberry.mutation
    async def echo(self, payload: JSON) -> JSON:
        return payload

    @strawberry.mutation
    async def broadcast(self, payload: JSON) -> JSON:
        publish("messages", payload)
        return payload

    @strawberry.mutation
    async def say(self, room: str, text: str) -> strawberry.ID:
        if len(text) > 500:
            raise ValueError("too long")
        line = Line(id=strawberry.ID(str(next(LINES))), room=room, text=text)
        publish(f"said {room}", line)
        return line.id


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def messages(self) -> AsyncGenerator[JSON, None]:
        async for value in listen("messages"):
            yield value

    @strawberry.subscription
    async def said(self, room: str) -> AsyncGenerator[Line, None]:
        async for value in listen(f"said {room}"):
            yield value


APP = GraphQL(strawberry.Schema(Query, Mutation, Subscription))


async def application(scope, receive, send):
    if scope["type"] != "lifespan":
        await APP(scope, receive, send)


if __name__ == "__main__":
    uvicorn.run(application, host="127.0.0.1", port=int(sys.argv[1]), log_level="critical", backlog=1024, lifespan="off")
