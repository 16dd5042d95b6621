"""Differences that are known, each with its reason: known.yaml, read and matched."""

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
    """One known difference: the probes and places (shell patterns) where it shows, and why it stays.

    `visible`: whether a driver, scheduler, binder or controller built on client-go can behave otherwise for it.
    `nobody`: why none of them meets it although it is of a status code or a reason, on which programs act.
    `chance`: it does not show every time, because it is a matter of who comes first on the real control plane.
    """

    id: str
    probes: tuple[str, ...]
    where: str
    reason: str
    visible: bool = True
    nobody: str = ""
    chance: bool = False

    def covers(self, found: Difference) -> bool:
        """Whether it explains a difference."""
        where = self.where.replace("[", "[[]")  # brackets are list indices here, no character sets
        return fnmatchcase(found.where, where) and any(fnmatchcase(found.probe, each) for each in self.probes)


def load(path: Path = FILE) -> list[Known]:
    """The known differences. Raises ValueError for a row without reason, or that does not say who can see it."""
    rows = yaml.safe_load(path.read_text()) or []
    found = [
        Known(
            row["id"],
            tuple(row["probes"]),
            row.get("where", "*"),
            row.get("reason", ""),
            visible=row.get("visible"),
            nobody=row.get("nobody", ""),
            chance=bool(row.get("chance")),
        )
        for row in rows
    ]
    if silent := [each.id for each in found if not each.reason.strip()]:
        raise ValueError(f"{path.name}: no reason for {', '.join(silent)}; say why the difference may stay")
    if unsaid := [each.id for each in found if not isinstance(each.visible, bool)]:
        raise ValueError(
            f"{path.name}: {', '.join(unsaid)}: say with visible: true or false whether a component can see it"
        )
    return found


def explain(found: Difference, known: Sequence[Known]) -> Known | None:
    """The first known difference that covers this one."""
    return next((each for each in known if each.covers(found)), None)


def can_be_seen(found: Difference, why: Known | None) -> bool:
    """Whether a driver, scheduler or controller can see a difference, as far as is known.

    It counts as seen while nothing explains it, and where programs act on what differs and no row says which they are.
    """
    if why is None or why.visible:
        return True
    return found.where.endswith((".code", ".reason", "steps")) and not why.nobody.strip()


def stale(known: Sequence[Known], found: Sequence[Difference]) -> list[str]:
    """The known differences that explain nothing any more: they are to be removed, but for those of chance."""
    used = {reason.id for each in found if (reason := explain(each, known)) is not None}
    return [each.id for each in known if each.id not in used and not each.chance]
