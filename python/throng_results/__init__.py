"""Results of throng for notebooks: runs, their steps, and the histograms of what was timed."""

from .histogram import Histogram, merged
from .run import Run, Step, read

__all__ = ["Histogram", "Run", "Step", "merged", "read"]
