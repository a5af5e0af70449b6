"""Child processes on a CPU of their own, and what they cost."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

POLL_S = 0.02
LISTEN_TIMEOUT_S = 10


class Failed(Exception):
    """A program did not do what it was started for; says which, and its last words."""


@dataclass(frozen=True)
class Cost:
    """CPU time, user and system, of a whole process, the most memory it ever held resident, and what it wrote to files."""

    cpu_s: float
    peak_bytes: int
    written_bytes: int


class Process:
    """A program pinned to one CPU, in a process group of its own that is gone when the block ends."""

    def __init__(self, argv: list[str], cpu: int, env: dict[str, str] | None = None):
        self.name = os.path.basename(argv[0])
        self.log = tempfile.TemporaryFile()
        self.child = subprocess.Popen(
            ["taskset", "-c", str(cpu), *argv],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})}, start_new_session=True,
        )
        self.peak_bytes = 0
        self.cost: Cost | None = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.cost is None:
            self.kill()
        self.log.close()

    def wait(self, timeout_s: float, done: Callable[[str], bool] | None = None) -> Cost:
        """Until the program ends with success, or is `done` by its output, and then killed."""
        deadline = time.monotonic() + timeout_s
        while not self.ended():
            if done and done(self.output()):
                return self.kill()
            if time.monotonic() > deadline:
                raise self.trouble(f"not done after {timeout_s} s")
            time.sleep(POLL_S)
        if self.child.returncode != 0:
            raise self.trouble(f"exit status {self.child.returncode}")
        return self.cost

    def kill(self) -> Cost:
        """Ends the program and all it started, and reads what it cost."""
        self.observe_memory()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)
        while not self.ended():
            time.sleep(POLL_S)
        return self.cost

    def ended(self) -> bool:
        if self.cost is None:
            self.observe_memory()
            pid, status, usage = os.wait4(self.child.pid, os.WNOHANG)
            if pid != 0:
                self.child.returncode = os.waitstatus_to_exitcode(status)
                # Blocks of 512 bytes, whatever the filesystem's are (getrusage(2)).
                self.cost = Cost(usage.ru_utime + usage.ru_stime, self.peak_bytes, usage.ru_oublock * 512)
        return self.cost is not None

    def observe_memory(self) -> None:
        # Not ru_maxrss: a child inherits this interpreter's own peak, which is above that of a small program.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{self.child.pid}/status") as file:
            if peak := re.search(r"^VmHWM:\s+(\d+) kB", file.read(), re.MULTILINE):
                self.peak_bytes = max(self.peak_bytes, int(peak[1]) * 1024)

    def wait_until_listening(self, port: int) -> None:
        deadline = time.monotonic() + LISTEN_TIMEOUT_S
        while time.monotonic() < deadline and not self.ended():
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                return
            time.sleep(POLL_S)
        raise self.trouble(f"not listening on port {port}")

    def output(self) -> str:
        """What the program has printed so far, both streams."""
        return os.pread(self.log.fileno(), 1 << 24, 0).decode(errors="replace")

    def trouble(self, what: str) -> Failed:
        last = (self.output().strip().splitlines() or ["nothing"])[-1]
        return Failed(f"{self.name}: {what}; it said: {last}")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
