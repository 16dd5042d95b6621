"""Findings of the doctor, one for each check."""

from __future__ import annotations

from enum import Enum

import msgspec


class State(Enum):
    """`missing`: does not exist; `wrong`: exists, but cannot be used."""

    OK = "ok"
    MISSING = "missing"
    WRONG = "wrong"


class Finding(msgspec.Struct, frozen=True, rename="camel"):
    """The result of one check.

    `found` is the state, `cause` the problem and `way_out` the suggested fix. `needed`: whether the run needs it.
    """

    area: str
    name: str
    state: State
    found: str = ""
    cause: str = ""
    way_out: str = ""
    needed: bool = True

    @property
    def prevents_run(self) -> bool:
        """Whether the finding prevents the run."""
        return self.needed and self.state is not State.OK


def ok(area: str, name: str, found: str = "", *, needed: bool = True) -> Finding:
    """Return a finding without a problem."""
    return Finding(area, name, State.OK, found, needed=needed)


def missing(area: str, name: str, cause: str, way_out: str, *, needed: bool = True) -> Finding:
    """Return a finding about something that does not exist."""
    return Finding(area, name, State.MISSING, "", cause, way_out, needed)


def wrong(area: str, name: str, cause: str, way_out: str, *, found: str = "", needed: bool = True) -> Finding:
    """Return a finding about something that exists but cannot be used."""
    return Finding(area, name, State.WRONG, found, cause, way_out, needed)
