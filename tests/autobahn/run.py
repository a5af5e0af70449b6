#!/usr/bin/env python3
"""Run the Autobahn testsuite against throng, as server and as client.

    run.py [--quick] [--built] [--role server|client]

The whole suite is 517 cases for each role and takes a quarter of an hour; --quick leaves out the performance cases
(9) and all but a sample of the compression cases (12, 13): 307 cases, half a minute. The suite is fetched from PyPI
and ported to Python 3 once, under the build directory. --built takes throng's programs as they are. Exit status: 0 if
every case passed (see summarize.py), 1 if not, 2 if the suite could not be run.
"""

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import summarize

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECIPE = [HERE / "requirements.txt", HERE / "sdists.txt", HERE / "port_py3.py"]

SAMPLE = [f"{group}.{part}.{case}" for group, parts in ((12, 5), (13, 7)) for part in range(1, parts + 1)
          for case in range(1, 6)]
QUICK_CASES = [f"{group}.*" for group in (1, 2, 3, 4, 5, 6, 7, 10)] + SAMPLE
CASE_COUNTS = {"full": 517, "quick": 307}
TIMEOUT_S = {"full": 2700, "quick": 900}
# It imports half of Twisted first, with less priority than the tests beside it.
LISTEN_TIMEOUT_S = 120
# Below those that the kernel gives to connections (`ip_local_port_range`): the tests beside it open thousands before the
# suite's server has its port. Their own servers begin at 24,000 (tests/support/mod.rs).
PORTS = range(20_000, 24_000)


class Unrunnable(Exception):
    """The suite could not be run; says what was tried, and what to do."""


@dataclass
class Binaries:
    python: Path
    throng: Path
    client: Path


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the Autobahn testsuite against throng, in both roles.")
    parser.add_argument("--quick", action="store_true", help="307 cases for each role, without the slow ones")
    parser.add_argument("--built", action="store_true", help="do not build throng first")
    parser.add_argument("--role", choices=list(ROLES), help="test this role only")
    args = parser.parse_args()
    extent = "quick" if args.quick else "full"
    try:
        target = target_directory()
        binaries = Binaries(prepare_suite(target / "autobahn"), *throng(target, args.quick, args.built))
        roles = [args.role] if args.role else list(ROLES)
        # At once: the suite is one busy Python process for each role, and throng has little to do.
        with ThreadPoolExecutor(len(roles)) as pool:
            reports = target / "autobahn" / extent
            verdicts = list(pool.map(lambda role: run_role(role, binaries, reports / role, extent), roles))
    except Unrunnable as error:
        print(f"autobahn: {error}", file=sys.stderr)
        return 2
    print(f"reports: {', '.join(str(reports / role / 'index.html') for role in roles)}")
    return summarize.report(verdicts)


def run_role(role: str, binaries: Binaries, report: Path, extent: str) -> summarize.Verdict:
    """Runs the cases against throng in that role, and judges the report."""
    shutil.rmtree(report, ignore_errors=True)
    report.mkdir(parents=True)
    spec = {"outdir": str(report), "cases": ["*"] if extent == "full" else QUICK_CASES}
    started = time.monotonic()
    ROLES[role](binaries, report, spec, TIMEOUT_S[extent])
    print(f"{role}: {extent} suite took {time.monotonic() - started:.0f} s")
    return summarize.judge(report, CASE_COUNTS[extent])


def run_server(binaries: Binaries, report: Path, spec: dict, timeout_s: float) -> None:
    """The suite's fuzzing client against `throng serve`."""
    port = free_port()
    url = f"ws://127.0.0.1:{port}"
    suite = suite_command(binaries, report, "fuzzingclient", {**spec, "servers": [{"agent": "throng", "url": url}]})
    serve = [binaries.throng, "serve", "--compress", "--listen", f"127.0.0.1:{port}"]
    with Process(serve, report / "throng.log") as server:
        server.wait_until_listening(port)
        with Process(suite, report / "suite.log") as process:
            process.wait(timeout_s)


def run_client(binaries: Binaries, report: Path, spec: dict, timeout_s: float) -> None:
    """Our client's codec against the suite's fuzzing server."""
    port = free_port()
    url = f"ws://127.0.0.1:{port}"
    suite = suite_command(binaries, report, "fuzzingserver", {**spec, "url": url, "webport": 0})
    with Process(suite, report / "suite.log") as server:
        server.wait_until_listening(port)
        with Process([binaries.client, f"127.0.0.1:{port}", "throng"], report / "throng.log") as process:
            process.wait(timeout_s)


ROLES = {"server": run_server, "client": run_client}


def suite_command(binaries: Binaries, report: Path, mode: str, spec: dict) -> list:
    path = report / "spec.json"
    path.write_text(json.dumps(spec))
    return [binaries.python, "-W", "ignore", "-m", "autobahntestsuite", mode, path]


def target_directory() -> Path:
    command = ["cargo", "metadata", "--no-deps", "--format-version=1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise Unrunnable(f"{' '.join(command)}: {last_line(done.stderr)}")
    return Path(json.loads(done.stdout)["target_directory"])


def throng(target: Path, is_quick: bool, is_built: bool) -> tuple[Path, Path]:
    """The server and the client driver. For the quick cases as the tests have them: with the features that tests ask for."""
    profile, directory = (["--bins", "--tests"], "debug") if is_quick else (["--release"], "release")
    if not is_built:
        must_run(["cargo", "build", "--workspace", "--locked", *profile], cwd=ROOT)
    return target / directory / "throng", target / directory / "throng-autobahn"


def prepare_suite(home: Path) -> Path:
    """Fetches and ports the suite unless that has been done from this recipe; the interpreter that runs it."""
    recipe = hashlib.sha256(b"".join(path.read_bytes() for path in RECIPE)).hexdigest()
    environment, stamp = home / "venv", home / "recipe"
    python = environment / "bin" / "python"
    if stamp.exists() and stamp.read_text() == recipe:
        return python
    if sys.version_info >= (3, 13):
        raise Unrunnable("Python 3.11 or 3.12 is needed, whose lib2to3 ports the suite: run me with python3.11")
    print("fetching and porting the Autobahn testsuite")
    shutil.rmtree(home, ignore_errors=True)
    venv.create(environment, with_pip=True)
    pip, requirements, sdists, port = [python, "-m", "pip", "--quiet"], *RECIPE
    must_run([*pip, "install", "--require-hashes", "-r", requirements])
    must_run([*pip, "download", "--no-deps", "--no-binary", ":all:", "--require-hashes", "-r", sdists, "-d", home / "sdists"])
    site = subprocess.check_output([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True)
    must_run([python, port, home / "sdists", site.strip()])
    stamp.write_text(recipe)
    return python


def must_run(command: list, cwd: Path | None = None) -> None:
    words = [str(word) for word in command]
    if subprocess.run(words, cwd=cwd, stdin=subprocess.DEVNULL).returncode != 0:
        raise Unrunnable(f"{' '.join(words)} failed")


class Process:
    """A process in its own group, logging to a file, gone when the block ends, whatever happens."""

    def __init__(self, command: list, log: Path):
        self.log = log
        with log.open("wb") as output:
            self.child = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()

    def wait(self, timeout_s: float) -> None:
        """Until it ends by itself, which is an error unless it succeeds in time."""
        try:
            status = self.child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise self.trouble(f"not done after {timeout_s} s") from None
        if status != 0:
            raise self.trouble(f"exit status {status}")

    def wait_until_listening(self, port: int) -> None:
        deadline = time.monotonic() + LISTEN_TIMEOUT_S
        while time.monotonic() < deadline and self.child.poll() is None:
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                return
            time.sleep(0.05)
        raise self.trouble(f"nothing listens on port {port}")

    def trouble(self, what: str) -> Unrunnable:
        return Unrunnable(f"{what}; the last line of {self.log}: {last_line(self.log.read_text(errors='replace'))}")


def free_port() -> int:
    for port in random.sample(PORTS, len(PORTS)):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise Unrunnable(f"no port of {PORTS.start} to {PORTS.stop} is free")


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["(nothing)"])[-1]


if __name__ == "__main__":
    sys.exit(main())
