"""python -m unittest tests/autobahn/test_ports.py"""

import socket
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import run


class Ports(unittest.TestCase):
    def test_free_port_is_given_to_no_connection(self):
        lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        if lowest < run.PORTS.stop:
            self.skipTest(f"this machine gives connections the ports from {lowest:,} on")
        port = run.free_port()
        self.assertLess(port, lowest)
        with socket.create_server(("127.0.0.1", port)):
            pass


if __name__ == "__main__":
    unittest.main()
