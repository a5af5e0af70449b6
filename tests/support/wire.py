"""A link between two network namespaces that loses packets, or carries only so many bits a second.

    wire.py NAMESPACE_A NAMESPACE_B LOSS_PERCENT MBITS_PER_S

Each namespace gets an interface `wire`, 10.78.0.1 and 10.78.0.2, whose driver is told the speed (0: none). Says "up" when it
carries packets, and ends with its standard input."""

import array
import collections
import fcntl
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN_NO_PI = 0x400454CA, 0x1001
SIOCETHTOOL, ETHTOOL_GSET, ETHTOOL_SSET = 0x8946, 1, 2
QUEUE_MAX = 100  # packets that wait; more are lost, as on any link
SEED = 7


def open_end(name, mbits_per_s):
    """The interface in this process's own namespace, with its descriptor."""
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN_NO_PI))
    if mbits_per_s:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
            settings = array.array("B", struct.pack("I", ETHTOOL_GSET) + bytes(40))
            request = struct.pack("16sP16x", name.encode(), settings.buffer_info()[0])
            fcntl.ioctl(asked, SIOCETHTOOL, request)
            struct.pack_into("I", settings, 0, ETHTOOL_SSET)
            struct.pack_into("H", settings, 12, mbits_per_s)
            fcntl.ioctl(asked, SIOCETHTOOL, request)
    return end


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def move(name, namespace, address):
    ip("link", "set", name, "netns", namespace)
    ip("-n", namespace, "link", "set", name, "name", "wire")
    ip("-n", namespace, "address", "add", f"{address}/24", "dev", "wire")
    ip("-n", namespace, "link", "set", "wire", "up")


def carry(ends, loss, bits_per_s):
    """Until standard input ends."""
    chance = random.Random(SEED)
    waiting = {end: collections.deque() for end in ends}  # by where they go
    free_at = dict.fromkeys(ends, 0.0)
    other = dict(zip(ends, reversed(ends)))
    while True:
        now = time.monotonic()
        due = [queue[0][0] for queue in waiting.values() if queue]
        timeout = max(0.0, min(due) - now) if due else None
        ready, _, _ = select.select([*ends, sys.stdin], [], [], timeout)
        if sys.stdin in ready:
            return
        now = time.monotonic()
        for end in set(ready):
            packet = os.read(end, 65536)
            to = other[end]
            if chance.random() < loss or len(waiting[to]) >= QUEUE_MAX:
                continue
            takes = len(packet) * 8 / bits_per_s if bits_per_s else 0.0
            free_at[to] = max(now, free_at[to]) + takes
            waiting[to].append((free_at[to], packet))
        for end, queue in waiting.items():
            while queue and queue[0][0] <= now:
                os.write(end, queue.popleft()[1])


def main():
    namespaces, loss, mbits_per_s = sys.argv[1:3], float(sys.argv[3]) / 100, int(sys.argv[4])
    names = [f"wire{os.getpid()}{letter}" for letter in "ab"]
    ends = [open_end(name, mbits_per_s) for name in names]
    for number, (name, namespace) in enumerate(zip(names, namespaces), 1):
        move(name, namespace, f"10.78.0.{number}")
    print("up", flush=True)
    carry(ends, loss, mbits_per_s * 1e6)


main()
