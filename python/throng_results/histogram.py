"""What was timed, sample by sample: HdrHistogram V2, as results files have it (values in whole microseconds)."""

from __future__ import annotations

import base64
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

V2_COOKIE = 0x1C849313
V2_DEFLATED_COOKIE = 0x1C849314
HEADER = struct.Struct(">IIIIQQd")
# 3 significant digits: values are told apart to a 2,048th, in buckets of 1,024 from the second on.
SUB_BUCKETS = 2048
SUB_BUCKETS_HALF = SUB_BUCKETS // 2
SUB_BUCKETS_HALF_BITS = 10
# How many samples above a quantile make it worth printing (METHODOLOGY, "Quantiles").
TAIL_SAMPLES_MIN = 10


@dataclass(frozen=True)
class Histogram:
    """Durations. Each value is the upper edge of its bucket, at most 0.1% and 1 µs above the sample."""

    counts_us: Counter[int] = field(default_factory=Counter)

    @staticmethod
    def from_base64(text: str) -> Histogram:
        """Reads what a results file calls `histogram`."""
        data = base64.b64decode(text, validate=True)
        cookie, length = struct.unpack_from(">II", data)
        if cookie == V2_DEFLATED_COOKIE:
            data = zlib.decompress(data[8 : 8 + length])
        if len(data) < HEADER.size:
            raise ValueError("the histogram is cut short")
        cookie, length, _, digits, lowest, _, _ = HEADER.unpack_from(data)
        if cookie != V2_COOKIE or (digits, lowest) != (3, 1) or length != len(data) - HEADER.size:
            raise ValueError("not an HdrHistogram V2 of microseconds with 3 significant digits")
        counts: Counter[int] = Counter()
        index = 0
        for number in _zig_zag(data[HEADER.size :]):
            if number < 0:
                index -= number  # so many empty buckets
            else:
                if number > 0:
                    counts[_upper_edge_us(index)] += number
                index += 1
        return Histogram(counts)

    def __len__(self) -> int:
        return self.counts_us.total()

    def quantile_ms(self, quantile: float) -> float | None:
        """The nearest rank: the smallest value that so large a share of the samples is not above. `None`: there is no sample."""
        if not 0 <= quantile <= 1:
            raise ValueError(f"a quantile is between 0 and 1, not {quantile}")
        # Exactly what is written: 0.07 of 100 samples are 7, and not a hair more.
        rank = max(1, ceil(Fraction(str(quantile)) * len(self)))
        for value_us, samples in sorted(self.counts_us.items()):
            rank -= samples
            if rank <= 0:
                return value_us / 1000
        return None

    def is_uncertain(self, quantile: float) -> bool:
        """Whether there are too few samples above the quantile to rely on it."""
        return len(self) * (1 - Fraction(str(quantile))) < TAIL_SAMPLES_MIN

    def rows(self) -> list[dict[str, float]]:
        """A row for each occupied bucket: its value, its samples, and the share of all samples that are not above it."""
        below, rows = 0, []
        for value_us, samples in sorted(self.counts_us.items()):
            below += samples
            rows.append({"ms": value_us / 1000, "samples": samples, "share": below / len(self)})
        return rows


def merged(histograms: Iterable[Histogram]) -> Histogram:
    """All samples of several: the only right way to the percentiles of several steps, or runs."""
    counts: Counter[int] = Counter()
    for histogram in histograms:
        counts.update(histogram.counts_us)
    return Histogram(counts)


def _zig_zag(data: bytes) -> Iterator[int]:
    """LEB128 with the sign in the lowest bit; a ninth byte has eight bits (HdrHistogram, "ZigZag encoding")."""
    at = 0
    while at < len(data):
        number = shift = 0
        while True:
            byte = data[at]
            at += 1
            if shift == 56:
                number |= byte << shift
                break
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        yield (number >> 1) ^ -(number & 1)


def _upper_edge_us(index: int) -> int:
    """The largest value that is counted at this index."""
    bucket = (index >> SUB_BUCKETS_HALF_BITS) - 1
    within = (index & (SUB_BUCKETS_HALF - 1)) + SUB_BUCKETS_HALF
    if bucket < 0:
        return index
    return ((within + 1) << bucket) - 1
