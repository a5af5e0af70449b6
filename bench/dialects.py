#!/usr/bin/env python3
"""What a protocol costs: the same broadcast over every dialect, against `throng serve`.

    dialects.py [--repeats N] [--cpus SERVER,CLIENT] [--clients N]

Generator and server CPU for each copy and the generator's memory for each idle client, and how many times what they are
with `json`. A run in which a single copy is missing, duplicate or out of order has no price. See run.py for the method.
"""

import argparse
import dataclasses
import os
import sys

import run
import tools
from process import Failed

# Where `throng serve` speaks each.
PATHS = {
    "json": "/ws",
    "binary": "/ws",
    "actioncable": "/cable",
    "phoenix": "/socket/websocket",
    "sockjs": "/sockjs",
    "socketio": "/socket.io/",
    "graphql": "/graphql",
    "sse": "/events?room=all",
}
# What else its broadcasts need.
FLAGS = {"sse": ["--publish-url=/publish/all"]}


def at(tool: tools.Tool, path: str) -> tools.Tool:
    """The same tool, at a path."""
    return dataclasses.replace(tool, argv=lambda program, url, size: tool.argv(program, url.rstrip("/") + path, size))


def exactly(step: dict) -> float:
    """The copies received, if each came once and in order."""
    counts = step["counts"]
    if trouble := {name: n for name in ("missing", "duplicate", "reordered", "unexpected", "corrupt") if (n := counts.get(name))}:
        raise ValueError(f"not each copy once and in order: {trouble}")
    return counts["received"]


def broadcast(dialect: str, clients: int) -> run.Pair:
    tool = tools.throng(
        (10, 60), exactly, "broadcast", f"--protocol={dialect}", f"--clients={clients}", "--sample-size={}",
        *FLAGS.get(dialect, [])
    )
    return run.Pair(tools.THRONG_SERVE, at(tool, PATHS[dialect]))


def idle(dialect: str, clients: int) -> run.Pair:
    tool = tools.throng(
        (clients, 3 * clients), lambda step: step["clients"], "idle", f"--protocol={dialect}", "--clients={}",
        "--connect-rate=5000", "--duration=1s"
    )
    return run.Pair(tools.THRONG_SERVE, at(tool, PATHS[dialect]))


def resident_bytes(run_: run.Run) -> float:
    """What throng saw of itself while it held the clients. The peak of its process is that of its start."""
    return tools.last_step(run_.output)["generator"]["rss_bytes_peak"]


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare what the dialects cost.")
    parser.add_argument("--repeats", type=run.positive, default=3, help="runs of each (default 3)")
    parser.add_argument("--cpus", type=run.cpus, default=(0, 1), help="the server's and the client's (default 0,1)")
    parser.add_argument("--clients", type=run.positive, default=5000, help="default 5000")
    args = parser.parse_args()
    try:
        run.build_throng()
    except Failed as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 2
    copies = {dialect: broadcast(dialect, args.clients) for dialect in PATHS}
    idles = {dialect: idle(dialect, args.clients) for dialect in PATHS}
    bench = run.Bench(args.cpus)
    bench.measure([*copies.values(), *idles.values()], args.repeats)
    print(f"{run.machine()}. {args.clients:,} clients, median of {args.repeats} (lowest–highest).\n")
    print("| dialect | generator: CPU per copy | × json | server: CPU per copy | × json | generator: memory per idle client |")
    print("|---|---|---|---|---|---|")
    generator, server = (run.Row("", "µs", figure, []) for figure in (run.CLIENT_CPU, run.SERVER_CPU))
    memory = run.Row("", "B", run.per_unit(resident_bytes, 1), [])
    json_generator, json_server = (bench.cell(row, copies["json"])[0] for row in (generator, server))
    for dialect in PATHS:
        cells = [dialect]
        for row, base in ((generator, json_generator), (server, json_server)):
            median, text = bench.cell(row, copies[dialect])
            cells += [text, f"{median / base:.2f}" if median and base else "–"]
        cells.append(bench.cell(memory, idles[dialect])[1])
        print("| " + " | ".join(cells) + " |")
    return 1 if bench.failures else 0


if __name__ == "__main__":
    sys.exit(main())
