"""What became of a fuzzed parser, and what counts as a finding besides an exception."""

from __future__ import annotations

from dataclasses import dataclass

SLOWEST_S = 10
"""Seconds for one input, at most; instrumented code is about ten times slower than usual."""
LARGEST_MB = 2048
"""Memory of the process, at most."""


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """What became of a target: `inputs` that it read in `seconds`, or the `finding` that ended it, and its input."""

    target: str
    inputs: int = 0
    seconds: int = 0
    finding: str = ""
    saved: str = ""
