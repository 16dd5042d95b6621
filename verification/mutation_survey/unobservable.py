"""The classification of survivors that no scenario can detect, in `unobservable.yaml`.

Every entry has a class and a reason. If more than 15 % of the mutants of a component are called unobservable, the
excess counts as survivors, so that the classification cannot replace scenarios.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from pathlib import Path

import msgspec
import yaml

FILE = Path(__file__).resolve().parent / "unobservable.yaml"
MOST = 0.15


class Class(StrEnum):
    """Why a mutant cannot be observed from outside the component."""

    EQUIVALENT = "equivalent"  # the program does the same
    LOG_TEXT = "log-text"  # only a log or an error text changes, and no rule fixes it
    PERFORMANCE = "performance"  # only speed or memory changes
    IMPOSSIBLE_STATE = "impossible-state"  # a guard against a state that cannot occur


class Entry(msgspec.Struct, frozen=True, rename={"kind": "class"}, forbid_unknown_fields=True):
    """The class of a mutant and the reason."""

    kind: Class
    reason: str


def load(file: Path = FILE) -> dict[str, Entry]:
    """Return the entries by key of the mutant. Raises msgspec.ValidationError for a wrong entry."""
    return msgspec.convert(yaml.safe_load(file.read_text()) or {}, dict[str, Entry])


def problems(entries: Mapping[str, Entry], keys: Collection[str]) -> list[str]:
    """Return a message for each entry that names no mutant of the present source."""
    return [f"{key}: there is no such mutant any more" for key in entries if key not in keys]
