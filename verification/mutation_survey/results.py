"""Stored results: one JSON line for each mutant, appended as it ends, so that an interrupted survey goes on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from verification.mutation_survey.mutants import Mutant
from verification.mutation_survey.trial import Outcome


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a mutant for one digest of the source. `reaching` are the rules of the scenarios that ran."""

    digest: str
    mutant: Mutant
    outcome: Outcome
    why: str = "line"
    scenarios: int = 0
    reaching: tuple[str, ...] = ()
    date: str = ""


class Store:
    """A file of results."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def add(self, result: Result) -> None:
        """Append a result."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("ab") as out:
            out.write(msgspec.json.encode(result) + b"\n")

    def take(self, other: Store) -> None:
        """Append the results of another file that are not here."""
        known = set(map(msgspec.json.encode, self.all()))
        for one in other.all():
            if msgspec.json.encode(one) not in known:
                self.add(one)

    def all(self) -> Iterable[Result]:
        """Yield all complete lines, oldest first."""
        if self.file.exists():
            for line in self.file.read_bytes().splitlines():
                try:
                    yield msgspec.json.decode(line, type=Result)
                except msgspec.DecodeError:
                    continue  # the last line of an interrupted survey, or one of an older format

    def of(self, digest: str) -> dict[str, Result]:
        """Return the results for a digest, by key of the mutant."""
        return {one.mutant.key: one for one in self.all() if one.digest == digest}

    def latest(self) -> dict[str, Result]:
        """Return the newest result of every mutant, whatever the source was."""
        return {one.mutant.key: one for one in self.all()}
