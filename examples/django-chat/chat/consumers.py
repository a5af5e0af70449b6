import json

from channels.generic.websocket import AsyncWebsocketConsumer

# Who has been in which room, for whoever asks (views.seen).
rooms_of = {}
# How many messages each room has had (views.lines).
lines_of = {}


class ChatConsumer(AsyncWebsocketConsumer):
    async def connect(self):
        user = self.scope["user"]
        if not user.is_authenticated:
            await self.close()
            return
        room_name = self.scope["url_route"]["kwargs"]["room_name"]
        self.room_group_name = f"chat_{room_name}"
        rooms_of.setdefault(user.username, []).append(room_name)
        await self.channel_layer.group_add(self.room_group_name, self.channel_name)
        await self.accept()

    async def disconnect(self, close_code):
        if hasattr(self, "room_group_name"):
            await self.channel_layer.group_discard(self.room_group_name, self.channel_name)

    async def receive(self, text_data=None, bytes_data=None):
        message = json.loads(text_data)["message"]
        lines_of[self.room_group_name] = lines_of.get(self.room_group_name, 0) + 1
        await self.channel_layer.group_send(self.room_group_name, {"type": "chat.message", "message": message})

    async def chat_message(self, event):
        await self.send(text_data=json.dumps({"message": event["message"]}))
