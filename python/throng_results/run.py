"""Results files: one run each (docs/results.schema.json)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .histogram import Histogram

SCHEMA = 1
# What holds metrics beside the step itself.
GROUPS = ("handshake_parts", "delivery_by_room_size")
# The metrics of a step: the schema's.
NAMES = frozenset(
    (
        "handshake",
        "rtt",
        "service",
        "delivery",
        "completion",
        "join",
        "leave",
        "presence",
        "replay",
        "send_lag",
        "first",
        "first_token",
        "gap",
        "push_gap",
        "push_age",
        "push_ahead",
        "silence",
        "recovery",
    )
)
QUANTILES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}


class Metrics(dict[str, Histogram]):
    """What was timed, by name. A file leaves out what has no sample: its histogram is empty."""

    def __missing__(self, name: str) -> Histogram:
        group, _, part = name.partition(".")
        if name not in NAMES and not (part and group in GROUPS):
            raise KeyError(name)
        return Histogram()


@dataclass(frozen=True)
class Step:
    """One number of clients, or one rate. `raw` is its object in the file, with everything that has no name here."""

    raw: dict[str, Any]

    @property
    def clients(self) -> int:
        return self.raw["clients"]

    @property
    def counts(self) -> dict[str, Any]:
        """Messages, copies and connections: `sent`, `received`, `missing` … The errors are in `errors`, by kind."""
        return self.raw["counts"]

    @property
    def rates(self) -> dict[str, float]:
        return self.raw["rates"]

    @property
    def caveats(self) -> list[str]:
        """What weakens this step's metrics; empty where nothing does."""
        return self.raw["marks"]

    @property
    def bottleneck(self) -> str | None:
        return self.raw.get("bottleneck")

    @cached_property
    def metrics(self) -> Metrics:
        """What was timed, by name; a part of the handshake is `handshake_parts.tcp`."""
        return Metrics((name, Histogram.from_base64(metric["histogram"])) for name, metric in _metrics(self.raw))

    def row(self) -> dict[str, Any]:
        """The step as one row: its counts and rates, and the main quantiles of each metric."""
        counts = {name: count for name, count in self.counts.items() if name != "errors"}
        errors = sum(error["count"] for error in self.counts["errors"].values())
        row = {"clients": self.clients, **counts, "errors": errors, **self.rates, "bottleneck": self.bottleneck}
        for name, metric in self.metrics.items():
            for label, quantile in QUANTILES.items():
                row[f"{name}_{label}"] = metric.quantile_ms(quantile)
        return row


@dataclass(frozen=True)
class Run:
    """A run. `raw` is the whole file."""

    raw: dict[str, Any]

    @property
    def id(self) -> str:
        return self.raw["id"]

    @property
    def started(self) -> str:
        return self.raw["started"]

    @property
    def scenario(self) -> str:
        return self.raw["scenario"]

    @property
    def target(self) -> str:
        return self.raw["target"].get("name") or self.raw["target"]["url"]

    @property
    def result(self) -> str:
        """PASSED, FAILED or UNCLEAR, and at what load, in a sentence."""
        return self.raw["verdict"]["result"]

    @property
    def why(self) -> str | None:
        """What held the load back, or that nothing was saturated."""
        return self.raw["verdict"].get("why")

    @property
    def how_much(self) -> str:
        """How much the server held, in a sentence."""
        return self.raw["verdict"]["how_much"]

    @property
    def breaks(self) -> str:
        """Where it broke, and why."""
        return self.raw["verdict"]["breaks"]

    @property
    def caveats(self) -> list[str]:
        """What weakens the result; empty where nothing does."""
        return self.raw["verdict"]["trust"]

    @cached_property
    def steps(self) -> list[Step]:
        return [Step(raw) for raw in self.raw["steps"]]

    def table(self) -> list[dict[str, Any]]:
        """A row for each step."""
        return [{"run": self.id, "step": number, **step.row()} for number, step in enumerate(self.steps, 1)]

    def series(self) -> list[dict[str, Any]]:
        """A row for each second under load."""
        return [
            {"run": self.id, "step": number, **second}
            for number, step in enumerate(self.steps, 1)
            for second in step.raw["series"]
        ]


def read(path: str | Path) -> list[Run]:
    """The runs in a results file, or in a directory of them; the oldest first."""
    path = Path(path)
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    runs = [_run(file) for file in files]
    return sorted((run for run in runs if run), key=lambda run: run.started)


def _run(file: Path) -> Run | None:
    raw = json.loads(file.read_text())
    if "schema" not in raw or "steps" not in raw:
        return None  # a directory may hold other files
    if raw["schema"] != SCHEMA:
        raise ValueError(f"{file}: results of schema {SCHEMA} are read here, not {raw['schema']}")
    return Run(raw)


def _metrics(step: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, value in step.items():
        if isinstance(value, dict) and "histogram" in value:
            yield name, value
    for group in GROUPS:
        for name, value in step.get(group, {}).items():
            yield f"{group}.{name}", value
