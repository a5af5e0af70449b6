"""Echoes, and broadcasts through the channel layer."""

from channels.generic.websocket import AsyncWebsocketConsumer

from benchmark.protocol import broadcast_result

EVERYONE = "everyone"


class BenchmarkConsumer(AsyncWebsocketConsumer):
    """One client, which is in the group of everyone as long as it is here."""

    groups = [EVERYONE]

    async def receive(self, text_data=None, bytes_data=None):
        message = bytes_data if text_data is None else text_data
        result = broadcast_result(message)
        if result is not None:
            await self.channel_layer.group_send(EVERYONE, {"type": "everyone.told", "message": message})
        await self.answer(message if result is None else result)

    async def everyone_told(self, event):
        """Somebody's broadcast, from the channel layer."""
        await self.answer(event["message"])

    async def answer(self, message):
        await (self.send(text_data=message) if isinstance(message, str) else self.send(bytes_data=message))
