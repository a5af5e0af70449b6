#!/usr/bin/env python3
"""What a step costs a run, and those who read its results later: CPU time, memory and bytes written for each step.

    steps.py [--repeats N] [--cpus SERVER,CLIENT]

A run of many steps that are over in milliseconds, kept in different ways, at three sizes; then results files of many
steps, which repeat those of a short run, read by the verbs that print and import them. Figures for a step are slopes
between the smallest and the largest size. A step of a shootout is one of its cells: its record repeats a measured one,
and leaves nothing to do for --resume. "Growth" is the slope of the upper half over that of the lower, of CPU time: 1
where each step costs what the one before did, 2 and more where it costs the more the more there are. The forms take
turns; what the table says is the median of the repeats. Last, the memory of a recap of all records. Markdown on
standard output.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tools
from process import Cost, Failed, Process, free_port
from run import ROOT, build_throng, cpus, machine, positive

RUN_SIZES = (250, 500, 1_000)
FILE_SIZES = (250, 500, 1_000)
CELL_SIZES = (750, 1_500, 3_000)
ROUNDS = 10
SUITE = """
title = "Tiny"
repeats = {}
cooldown = "0ms"
"""
SCENARIO = """
[[scenario]]
name = "{}"
verb = "echo"
dialects = ["raw"]
supports = ["echo"]
flags = {{ clients = 100, interval = "100ms", duration = "10s" }}
figures = ["rtt.p95"]
"""
MESSAGES = 50
CLIENTS = 5
RUN_TIMEOUT_S = 300


@dataclass(frozen=True)
class Run:
    """One run: how many steps, how long it took, and what it cost."""

    steps: int
    wall_s: float
    cost: Cost


@dataclass(frozen=True)
class Form:
    """A command whose cost grows with the steps: its sizes, and its words for one of them in a folder of its own."""

    name: str
    sizes: tuple[int, int, int]
    words: Callable[["Bench", int, Path], list[str]]


class Bench:
    """Where the runs take place."""

    def __init__(self, program: str, pinned: tuple[int, int], folder: Path):
        self.program = program
        self.server_cpu, self.client_cpu = pinned
        self.folder = folder
        self.url = ""
        self.cell_bytes = 0.0

    def walk(self, steps: int, *more: str) -> list[str]:
        return [
            "echo", self.url, f"--concurrent={CLIENTS}", f"--sample-size={MESSAGES}", f"--initial-clients={CLIENTS}",
            "--step-size=1", f"--total-steps={steps}", "--limit-rtt=60s", "--quiet", "--no-report", *more,
        ]

    def file_of(self, steps: int) -> Path:
        """A results file of that many steps."""
        path = self.folder / f"{steps}.json"
        if not path.exists():
            short = self.folder / "short"
            self.run(self.walk(FILE_SIZES[0] // 5, "--no-store", f"--out={short}"))
            run = json.loads(next(short.glob("*.json")).read_text())
            for size in FILE_SIZES:
                many = (run["steps"] * (size // len(run["steps"]) + 1))[:size]
                named = {**run, "id": f"{run['id'][:-6]}{size:06x}", "steps": many}
                (self.folder / f"{size}.json").write_text(json.dumps(named, indent=2))
        return path

    def record_of(self, cells: int, folder: Path) -> Path:
        """A record of that many cells, each like one that was measured."""
        one = self.folder / "one"
        if not one.exists():
            suite = self.folder / "tiny.toml"
            suite.write_text(SUITE.format(1) + SCENARIO.format("echo-0"))
            self.run(["shootout", str(suite), "--targets=throng", f"--targets-dir={ROOT / 'targets'}", f"--out={one}"])
        head = json.loads((one / "shootout.json").read_text())
        entry = json.loads((one / "cells.jsonl").read_text())
        scenarios = [f"echo-{number}" for number in range(cells // ROUNDS)]
        text = SUITE.format(ROUNDS) + "".join(map(SCENARIO.format, scenarios))
        rounds = {"repeats": ROUNDS, "repeats_max": ROUNDS, "in_round": len(scenarios), "text": text}
        for scenario in scenarios:
            (folder / scenario).mkdir(parents=True)
            for number in range(1, ROUNDS + 1):
                for name in ("json", "log"):
                    shutil.copy(one / f"echo-0/throng-1.{name}", folder / f"{scenario}/throng-{number}.{name}")
        lines = [
            json.dumps({**entry, "scenario": scenario, "repeat": number}, separators=(",", ":")) + "\n"
            for number in range(1, ROUNDS + 1)
            for scenario in scenarios
        ]
        (folder / "cells.jsonl").write_text("".join(lines))
        (folder / "shootout.json").write_text(json.dumps({**head, **rounds}))
        self.cell_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / cells
        return folder

    def packed_record_of(self, cells: int, folder: Path) -> Path:
        record = self.record_of(cells, folder)
        self.run(["shootout", "--pack", str(record)])
        return record

    def run(self, words: list[str]) -> tuple[float, Cost]:
        began = time.monotonic()
        with Process([self.program, *words], self.client_cpu) as process:
            return (lambda cost: (time.monotonic() - began, cost))(process.wait(RUN_TIMEOUT_S))

    def measure(self, form: Form) -> list[Run]:
        """One run of each size, against a fresh server."""
        port = free_port()
        listen = [self.program, "serve", f"--listen=127.0.0.1:{port}", "--threads=1"]
        with Process(listen, self.server_cpu) as server, tempfile.TemporaryDirectory(dir=self.folder) as own:
            server.wait_until_listening(port)
            self.url = f"ws://127.0.0.1:{port}/"
            sizes = [(size, form.words(self, size, Path(own) / str(size))) for size in form.sizes]
            return [Run(size, *self.run(words)) for size, words in sizes]


FORMS = [
    Form("run, --no-store", RUN_SIZES, lambda bench, steps, at: bench.walk(steps, "--no-store")),
    Form("run, in the store", RUN_SIZES, lambda bench, steps, at: bench.walk(steps, f"--store={at}.db")),
    Form("run, --out alone", RUN_SIZES, lambda bench, steps, at: bench.walk(steps, "--no-store", f"--out={at}")),
    Form("run, --stream alone", RUN_SIZES, lambda bench, steps, at: bench.walk(steps, "--no-store", f"--stream={at}")),
    Form("runs show", FILE_SIZES, lambda bench, steps, at: ["runs", "show", str(bench.file_of(steps))]),
    Form("report, a page", FILE_SIZES, lambda bench, steps, at: ["report", str(bench.file_of(steps)), f"--html={at}.html"]),
    Form("shootout --resume", CELL_SIZES, lambda bench, cells, at: ["shootout", "--resume", str(bench.record_of(cells, at))]),
    Form(
        "shootout --resume, packed",
        CELL_SIZES,
        lambda bench, cells, at: ["shootout", "--resume", str(bench.packed_record_of(cells, at))],
    ),
    Form("runs import", FILE_SIZES, lambda bench, steps, at: ["runs", "import", str(bench.file_of(steps)), f"--store={at}.db"]),
]


def slope(value: Callable[[Run], float], small: Run, large: Run) -> float:
    return (value(large) - value(small)) / (large.steps - small.steps)


def row(form: Form, repeats: list[list[Run]]) -> str:
    def median(figure: Callable[[Run, Run, Run], float]) -> float:
        return statistics.median(figure(*runs) for runs in repeats)

    def each(value: Callable[[Run], float], scale: float) -> float:
        return median(lambda small, _, large: scale * slope(value, small, large))

    def cpu_s(run: Run) -> float:
        return run.cost.cpu_s

    cells = [
        form.name,
        f"{form.sizes[0]:,}–{form.sizes[-1]:,}",
        f"{each(lambda run: run.wall_s, 1e3):.1f} ms",
        f"{each(cpu_s, 1e3):.2f} ms",
        f"{median(lambda small, middle, large: slope(cpu_s, middle, large) / slope(cpu_s, small, middle)):.2f}",
        f"{each(lambda run: run.cost.peak_bytes, 1e-3):.0f} kB",
        f"{each(lambda run: run.cost.written_bytes, 1e-3):.0f} kB",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description="What a step costs a run and those who read its results.")
    parser.add_argument("--repeats", type=positive, default=3, help="turns of each form (default 3)")
    parser.add_argument("--cpus", type=cpus, default=(0, 1), help="the server's and throng's (default 0,1)")
    args = parser.parse_args()
    runs: dict[str, list[list[Run]]] = {form.name: [] for form in FORMS}
    try:
        build_throng()
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(tools.THRONG_SERVE.path(), args.cpus, Path(folder))
            for repeat in range(args.repeats):
                for form in FORMS:
                    print(f"{repeat + 1}/{args.repeats}: {form.name}", file=sys.stderr)
                    runs[form.name].append(bench.measure(form))
            recap_s, recap = bench.run(["shootout", "--recap", str(ROOT / "records")])
    except Failed as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    print(f"{machine()}. Steps of {MESSAGES} messages; median of {args.repeats}.\n")
    print("| what | steps | time per step | CPU per step | growth | memory per step | written per step |")
    print("|---|---|---|---|---|---|---|")
    for form in FORMS:
        print(row(form, runs[form.name]))
    longest = {name: statistics.median(turn[-1].wall_s for turn in turns) for name, turns in runs.items()}
    ratio = longest["run, in the store"] / longest["run, --no-store"]
    print(f"\nA run of {RUN_SIZES[-1]:,} steps takes {ratio:.2f} times as long in the store as with --no-store.")
    print(f"\nA cell takes {bench.cell_bytes / 1e3:.1f} kB of its record: results file, log and line.")
    print(f"\nA recap of all records: {recap_s:.1f} s, {recap.peak_bytes / 1e6:.0f} MB at its peak.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
