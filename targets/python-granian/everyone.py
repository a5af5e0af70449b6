"""Who is connected, and how a broadcast reaches all of them."""

import asyncio
from contextlib import asynccontextmanager

from redis.asyncio import Redis
from starlette.websockets import WebSocketDisconnect

CHANNEL = "broadcasts"
# Redis carries bytes: the first one says what the others are.
TEXT, BINARY = b"t", b"b"


async def send(client, message):
    await (client.send_text(message) if isinstance(message, str) else client.send_bytes(message))


class Everyone:
    """The clients of this process, and of no other."""

    def __init__(self):
        self.clients = set()

    async def deliver(self, message):
        # Others may come and go while a slow client is waited for.
        for client in list(self.clients):
            try:
                await send(client, message)
            except (WebSocketDisconnect, RuntimeError):
                pass  # It left; its own task takes it away.

    async def tell(self, message):
        await self.deliver(message)


class EveryoneEverywhere(Everyone):
    """Those of other processes too: a broadcast goes through Redis, to this process as to the others."""

    def __init__(self, redis):
        super().__init__()
        self.redis = redis

    async def tell(self, message):
        is_text = isinstance(message, str)
        await self.redis.publish(CHANNEL, TEXT + message.encode() if is_text else BINARY + message)

    async def listen(self, subscription):
        async for event in subscription.listen():
            kind, message = event["data"][:1], event["data"][1:]
            await self.deliver(message.decode() if kind == TEXT else message)


@asynccontextmanager
async def connect_everyone(redis_socket):
    """Everyone of this process, or with Redis at a socket, of all its processes."""
    if redis_socket is None:
        yield Everyone()
        return
    async with Redis(unix_socket_path=redis_socket) as redis, redis.pubsub(ignore_subscribe_messages=True) as subscription:
        everyone = EveryoneEverywhere(redis)
        await subscription.subscribe(CHANNEL)
        listening = asyncio.create_task(everyone.listen(subscription))
        yield everyone
        listening.cancel()
