"""Servers of targets/ with several processes, of which one ends."""

import subprocess
import sys
import unittest
from pathlib import Path

TARGETS = Path(__file__).resolve().parents[1] / "targets"


class Supervisors(unittest.TestCase):
    def supervise(self, target: str, worker: str) -> subprocess.CompletedProcess:
        script = f"import os, sys, server; sys.exit(server.supervise(2, lambda: {worker}))"
        return subprocess.run([sys.executable, "-B", "-c", script], cwd=TARGETS / target, stderr=subprocess.PIPE, text=True, timeout=60)

    def test_ends_of_processes_are_failures(self):
        for target in ("python-twisted", "pypy-twisted"):
            for worker, why in (("os.kill(os.getpid(), 9)", "signal 9"), ("os._exit(3)", "status 3")):
                ended = self.supervise(target, worker)
                self.assertEqual((ended.returncode, ended.stderr.strip().endswith(why)), (1, True), ended)


if __name__ == "__main__":
    unittest.main()
