"""The rows of the table, read from `fixes/*.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
import yaml

HERE = Path(__file__).resolve().parent

Interface = Literal["api", "grpc", "cdi", "nvml", "metrics"]
Outcome = Literal["detected", "not yet", "not observable"]


class Seen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The real program in which the suite saw the bug.

    `passes_on` is empty if no release with the fix was run. `recorded` is the day on which the verdict was recorded, in
    `verification/third_party/expected` if the program is there.
    """

    fails_on: str
    recorded: str
    passes_on: str = ""


class Fix(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One bug and its fix.

    `source` is the pull request or issue (`#N` is one of the file's project); `also` lists its backports and others
    that belong to it. `observable` lists the interfaces through which a black-box test can see the bug; it is empty if
    `not_observable` has the reason. `mutants` are faults of a reference component that have this very bug. `needs` is
    what a bug lacks that the suite does not detect yet.
    """

    source: str
    wrong: str
    affected: str
    fixed_in: str
    observable: tuple[Interface, ...] = ()
    also: tuple[str, ...] = ()
    not_observable: str = ""
    rules: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    seen: Seen | None = None
    mutants: tuple[str, ...] = ()
    needs: str = ""

    @property
    def outcome(self) -> Outcome:
        """Whether a scenario fails if the bug is present."""
        if self.not_observable:
            return "not observable"
        return "detected" if self.seen or self.mutants else "not yet"

    def problems(self) -> list[str]:
        """Return the contradictions within this row."""
        found = []
        if bool(self.not_observable) == bool(self.observable):
            found.append("needs either observable or not_observable")
        if self.outcome == "detected" and not (self.rules and self.scenarios):
            found.append("is detected without a rule or scenario")
        if (self.outcome == "not yet") != bool(self.needs):
            found.append("has needs if, and only if, it is not detected yet")
        if self.not_observable and (self.seen or self.mutants):
            found.append("is not observable, but was detected")
        return [f"{self.source} {one}" for one in found]


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fixes of one project, or of one minor release of it. `order` is its position on the page."""

    order: int
    title: str
    project: str
    fixes: tuple[Fix, ...]

    def count(self, *outcomes: Outcome) -> int:
        """Return the number of fixes with one of these outcomes."""
        return sum(one.outcome in outcomes for one in self.fixes)


def load(folder: Path = HERE / "fixes") -> list[Section]:
    """Read all sections in the order of the page.

    Raises: ValueError naming the file, for one that cannot be read.
    """
    found = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            found.append(msgspec.convert(yaml.safe_load(path.read_text()), Section))
        except (msgspec.ValidationError, yaml.YAMLError) as error:
            raise ValueError(f"{path.name}: {error}") from None
    return sorted(found, key=lambda section: section.order)
