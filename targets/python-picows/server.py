"""An echo and broadcast server on picows."""

import asyncio
import os
import signal
import ssl

import uvloop
from picows import (
    WSCloseCode,
    WSListener,
    WSMsgType,
    WSUpgradeResponse,
    WSUpgradeResponseWithListener,
    ws_create_server,
)

from protocol import broadcast_result

MESSAGE_BYTES_MAX = 16 * 1024 * 1024
CLOSE_GRACE_S = 1

clients = set()


class Client(WSListener):
    """Answers one client. picows hands out frames: messages in several are put together here."""

    def __init__(self):
        super().__init__()
        self.fragments = bytearray()
        self.fragments_type = None

    def on_ws_connected(self, transport):
        self.transport = transport
        clients.add(self)

    def on_ws_disconnected(self, transport):
        clients.discard(self)

    def on_ws_frame(self, transport, frame):
        if frame.msg_type in (WSMsgType.TEXT, WSMsgType.BINARY) and frame.fin:
            self.answer(frame.msg_type, frame.get_payload_as_bytes())
        elif frame.msg_type in (WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.CONTINUATION):
            self.assemble(frame)
        elif frame.msg_type == WSMsgType.CLOSE:
            transport.send_close(frame.get_close_code(), frame.get_close_message())
            transport.disconnect()

    def assemble(self, frame):
        if frame.msg_type != WSMsgType.CONTINUATION:
            self.fragments_type = frame.msg_type
        self.fragments += frame.get_payload_as_memoryview()
        if len(self.fragments) > MESSAGE_BYTES_MAX:
            self.transport.send_close(WSCloseCode.MESSAGE_TOO_BIG)
            self.transport.disconnect()
        elif frame.fin:
            message, self.fragments = bytes(self.fragments), bytearray()
            self.answer(self.fragments_type, message)

    def answer(self, kind, message):
        result = broadcast_result(message, kind == WSMsgType.TEXT)
        if result is not None:
            for client in clients:
                client.transport.send(kind, message)
        self.transport.send(kind, message if result is None else result)

    # Whoever does not read its echoes is not read from.

    def pause_writing(self):
        self.transport.underlying_transport.pause_reading()

    def resume_writing(self):
        self.transport.underlying_transport.resume_reading()


def accept(request):
    """A client for a handshake; to plain requests, whether the server is there."""
    if request.path == b"/ws":
        return Client()
    found = request.path == b"/"
    response = WSUpgradeResponse.create_ok_response() if found else WSUpgradeResponse.create_error_response(404)
    return WSUpgradeResponseWithListener(response, None)


async def say_goodbye():
    """Closes every connection, and waits until they are closed, at most as long as the grace."""
    leaving = [client.transport for client in clients]
    for transport in leaving:
        transport.send_close(WSCloseCode.GOING_AWAY)
    if leaving:
        await asyncio.wait([asyncio.ensure_future(t.wait_disconnected()) for t in leaving], timeout=CLOSE_GRACE_S)


def tls():
    """What to speak TLS with, if there is a certificate."""
    if "TLS_CERT" not in os.environ:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(os.environ["TLS_CERT"], os.environ["TLS_KEY"])
    return context


async def main():
    stopped = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, stopped.set)

    server = await ws_create_server(
        accept,
        os.environ.get("HOST", "127.0.0.1"),
        int(os.environ.get("PORT", "3334")),
        ssl=tls(),
        backlog=4096,
        max_frame_size=MESSAGE_BYTES_MAX,
    )
    await stopped.wait()
    server.close()
    await say_goodbye()


if __name__ == "__main__":
    uvloop.run(main())
