"""One of several parts of a run, `--shard I/N`: the parts run on different machines, and `merge` makes one report.

`auto/N` takes the part from the index of a pod of an Indexed Job.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from dra_conformance.core.errors import UsageError

MOST = 256
"""The largest number of shards."""
INDEX = "JOB_COMPLETION_INDEX"
"""The variable with the index of a pod of an Indexed Job, from 0."""
T = TypeVar("T")

_FORM = re.compile(r"(auto|[1-9][0-9]{0,3})/([1-9][0-9]{0,3})", re.ASCII)
_HINT = "For example --shard 2/3 for the second of three shards, or --shard auto/3 in a pod of an Indexed Job."


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """Shard `index` (from 1) of `count`."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the shard that a text such as `2/3` names. Raises UsageError."""
        found = _FORM.fullmatch(text)
        if found is None or found[1] == "auto":
            raise UsageError(f"--shard {text!r}: must be I/N", hint=_HINT)
        index, count = int(found[1]), int(found[2])
        if count > MOST:
            raise UsageError(f"--shard {text}: there are at most {MOST} shards", hint=_HINT)
        if index > count:
            raise UsageError(f"--shard {text}: the first number must be from 1 to {count}", hint=_HINT)
        return cls(index, count)

    def part_of(self, everything: Sequence[T]) -> Sequence[T]:
        """Return every `count`-th element, from element `index`. Of a range, it is a range."""
        return everything[self.index - 1 :: self.count]

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def resolved(text: str, environment: Mapping[str, str]) -> str:
    """Return the value of --shard with the index of the pod instead of `auto`. Raises UsageError."""
    found = _FORM.fullmatch(text)
    if found is None or found[1] != "auto":
        return text
    index = environment.get(INDEX, "")
    if not re.fullmatch(r"[0-9]{1,4}", index, re.ASCII):
        there = f"is {index!r}" if index else "is not set"
        raise UsageError(f"--shard {text}: {INDEX} {there}", hint="It is set in the pods of an Indexed Job. " + _HINT)
    return str(Shard.parse(f"{int(index) + 1}/{found[2]}"))


def elsewhere(index: int, count: int) -> str:
    """Return why a scenario of shard `index` does not run in another shard."""
    return f"runs in shard {index} of {count} (--shard)"
