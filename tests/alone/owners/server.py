"""A server whose time is known: server.py PORT CAUSE [MS].

It sends back what it gets over a WebSocket, and answers HTTP. CAUSE is what it does before each answer:

    fast        nothing
    sleep MS    waits for a timer, each message for one of its own
    queue MS    the same, one message at a time
    spin MS     keeps the CPU
    both MS     waits for a timer for so long, and then keeps the CPU for as long again

Only the standard library: nothing of throng's own is in it.
"""

import asyncio
import base64
import hashlib
import struct
import sys
import time

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3
CLOSE, PING, PONG = 8, 9, 10

port, cause, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3]) / 1e3 if len(sys.argv) > 3 else 0
turn = asyncio.Lock()


async def take_time():
    if cause in ("sleep", "both"):
        await asyncio.sleep(seconds)
    if cause == "queue":
        async with turn:
            await asyncio.sleep(seconds)
    if cause in ("spin", "both"):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass


async def read_frame(reader):
    first, second = await reader.readexactly(2)
    length = second & 0x7F
    if length == 126:
        (length,) = struct.unpack("!H", await reader.readexactly(2))
    elif length == 127:
        (length,) = struct.unpack("!Q", await reader.readexactly(8))
    mask = await reader.readexactly(4)
    masked = await reader.readexactly(length)
    key = (mask * (length // 4 + 1))[:length]
    plain = int.from_bytes(masked, "big") ^ int.from_bytes(key, "big")
    return first & 0x0F, plain.to_bytes(length, "big")


def frame(opcode, payload):
    length = len(payload)
    head = bytes([length]) if length < 126 else b"\x7e" + struct.pack("!H", length)
    return bytes([0x80 | opcode]) + head + payload


async def echo(writer, opcode, payload):
    await take_time()
    writer.write(frame(opcode, payload))


async def serve_websocket(reader, writer):
    waiting = set()
    while True:
        opcode, payload = await read_frame(reader)
        if opcode == CLOSE:
            writer.write(frame(CLOSE, payload[:2]))
            return
        if opcode == PING:
            writer.write(frame(PONG, payload))
        elif opcode != PONG:
            task = asyncio.create_task(echo(writer, opcode, payload))
            waiting.add(task)
            task.add_done_callback(waiting.discard)


async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = [line.partition(b":") for line in head.split(b"\r\n")]
            headers = {name.strip().lower(): value.strip() for name, _, value in lines}
            key = headers.get(b"sec-websocket-key")
            if key:
                accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
                upgrade = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                writer.write(upgrade + b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
                return await serve_websocket(reader, writer)
            await take_time()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


asyncio.run(main())
