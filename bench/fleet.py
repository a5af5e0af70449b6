#!/usr/bin/env python3
"""What it costs to spread a load: the same echoes from one process, from four child processes, and from four agents
over NATS.

    fleet.py [--repeats N] [--cpus SERVER,CLIENT]

Every form has four worker threads, all of it on one CPU, the server on another, in a closed loop. CPU time is that of
everything but the server: of a fleet the agents, the coordinator and nats-server. As in run.py it is a slope: the
difference between a large and a small run, divided by the difference in echoes, so that starting and connecting cancel
out, and whatever a fleet does every second does not. The forms take turns; a ratio is the median over the repeats, each
with the one process of its own turn, with the lowest and the highest behind it. Markdown on standard output.
"""

import argparse
import contextlib
import shutil
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass

import tools
from process import Failed, Process, free_port
from run import build_throng, cpus, machine, positive

CLIENTS = 1_000
WORKERS = 4
SIZES = (100_000, 600_000)
RUN_TIMEOUT_S = 60
FIGURES = ("p50_ms", "p95_ms", "p99_ms")


@dataclass(frozen=True)
class Run:
    """One run: echoes received, the CPU time of its parts, and the round trip as throng reports it."""

    echoes: int
    cpu_s: dict[str, float]
    rtt: dict[str, float]


@dataclass(frozen=True)
class Turn:
    """A small and a large run of a form."""

    small: Run
    large: Run

    def cost_us(self, part: str) -> float:
        """CPU time for each echo, in µs."""
        return 1e6 * (self.large.cpu_s[part] - self.small.cpu_s[part]) / (self.large.echoes - self.small.echoes)

    def total_us(self) -> float:
        return sum(self.cost_us(part) for part in self.large.cpu_s)


class Bench:
    """Where the runs take place."""

    def __init__(self, program: str, pinned: tuple[int, int]):
        self.program = program
        self.server_cpu, self.client_cpu = pinned

    def one_process(self, url: str, echoes: int) -> Run:
        return self.local(url, echoes, f"--threads={WORKERS}")

    def child_processes(self, url: str, echoes: int) -> Run:
        return self.local(url, echoes, f"--processes={WORKERS}", "--threads=1")

    def local(self, url: str, echoes: int, *shape: str) -> Run:
        with self.process(*self.load(url, echoes), *shape) as load:
            cost = load.wait(RUN_TIMEOUT_S)
            return result(load.output(), {"load": cost.cpu_s})

    def fleet(self, url: str, echoes: int) -> Run:
        port = free_port()
        nats = f"nats://127.0.0.1:{port}"
        with contextlib.ExitStack() as parts:
            bus = parts.enter_context(self.process("nats-server", "-a", "127.0.0.1", "-p", str(port)))
            bus.wait_until_listening(port)
            agents = [
                parts.enter_context(self.process(self.program, "agent", f"--nats={nats}", f"--name=a{k}", "--threads=1", "--allow=127.0.0.0/8:*"))
                for k in range(WORKERS)
            ]
            load = parts.enter_context(
                self.process(*self.load(url, echoes), f"--fleet={nats}", f"--agents={WORKERS}")
            )
            coordinator = load.wait(RUN_TIMEOUT_S).cpu_s
            spent = {"load": sum(agent.kill().cpu_s for agent in agents), "coordinator": coordinator}
            return result(load.output(), spent | {"nats-server": bus.kill().cpu_s})

    def load(self, url: str, echoes: int) -> list[str]:
        return [
            self.program, "echo", url, f"--concurrent={CLIENTS}", f"--step-size={CLIENTS}", f"--sample-size={echoes}",
            "--total-steps=1", "--protocol=raw", "--format=json", "--quiet", "--no-store",
        ]

    def process(self, *argv: str) -> Process:
        return Process(list(argv), self.client_cpu)

    def turn(self, form: Callable[["Bench", str, int], Run]) -> Turn:
        """A fresh server for each run."""
        runs = []
        for echoes in SIZES:
            port = free_port()
            with Process([self.program, "serve", f"--listen=127.0.0.1:{port}", "--threads=1"], self.server_cpu) as server:
                server.wait_until_listening(port)
                runs.append(form(self, f"ws://127.0.0.1:{port}/", echoes))
        return Turn(*runs)


FORMS: dict[str, Callable[[Bench, str, int], Run]] = {
    "1 process": Bench.one_process,
    f"{WORKERS} child processes": Bench.child_processes,
    f"{WORKERS} agents over NATS": Bench.fleet,
}
FIRST = next(iter(FORMS))


def result(output: str, cpu_s: dict[str, float]) -> Run:
    step = tools.last_step(output)
    return Run(step["counts"]["received"], cpu_s, {figure: step["rtt"][figure] for figure in FIGURES})


def spread(values: list[float], digits: int) -> str:
    """The median, with the lowest and the highest behind it."""
    median, low, high = (f"{value:.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return f"{median} ({low}–{high})"


def row(name: str, turns: dict[str, list[Turn]]) -> str:
    own, first = turns[name], turns[FIRST]
    ratios = [turn.total_us() / other.total_us() for turn, other in zip(own, first)]
    around = [part for part in own[0].large.cpu_s if part != "load"]
    shares = ", ".join(f"{part} {statistics.median(turn.cost_us(part) for turn in own):.2f}" for part in around)
    cells = [
        name,
        spread([turn.total_us() for turn in own], 2),
        spread(ratios, 3),
        shares or "–",
        *(spread([turn.large.rtt[figure] for turn in own], 2) for figure in FIGURES),
    ]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description="What it costs to spread a load over processes and agents.")
    parser.add_argument("--repeats", type=positive, default=5, help="turns of each form (default 5)")
    parser.add_argument("--cpus", type=cpus, default=(0, 1), help="the server's and everybody else's (default 0,1)")
    args = parser.parse_args()
    turns: dict[str, list[Turn]] = {name: [] for name in FORMS}
    try:
        if shutil.which("nats-server") is None:
            raise Failed("there is no nats-server: apt-get install nats-server")
        build_throng()
        bench = Bench(tools.THRONG_SERVE.path(), args.cpus)
        for repeat in range(args.repeats):
            # Who goes first in one turn goes last in the next.
            for name in list(FORMS)[:: -1 if repeat % 2 else 1]:
                print(f"{repeat + 1}/{args.repeats}: {name}", file=sys.stderr)
                turns[name].append(bench.turn(FORMS[name]))
    except Failed as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    print(f"{machine()}. {CLIENTS:,} clients; median of {args.repeats} (lowest–highest).\n")
    print(f"| load from | CPU per echo, µs | ÷ {FIRST} | of it around the load, µs | rtt p50, ms | p95 | p99 |")
    print("|---|---|---|---|---|---|---|")
    for name in FORMS:
        print(row(name, turns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
