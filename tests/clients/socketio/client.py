"""python-socketio's client against a server: `python client.py URL TRANSPORT`. The server pings every 300 ms.

Says ok if everything was as it should be.
"""

import queue
import sys
import time

import socketio

WAIT_S = 60
TRANSPORTS = {"websocket": ["websocket"], "polling": ["polling"], "upgrade": None}


class Client:
    """A client in one namespace, and what it has heard there."""

    def __init__(self, url, transport, namespace="/", auth=None):
        self.namespace = namespace
        self.heard = {event: queue.Queue() for event in ("auth", "message-back", "broadcast", "broadcastResult")}
        self.client = socketio.Client(reconnection=False)
        for event, heard in self.heard.items():
            self.client.on(event, lambda *values, heard=heard: heard.put(list(values)), namespace=namespace)
        self.client.connect(url, auth=auth, transports=TRANSPORTS[transport], namespaces=[namespace], wait_timeout=WAIT_S)

    def next(self, event):
        return self.heard[event].get(timeout=WAIT_S)

    def exchange(self):
        """What comes back is what was sent, attachments too."""
        values = (1, "2", {"a": [True, None], "b": b"\x01\x02\x03"}, 'é€\U0001f600"\\')
        self.client.emit("message", values, namespace=self.namespace)
        assert self.next("message-back") == list(values)
        answer = self.client.call("message-with-ack", values, namespace=self.namespace, timeout=WAIT_S)
        assert list(answer) == list(values), answer


def main(url, transport):
    first, second = Client(url, transport, auth={"token": "abc"}), Client(url, transport)
    custom = Client(url, transport, "/custom")
    assert [client.next("auth") for client in (first, second, custom)] == [[{"token": "abc"}], [{}], [{}]]
    assert first.client.transport() == ("polling" if transport == "polling" else "websocket"), first.client.transport()
    first.exchange()
    custom.exchange()

    payload = {"text": "to all", "bytes": b"\xff\x00"}
    first.client.emit("broadcast", payload)
    heard = [first.next("broadcast"), second.next("broadcast"), first.next("broadcastResult")]
    assert heard == [[payload]] * 3, heard
    assert custom.heard["broadcast"].empty()

    time.sleep(1)
    first.exchange()
    try:
        Client(url, transport, "/nowhere")
        raise AssertionError("/nowhere was let in")
    except socketio.exceptions.ConnectionError:
        pass
    for client in (first, second, custom):
        client.client.disconnect()
    print("ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
