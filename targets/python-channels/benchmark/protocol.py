"""websocket-bench's two message forms.

An echo needs no decoding: in both, its answer is the message itself, and so is the answer to a message that belongs to
neither. Only a broadcast has to be told apart.
"""

import json
import struct

# The type in byte 0, then a big-endian u32, the size of the rest, which opens with an i64 of unix nanoseconds.
HEADER = struct.Struct(">cI")
TIME_BYTES = 8


def broadcast_result(message):
    """What the sender of a broadcast gets besides its own copy, or None if the message is no broadcast."""
    return _text_result(message) if isinstance(message, str) else _binary_result(message)


def _text_result(text):
    # Plain text is echoed at full speed: an exception for each message would cost more than the echo.
    if not text.startswith("{"):
        return None
    try:
        message = json.loads(text)
    except ValueError:
        return None
    if message.get("type") != "broadcast":
        return None
    return json.dumps(message | {"type": "broadcastResult"}, separators=(",", ":"))


def _binary_result(data):
    if len(data) < HEADER.size + TIME_BYTES:
        return None
    kind, size = HEADER.unpack_from(data)
    if kind != b"b" or size != len(data) - HEADER.size:
        return None
    return b"r" + data[1:]
