"""Known differences, each with its reason: read known.yaml and match it with what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import yaml

from verification.fidelity.compare import Difference

FILE = Path(__file__).resolve().parent / "known.yaml"


@dataclass(frozen=True, slots=True)
class Known:
    """One known difference: the probes and paths (shell patterns) with the difference, and the reason for it.

    `visible`: whether it can change the behaviour of a driver, scheduler, binder or controller built on client-go.
    `unaffected`: why no such program is affected although the difference is in a status code or reason.
    `chance`: the difference does not appear in every run; it depends on a race in the real control plane.
    """

    id: str
    probes: tuple[str, ...]
    where: str
    reason: str
    visible: bool = True
    unaffected: str = ""
    chance: bool = False

    def covers(self, found: Difference) -> bool:
        """Return whether this row explains a difference."""
        where = self.where.replace("[", "[[]")  # brackets are list indices here, not character sets
        return fnmatchcase(found.where, where) and any(fnmatchcase(found.probe, each) for each in self.probes)


def load(path: Path = FILE) -> list[Known]:
    """Read the known differences. Raises ValueError for a row without `reason` or `visible`."""
    rows = yaml.safe_load(path.read_text()) or []
    found = [
        Known(
            row["id"],
            tuple(row["probes"]),
            row.get("where", "*"),
            row.get("reason", ""),
            # None if it is absent: reported below with the names of all such rows.
            visible=row.get("visible"),
            unaffected=row.get("unaffected", ""),
            chance=bool(row.get("chance")),
        )
        for row in rows
    ]
    if without_reason := [each.id for each in found if not each.reason.strip()]:
        raise ValueError(f"{path.name}: no reason for {', '.join(without_reason)}: add why the difference may stay")
    if without_visible := [each.id for each in found if not isinstance(each.visible, bool)]:
        raise ValueError(
            f"{path.name}: {', '.join(without_visible)}: add visible: true or false (can a component observe it?)"
        )
    return found


def explain(found: Difference, known: Sequence[Known]) -> Known | None:
    """Return the first row that explains a difference, or None."""
    return next((each for each in known if each.covers(found)), None)


def is_visible(found: Difference, why: Known | None) -> bool:
    """Return whether a driver, scheduler or controller may observe a difference.

    It may if no row explains the difference, or if programs act on the value and the row has no `unaffected`.
    """
    if why is None or why.visible:
        return True
    # client-go and the programs built on it branch on these.
    return found.where.endswith((".code", ".reason", "steps")) and not why.unaffected.strip()


def stale(known: Sequence[Known], found: Sequence[Difference]) -> list[str]:
    """Return the rows that explain no difference and should be removed; rows of chance may stay."""
    # The first matching row explains a difference; rows behind it may be stale.
    used = {reason.id for each in found if (reason := explain(each, known)) is not None}
    return [each.id for each in known if each.id not in used and not each.chance]
