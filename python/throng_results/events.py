"""The event log, `--events` (docs/EVENTS.md): a row for everything that happened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow


def read(path: str | Path, *kinds: str) -> pyarrow.Table:
    """The events of these kinds, or all; in the order of time. `read(…).to_pandas()` is a data frame."""
    import pyarrow.parquet

    filters = [("kind", "in", list(kinds))] if kinds else None
    return pyarrow.parquet.read_table(path, filters=filters).sort_by("time_ns")
