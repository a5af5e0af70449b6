#!/usr/bin/env python3
"""Compare what throng costs with what its peers cost, in one go, on this machine.

    run.py [--repeats N] [--cpus SERVER,CLIENT] [--only TEXT]

Server and client each have a CPU to themselves. What is compared is CPU time and memory, not speed, which would be the
speed of the slower of the two. Every figure is the slope between a small and a large run of the same program, so that
starting, connecting and ending cancel out; every cell is the median of the repeats, which take turns, with the lowest
and the highest behind it. The table is Markdown, on standard output; progress goes to standard error.

Peers are not built here: see README.md for the variables that name them. One that is missing is skipped, and said.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tools
from process import Cost, Failed, Process, free_port
from tools import Server, Tool

ROOT = Path(__file__).resolve().parents[1]
RUN_TIMEOUT_S = 120


@dataclass(frozen=True)
class Pair:
    """A client against a server."""

    server: Server
    tool: Tool


@dataclass(frozen=True)
class Run:
    """One run of a pair: how much it did, in the tool's own unit, what that cost, and what client and server printed."""

    units: float
    client: Cost
    server: Cost
    output: str
    said: str


@dataclass(frozen=True)
class Row:
    """One line of the table for each pair but the first, which is throng's and which they are compared with."""

    title: str
    unit: str
    figure: Callable[[Run, Run], float]
    pairs: list[Pair]


def per_unit(value: Callable[[Run], float], scale: float) -> Callable[[Run, Run], float]:
    """The slope of a value over the work done, between a small and a large run."""
    return lambda small, large: scale * (value(large) - value(small)) / (large.units - small.units)


CLIENT_CPU = per_unit(lambda run: run.client.cpu_s, 1e6)
SERVER_CPU = per_unit(lambda run: run.server.cpu_s, 1e6)
CLIENT_MEMORY = per_unit(lambda run: run.client.peak_bytes, 1)
SERVER_MEMORY = per_unit(lambda run: run.server.peak_bytes, 1)


def rows(yardstick: Server) -> list[Row]:
    """What is compared. Clients meet the same server; servers meet throng."""
    def clients(*tried: Tool) -> list[Pair]:
        return [Pair(yardstick, tool) for tool in tried]

    def servers(tool: Tool) -> list[Pair]:
        return [Pair(tools.THRONG_SERVE, tool), Pair(tools.UWS_SERVER, tool)]

    broadcasts = [
        row
        for count, (ours, *theirs) in tools.BROADCASTS.items()
        for row in (
            Row(f"client: CPU per broadcast copy, {count:,} clients", "µs", CLIENT_CPU, clients(ours, *theirs)),
            Row(f"server: CPU per broadcast copy, {count:,} clients", "µs", SERVER_CPU, servers(ours)),
        )
    ]
    return [
        Row("client: CPU per echo, raw", "µs", CLIENT_CPU, clients(tools.THRONG_ECHO_RAW, tools.LOAD_TEST)),
        Row("client: CPU per echo, raw, with --events", "µs", CLIENT_CPU,
            clients(tools.THRONG_ECHO_EVENTS, tools.THRONG_ECHO_PLAIN)),
        Row("client: CPU per echo, json", "µs", CLIENT_CPU,
            clients(tools.THRONG_ECHO_JSON, tools.WEBSOCKET_BENCH_ECHO, tools.K6_ECHO)),
        *(
            Row(f"client: CPU per echo, {depth} at once on each of {tools.ARENA_CLIENTS} connections", "µs", CLIENT_CPU, clients(*pair))
            for depth, pair in tools.PIPELINED_TOOLS.items()
        ),
        Row("client: CPU per HTTP request", "µs", CLIENT_CPU,
            [Pair(tools.NGINX, tool) for tool in tools.HTTP_TOOLS]),
        Row("client: CPU per HTTP request, unix socket", "µs", CLIENT_CPU,
            [Pair(tools.NGINX, tool) for tool in tools.UNIX_TOOLS]),
        Row(f"client: CPU per HTTP/2 request, {tools.HTTP2_STREAMS} streams on each connection", "µs", CLIENT_CPU,
            [Pair(tools.NGINX_HTTP2, tool) for tool in tools.HTTP2_TOOLS]),
        Row("client: CPU per event of a streamed answer", "µs", CLIENT_CPU,
            [Pair(tools.THRONG_SERVE, tool) for tool in tools.STREAM_TOOLS]),
        Row("client: CPU per connection made", "µs", CLIENT_CPU,
            clients(tools.THRONG_IDLE, tools.WEBSOCKET_BENCH_IDLE, tools.K6_IDLE)),
        Row("client: CPU per TLS handshake, with a request", "µs", CLIENT_CPU,
            [Pair(tools.NGINX_SECURED, tool) for tool in tools.HANDSHAKE_TOOLS]),
        Row("client: CPU per TLS handshake that goes on with a session, with a request", "µs", CLIENT_CPU,
            [Pair(tools.NGINX_SECURED, tool) for tool in tools.RESUMPTION_TOOLS]),
        Row("client: CPU per connection made, with a JWT signed for each", "µs", CLIENT_CPU,
            clients(*tools.SIGNED_TOOLS)),
        Row("client: CPU per connection made, with a login of one request", "µs", CLIENT_CPU,
            [Pair(tools.THRONG_SERVE, tool) for tool in tools.LOGIN_TOOLS]),
        Row("client: memory per idle connection", "B", CLIENT_MEMORY,
            clients(tools.THRONG_IDLE, tools.WEBSOCKET_BENCH_IDLE, tools.K6_IDLE)),
        *(
            Row(f"{end}: memory per idle connection, {what}", "B", memory,
                [Pair(server, tool), Pair(tools.THRONG_SERVE_PLAIN, tools.THRONG_IDLE)])
            for what, server, tool in tools.COSTLY_CONNECTIONS
            for end, memory in (("client", CLIENT_MEMORY), ("server", SERVER_MEMORY))
        ),
        Row("client: memory per idle connection, with a login of one request", "B", CLIENT_MEMORY,
            [Pair(tools.THRONG_SERVE, tool) for tool in tools.LOGIN_TOOLS]),
        Row("server: CPU per echo, raw", "µs", SERVER_CPU, servers(tools.THRONG_ECHO_RAW)),
        Row("server: memory per idle connection", "B", SERVER_MEMORY, servers(tools.THRONG_IDLE)),
        *broadcasts,
        Row("client: CPU per broadcast copy, 1,000 clients, Action Cable, padded", "µs", CLIENT_CPU,
            [Pair(tools.THRONG_SERVE, tool) for tool in tools.CABLE_TOOLS]),
        Row("client: CPU per broadcast copy, 1,000 clients in one room", "µs", CLIENT_CPU,
            [Pair(tools.THRONG_SERVE, tool) for tool in tools.ONE_ROOM_TOOLS]),
        Row("client: CPU per broadcast copy, 1,000 clients with --flap", "µs", CLIENT_CPU,
            [Pair(tools.THRONG_SERVE, tool) for tool in tools.FLAP_TOOLS]),
        Row("client: CPU per broadcast copy, rooms of 10 among 1,000 clients", "µs", CLIENT_CPU,
            [Pair(tools.THRONG_SERVE, tool) for tool in tools.ROOM_TOOLS]),
        Row("server: CPU per broadcast copy, rooms of 10 among 1,000 clients", "µs", SERVER_CPU,
            [Pair(tools.THRONG_SERVE, tool) for tool in tools.ROOM_TOOLS]),
    ]


class Bench:
    """The programs found, the runs made with them, and what went wrong."""

    def __init__(self, cpus: tuple[int, int]):
        self.cpus = cpus
        self.runs: dict[Pair, list[tuple[Run, Run]]] = {}
        self.failures: dict[Pair, str] = {}

    def measure(self, pairs: list[Pair], repeats: int) -> None:
        """Runs every pair `repeats` times, taking turns; one that fails is not tried again."""
        for repeat in range(repeats):
            for pair in pairs:
                if pair in self.failures:
                    continue
                print(f"{repeat + 1}/{repeats}: {pair.tool.name} against {pair.server.name}", file=sys.stderr)
                try:
                    small, large = (self.run(pair, size) for size in pair.tool.sizes)
                    if large.units <= small.units:
                        raise Failed(f"{pair.tool.name}: {large.units} done when asked for more than {small.units}")
                    self.runs.setdefault(pair, []).append((small, large))
                except Failed as failure:
                    self.failures[pair] = str(failure)

    def run(self, pair: Pair, size: int) -> Run:
        """A fresh server, and the client to its end."""
        server, tool, port = pair.server, pair.tool, free_port()
        url = f"ws://127.0.0.1:{port}/"
        with Process(server.argv(server.path(), port), self.cpus[0]) as target:
            target.wait_until_listening(port)
            with Process(tool.argv(tool.path(), url, size), self.cpus[1], tool.env(url, size)) as client:
                cost = client.wait(RUN_TIMEOUT_S, tool.done and (lambda output: tool.done(output, size)))
                output = client.output()
            try:
                return Run(tool.count(output, size), cost, target.kill(), output, target.output())
            except (LookupError, ValueError) as error:
                raise Failed(f"{tool.name}: its output does not say how much it did: {error!r}") from error

    def cell(self, row: Row, pair: Pair) -> tuple[float | None, str]:
        """The median of a row's figure for a pair, and how to print it."""
        if missing := pair.server.missing() or pair.tool.missing():
            return None, f"skipped: {missing}"
        if pair in self.failures:
            return None, f"failed: {self.failures[pair]}"
        values = [row.figure(small, large) for small, large in self.runs[pair]]
        median = statistics.median(values)
        low, median_text, high = (figure(value) for value in (min(values), median, max(values)))
        return median, f"{median_text} {row.unit} ({low}–{high})"

    def table(self, chosen: list[Row]) -> str:
        lines = ["| what | throng | peer | the peer's | throng ÷ peer |", "|---|---|---|---|---|"]
        for row in chosen:
            ours, *theirs = row.pairs
            our_median, our_cell = self.cell(row, ours)
            for pair in theirs:
                median, cell = self.cell(row, pair)
                ratio = f"{our_median / median:.2g}" if our_median is not None and median else "–"
                peer = pair.tool.name if pair.server == ours.server else pair.server.name
                lines.append(f"| {row.title} | {our_cell} | {peer} | {cell} | {ratio} |")
        return "\n".join(lines)


def loop_lag(bench: Bench, server: Server, repeats: int) -> str:
    """How long a ready event waited for throng, as it says itself: there is no peer to ask."""
    pair, clients = Pair(server, tools.THRONG_PACED), tools.PACED_CLIENTS
    try:
        runs = [tools.last_step(bench.run(pair, clients).output) for _ in range(repeats)]
    except Failed as failure:
        return f"throng's loop lag: failed: {failure}"
    generators = [step["generator"] for step in runs]
    p50, p99 = (statistics.median(use["loop_lag"][key] for use in generators) for key in ("p50_ms", "p99_ms"))
    waiting = statistics.median(use["waiting_percent"] for use in generators)
    return (
        f"throng's loop lag at {clients:,} clients and as many messages a second: p50 {p50:.3f} ms, p99 {p99:.3f} ms, "
        f"kept from its CPU by others for {waiting:.0f}% of the time."
    )


def completion(bench: Bench, repeats: int) -> str:
    """How long `throng serve` takes until everybody has a broadcast, beside what the sends alone take."""
    clients, took = tools.PACED_CLIENTS, {tools.BARE_SENDS: [], tools.THRONG_SERVE: []}
    try:
        for _ in range(repeats):
            for server, times in took.items():
                run = bench.run(Pair(server, tools.THRONG_SPACED), clients)
                if server is tools.BARE_SENDS:
                    times.append(statistics.median(int(ns) / 1e6 for ns in run.said.split() if ns.isdigit()))
                else:
                    times.append(tools.last_step(run.output)["completion"]["p50_ms"])
    except Failed as failure:
        return f"A broadcast's completion: failed: {failure}"
    sends, complete = (statistics.median(times) for times in took.values())
    return (
        f"A broadcast of throng serve to {clients:,} clients was complete after {complete:.1f} ms (median); as many bare "
        f"sends, one after the other, take {sends:.1f} ms: {complete / sends:.2f} times that."
    )


def first_events(bench: Bench) -> tuple[str, bool]:
    """How long first events took by each tool's own account, of a server that writes them at once, and how many it
    read; and whether all tools read as many in each of their runs."""
    told, read = [], set()
    for tool in tools.STREAM_TOOLS:
        runs = [large for _, large in bench.runs.get(Pair(tools.THRONG_SERVE, tool), [])]
        read.update(run.units for run in runs)
        for run in runs[-1:]:
            told.append(f"{tool.name} {tools.first_event_ms(tool, run.output):.2f} ms (p50), {run.units:,.0f} events read")
    are_equal = len(read) <= 1
    differing = "" if are_equal else f" Events read differ: {', '.join(f'{units:,.0f}' for units in sorted(read))}."
    return f"First events, which throng serve writes at once: {'; '.join(told)}.{differing}", are_equal


def build(*package: str) -> str:
    """Builds a program of this checkout; its path."""
    build = ["cargo", "build", "--release", *package, "--message-format=json-render-diagnostics"]
    done = subprocess.run(build, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Failed(f"{' '.join(build)}: exit status {done.returncode}")
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return next(message["executable"] for message in reversed(messages) if message.get("executable"))


def build_throng() -> None:
    """Builds this checkout's throng, unless a variable names another."""
    if "THRONG" not in os.environ:
        os.environ["THRONG"] = build("--package=throng")


def build_missing() -> None:
    """Builds all that is this checkout's own, unless a variable names another."""
    build_throng()
    for example in ("bare_sends", "bare_receives"):
        if example.upper() not in os.environ:
            os.environ[example.upper()] = build("--package=throng-refserver", f"--example={example}")


def figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def machine() -> str:
    with open("/proc/cpuinfo") as file:
        model = re.search(r"^model name\s*:\s*(.*)$", file.read(), re.MULTILINE)
    return f"{model[1] if model else platform.machine()}, Linux {platform.release()}"


def positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError
    return number


def cpus(text: str) -> tuple[int, int]:
    server, client = text.split(",")
    return int(server), int(client)


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare what throng costs with what its peers cost.")
    parser.add_argument("--repeats", type=positive, default=5, help="runs of each pair (default 5)")
    parser.add_argument("--cpus", type=cpus, default=(0, 1), help="the server's and the client's (default 0,1)")
    parser.add_argument("--only", default="", help="only the rows whose title contains this")
    args = parser.parse_args()
    try:
        build_missing()
    except Failed as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 2
    yardstick = tools.THRONG_SERVE if tools.UWS_SERVER.missing() else tools.UWS_SERVER
    chosen = [row for row in rows(yardstick) if args.only in row.title]
    bench = Bench(args.cpus)
    pairs = dict.fromkeys(pair for row in chosen for pair in row.pairs)
    bench.measure([pair for pair in pairs if not pair.server.missing() and not pair.tool.missing()], args.repeats)
    servers = f"{yardstick.name}, HTTP clients against {tools.NGINX.name}"
    tools.EVENTS_FILE.unlink(missing_ok=True)
    print(f"{machine()}. Clients measured against {servers}; median of {args.repeats} (lowest–highest).\n")
    print(bench.table(chosen))
    are_equal = True
    if any(pair.tool in tools.STREAM_TOOLS for pair in bench.runs):
        told, are_equal = first_events(bench)
        print(f"\n{told}")
    if not args.only:
        print(f"\n{loop_lag(bench, yardstick, args.repeats)}")
        print(f"\n{completion(bench, args.repeats)}")
    return 1 if bench.failures or not are_equal else 0


if __name__ == "__main__":
    sys.exit(main())
