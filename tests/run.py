#!/usr/bin/env python3
"""Builds everything that `make test` needs once, and runs its parts beside each other.

    run.py [--times]

The tests of the whole program wait for seconds of load to pass more than they compute. What needs a CPU and no clock
(unit tests, Autobahn) runs beside them with less priority, except beside those that measure. Each
part prints its output when it ends. A few tests that were too slow run once more when nothing else does: whoever passes
then is named as flaky, with what it said first. What failed otherwise has failed. --times adds the slowest tests. The last
line counts the tests; exit status 1 if anything failed.
"""

import contextlib
import json
import os
import pwd
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CARGO = os.environ.get("CARGO", "cargo")
# Metadata of the same features for all: a package on its own would be built anew with fewer.
EVERYTHING = ["--workspace", "--locked"]
PART_SECONDS_MAX = 45 * 60
SLOWEST = 30
# Tests of the whole program wait for half of their time.
THREADS_WAITING = 4 * len(os.sched_getaffinity(0))
# Those that hold times against the truth; nothing runs beside them.
MEASURING = "alone::"
# More than these do not fail because the machine was busy.
AGAIN_MAX = 12
# What computes and watches no clock gets the CPU that the tests leave.
NICE_TESTS = 10

# Installing Python packages is half compiling what nobody imports.
ENVIRONMENT = {"PIP_NO_COMPILE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "NPM_CONFIG_UPDATE_NOTIFIER": "false"}
AUTOBAHN = ["python3", "tests/autobahn/run.py", "--quick", "--built"]
# Codec has the only example. Alone, or by another compiler, it would be built anew with all that it uses; here rustdoc
# reads the other crates in vain, in a second or two each.
DOC_TESTS = [CARGO, "test", "-q", *EVERYTHING, "--doc"]
SCRIPTS = [["python3", "-m", "unittest", "discover", "-s", folder] for folder in ("tests", "tests/autobahn", "deploy/packages")]

TEST = re.compile(r"^test (?P<name>\S+)(?: - should panic)? \.\.\. (?P<end>ok|FAILED|ignored)(?P<why>.*?)(?: <(?P<seconds>[0-9.]+)s>)?$")
RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")
SKIPPED = re.compile(r"^skipped: (?:\[(?P<name>[^]]+)\] )?")
# The output of a test that failed, and the first line of its panic.
OUTPUT = re.compile(r"^---- (?P<name>\S+) stdout ----$")
PANIC = re.compile(r"^thread '(?P<thread>.*)' (?:\(\d+\) )?panicked at \S+:\d+:\d+:$")
# What tests of times say (tests/support), and deadlines that are over: of tests/support, of the scripts in
# tests/clients, and of sockets.
TIMING = re.compile(
    r"^times: |still running after|not within \d|not done in time|waited in vain|Error: never: |Timeout \d+ms exceeded|WouldBlock|TimedOut"
)


@dataclass
class Tally:
    """Counts of the tests of all programs."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)
    flaky: list[str] = field(default_factory=list)
    # The first line of each failed test's panic, and the tests that failed by time.
    reasons: dict[str, str] = field(default_factory=dict)
    timing: set[str] = field(default_factory=set)
    seconds: list[tuple[float, str]] = field(default_factory=list)
    parts: list[tuple[float, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add_test(self, program: str, found: re.Match) -> None:
        name = f"{program}: {found['name']}"
        with self.lock:
            if found["end"] == "FAILED":
                self.failures.append(name)
            if found["seconds"]:
                self.seconds.append((float(found["seconds"]), name))

    def add_reasons(self, program: str, lines: list[str]) -> None:
        """Reads from what a program printed at its end why each test failed."""
        name, is_next, panics = None, False, 0
        with self.lock:
            for line in lines:
                if found := OUTPUT.match(line.rstrip("\n")):
                    name, panics = f"{program}: {found['name']}", 0
                elif name is None:
                    continue
                if is_next:
                    self.reasons.setdefault(name, line.strip())
                panic = PANIC.match(line.rstrip("\n"))
                is_next = panic is not None
                # The test's own threads have its name; what they panic at next is another case, or a consequence.
                panics += is_next and name.endswith(f": {panic['thread']}")
                if panics < 2 and TIMING.search(line):
                    self.timing.add(name)

    def add_result(self, passed: int, failed: int, skipped: int) -> None:
        with self.lock:
            self.passed += passed
            self.failed += failed
            self.skipped += skipped

    def fail(self, part: str) -> None:
        with self.lock:
            self.failed += 1
            self.failures.append(part)

    def retract(self, names: list[str]) -> None:
        """Forgets the failures of these tests: they run again."""
        with self.lock:
            self.failures = [name for name in self.failures if name not in names]
            self.failed -= len(names)

    def took(self, start: float, part: str) -> None:
        with self.lock:
            self.parts.append((time.monotonic() - start, part))


TALLY = Tally()
PRINTING = threading.Lock()


def say(text: str) -> None:
    with PRINTING:
        print(text.rstrip("\n"), flush=True)


@dataclass
class Program:
    """A program of tests, and which of them to run."""

    name: str
    path: str
    folder: str
    arguments: list[str] = field(default_factory=list)
    niceness: int = 0


def start(command: list, **more) -> subprocess.Popen:
    """A process in a group of its own, without input."""
    words = [str(word) for word in command]
    more = {"cwd": ROOT, "stdin": subprocess.DEVNULL, "process_group": 0, "errors": "replace", **more}
    try:
        return subprocess.Popen(words, text=True, **more)
    except OSError as error:
        raise OSError(error.errno, error.strerror, " ".join(words)) from error


def wait(process: subprocess.Popen, name: str) -> str:
    """Waits for the end of a part and returns its standard output, unless that is read elsewhere or not a pipe."""
    try:
        return process.communicate(timeout=PART_SECONDS_MAX)[0] or ""
    except subprocess.TimeoutExpired:
        say(f"{name}: not done after {PART_SECONDS_MAX // 60} minutes")
        end_tree(process.pid)
        process.kill()
        return process.communicate()[0] or ""


def part(name: str, *commands: list, niceness: int = 0, **environment: str) -> bool:
    """Runs commands one after another up to the first that fails; prints what they said once they have ended."""
    begun = time.monotonic()
    output = ""
    for command in commands:
        process = start(
            ["nice", "-n", niceness, *command],
            env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        output += f"{' '.join(map(str, command))}\n{wait(process, name)}"
        if process.returncode != 0:
            TALLY.fail(name)
            output += f"{name}: exit status {process.returncode}\n"
            break
    TALLY.took(begun, name)
    say(output)
    return process.returncode == 0


def build() -> list[Program]:
    """Builds the programs, their tests and their documentation, and reads them as clippy does; the programs of tests."""
    begun = time.monotonic()
    command = [CARGO, "build", *EVERYTHING, "--all-targets", "--message-format", "json"]
    process = start(command, env={**os.environ, **compiler()}, stdout=subprocess.PIPE)
    programs, warnings = [], []
    for message in map(json.loads, wait(process, "build").splitlines()):
        if message["reason"] == "compiler-message":
            warnings.append(message["message"]["rendered"])
        elif message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            folder = Path(message["manifest_path"]).parent
            kind, name = message["target"]["kind"][0], message["target"]["name"]
            shown = name if kind in ("lib", "bin") else f"{folder.name}/{name}"
            if kind != "bench":
                programs.append(Program(shown, message["executable"], str(folder)))
    TALLY.took(begun, "build")
    if warnings:
        TALLY.fail("clippy")
        say("".join(dict.fromkeys(warnings)))
    if process.returncode != 0:
        TALLY.fail("build")
        raise SystemExit(report(is_timed=False))
    return programs


@cache
def compiler() -> dict[str, str]:
    """The compiler that has clippy's lints, which compiles all the same, and makes the documentation beside it.

    It warns as `cargo clippy --all-targets` does. What it makes is not optimized at all, which a debug build hardly is.
    """
    wrapper = {"RUSTC_WORKSPACE_WRAPPER": str(ROOT / "tests/rustc.py")}
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    driver = Path(sysroot, "bin", "clippy-driver")
    if driver.exists():
        return {**wrapper, "COMPILER": str(driver)}
    say(f"skipped: clippy: no {driver}: rustup component add clippy")
    TALLY.add_result(0, 0, 1)
    return wrapper


def run_tests(program: Program, is_timed: bool) -> None:
    """Runs a program of tests: shows each as it ends, and the rest of its output when all have."""
    begun = time.monotonic()
    environment = {**os.environ, "CARGO_MANIFEST_DIR": program.folder}
    timing = []
    if is_timed:
        # libtest refuses the flag without this, which its own tests are free to set.
        environment["RUSTC_BOOTSTRAP"] = "1"
        timing = ["-Zunstable-options", "--report-time"]
    process = start(
        ["nice", "-n", program.niceness, program.path, *program.arguments, *timing],
        cwd=program.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    skippers: list[str] = []
    errors = threading.Thread(target=read_errors, args=(program, process.stderr, skippers))
    errors.start()
    timer = threading.Timer(PART_SECONDS_MAX, lambda: (end_tree(process.pid), process.kill()))
    timer.start()
    rest, result, failed_tests = [], None, 0
    with process:
        for line in process.stdout:
            if found := TEST.match(line.rstrip("\n")):
                TALLY.add_test(program.name, found)
                failed_tests += found["end"] == "FAILED"
                say(f"{program.name}: {line}")
            elif found := RESULT.match(line):
                result = [int(count) for count in found.groups()]
            elif line.strip() and not re.match(r"running \d+ tests?$", line):
                rest.append(line)
        errors.join()
    timer.cancel()
    TALLY.add_reasons(program.name, rest)
    status = process.returncode
    if rest:
        say(f"--- {program.name}\n{''.join(rest)}")
    # A program with a `main` of its own is one test.
    passed, failed, ignored = result or (int(status == 0), failed_tests, 0)
    TALLY.add_result(passed - len(skippers), failed, ignored + len(skippers))
    # Without the counts at its end, tests may be left that never ran.
    if status != 0 and (result is None or failed == 0):
        TALLY.fail(f"{program.name}: exit status {status}")
    TALLY.took(begun, f"{program.name} {' '.join(program.arguments)}".rstrip())


def read_errors(program: Program, stderr, skippers: list[str]) -> None:
    """Shows the standard error of a program as it comes; notes which tests said there that they skip."""
    for line in stderr:
        say(f"{program.name}: {line}")
        if found := SKIPPED.match(line):
            name = found["name"] or line
            if name not in skippers:
                skippers.append(name)


def split(programs: list[Program]) -> tuple[Program, Program, list[Program]]:
    """The tests that measure, the others of the whole program, and all other programs of tests."""
    whole = next(program for program in programs if program.name.endswith("/end_to_end"))
    others = [replace(program, niceness=NICE_TESTS) for program in programs if program is not whole]
    waiting = [f"--test-threads={THREADS_WAITING}", "--skip", MEASURING]
    return replace(whole, arguments=["--test-threads=1", MEASURING]), replace(whole, arguments=waiting), others


def run_again(programs: list[Program], is_timed: bool) -> None:
    """Runs the few tests that failed by time once more, one at a time, and notes which of them pass."""
    if len(TALLY.failures) > AGAIN_MAX:
        return
    for program in programs:
        prefix = f"{program.name}: "
        names = [name for name in dict.fromkeys(TALLY.failures) if name.startswith(prefix) and name in TALLY.timing]
        if not names:
            continue
        for name in names:
            say(f"once more, alone: {name}: {reason(name)}")
        tests = [name.removeprefix(prefix) for name in names]
        TALLY.retract(names)
        run_tests(replace(program, arguments=["--test-threads=1", "--exact", *tests], niceness=0), is_timed)
        TALLY.flaky += [name for name in names if name not in TALLY.failures]


def reason(name: str) -> str:
    """The first line of a failed test's panic."""
    return TALLY.reasons.get(name, "no reason given")


def guarded(job) -> None:
    """Does a part; one that could not even be started has failed."""
    try:
        job()
    except Exception as error:
        say(traceback.format_exc())
        TALLY.fail(f"not run: {error}")


def in_threads(*jobs) -> None:
    threads = [threading.Thread(target=guarded, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def report(is_timed: bool) -> int:
    """What took how long, what failed, and the counts."""
    if is_timed:
        say(f"the slowest {SLOWEST} tests")
        for seconds, name in sorted(TALLY.seconds, reverse=True)[:SLOWEST]:
            say(f"{seconds:8.1f} s  {name}")
    say("parts")
    for seconds, name in sorted(TALLY.parts, reverse=True):
        if seconds >= 1:
            say(f"{seconds:8.0f} s  {name}")
    for name in TALLY.flaky:
        say(f"FLAKY: {name}: passed when it ran alone; before: {reason(name)}")
    for name in TALLY.failures:
        say(f"FAILED: {name}" + (f": {reason(name)}" if name in TALLY.reasons else ""))
    say(f"{TALLY.passed} passed, {TALLY.failed} failed, {TALLY.skipped} skipped")
    return 1 if TALLY.failed else 0


def descendants(pid: int) -> list[int]:
    """The processes that this one started, and theirs."""
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, children.read_text().split()):
                found += [child, *descendants(child)]
    return found


def end_tree(pid: int) -> None:
    """Ends what a process has started; tests put their processes into groups of their own."""
    for child in descendants(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def home() -> str:
    """The folder in which Go and npm keep their caches: of the environment, or of a user who may be known by number alone."""
    if of_environment := os.environ.get("HOME"):
        return of_environment
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        folder = ROOT / "target" / "home"
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder)


def main() -> int:
    is_timed = sys.argv[1:] == ["--times"]
    if sys.argv[1:] and not is_timed:
        sys.exit(__doc__)
    os.environ.update(ENVIRONMENT)
    if "CI" in os.environ:
        # What is built once needs no traces for a second time: 20 GB of them.
        os.environ.setdefault("CARGO_INCREMENTAL", "0")
    os.environ["HOME"] = home()
    # Debian keeps servers in folders that are in the path of root alone.
    os.environ["PATH"] = os.pathsep.join([os.environ["PATH"], "/usr/local/sbin", "/usr/sbin", "/sbin"])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        run_all(is_timed)
    finally:
        # Nothing is left where all went well.
        end_tree(os.getpid())
    return report(is_timed)


def run_all(is_timed: bool) -> None:
    """Runs the parts, as far as they can be built."""
    if not part("format", [CARGO, "fmt", "--check"]):
        return
    tools = threading.Thread(target=guarded, args=(lambda: part("tools", ["tests/tools.sh"]),), daemon=True)
    tools.start()
    measuring, waiting, others = split(build())
    tools.join()
    in_threads(lambda: run_tests(measuring, is_timed))
    in_threads(
        lambda: run_tests(waiting, is_timed),
        lambda: [guarded(partial(run_tests, program, is_timed)) for program in others],
        lambda: part("autobahn", AUTOBAHN, niceness=NICE_TESTS),
        lambda: part("scripts", *SCRIPTS),
        lambda: part("doc tests", DOC_TESTS, niceness=NICE_TESTS, **compiler()),
    )
    # Both halves of the whole program's tests are one program.
    run_again([waiting, *others], is_timed)


if __name__ == "__main__":
    sys.exit(main())
