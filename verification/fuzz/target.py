"""What a fuzzed parser is for the campaign: how it reads an input, and what guides the search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Read = Callable[[bytes], None]
"""Reads one input. May raise nothing."""


@dataclass(frozen=True, slots=True)
class Target:
    """A parser. `trees`: inputs are JSON, of which parts are exchanged, besides changes of bytes.

    `packages` are those whose coverage guides the search; `longest` is the length of inputs in bytes.
    """

    name: str
    prepare: Callable[[], Read]
    packages: tuple[str, ...]
    trees: bool = False
    longest: int = 4096


class Finding(Exception):
    """A parser accepted an input and broke one of its own promises."""
