"""Notifications: anybody with the key asks over HTTP to tell a user something, and the user's browsers hear it at once."""

import asyncio
import contextlib
import json
import os
from collections import defaultdict
from pathlib import Path

import jwt
import redis.asyncio as redis
from fastapi import Depends, FastAPI, Header, HTTPException, WebSocket, WebSocketDisconnect
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

JWT_SECRET = os.environ["JWT_SECRET"]
API_KEY = os.environ["API_KEY"]
CHANNEL = "notifications"
PAGE = Path(__file__).with_name("public").joinpath("index.html").read_text()

broker = redis.from_url(os.environ["REDIS_URL"])
browsers: dict[str, set[WebSocket]] = defaultdict(set)
seen: dict[str, int] = defaultdict(int)
told: dict[str, int] = defaultdict(int)


class Notification(BaseModel):
    text: str


async def hand_on() -> None:
    """Hands on what any process has been asked to tell to the browsers that are connected to this one."""
    async with broker.pubsub() as subscription:
        await subscription.subscribe(CHANNEL)
        async for message in subscription.listen():
            if message["type"] == "message":
                user, text = json.loads(message["data"])
                for browser in list(browsers[user]):
                    with contextlib.suppress(RuntimeError, WebSocketDisconnect):
                        await browser.send_json({"type": "notification", "text": text})


@contextlib.asynccontextmanager
async def lifespan(_: FastAPI):
    task = asyncio.create_task(hand_on())
    yield
    task.cancel()


app = FastAPI(lifespan=lifespan)


@app.get("/", response_class=HTMLResponse)
async def page() -> str:
    return PAGE


def authorized(authorization: str = Header()) -> None:
    if authorization != f"Bearer {API_KEY}":
        raise HTTPException(403, "wrong key")


@app.post("/users/{user}/notifications", status_code=202, dependencies=[Depends(authorized)])
async def notify(user: str, notification: Notification) -> dict[str, bool]:
    told[user] += 1
    await broker.publish(CHANNEL, json.dumps([user, notification.text]))
    return {"accepted": True}


@app.websocket("/ws")
async def listen(browser: WebSocket, token: str) -> None:
    try:
        user = jwt.decode(token, JWT_SECRET, algorithms=["HS256"])["sub"]
    except jwt.InvalidTokenError:
        await browser.close(4401)
        return
    await browser.accept()
    browsers[user].add(browser)
    seen[user] += 1
    try:
        while True:
            await browser.receive_text()
    except WebSocketDisconnect:
        browsers[user].discard(browser)


@app.get("/seen")
async def who() -> dict[str, int]:
    return seen


@app.get("/told")
async def how_often() -> dict[str, int]:
    return told
