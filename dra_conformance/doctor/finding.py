"""What the doctor says: one finding for each thing that it looked at."""

from __future__ import annotations

from enum import Enum

import msgspec


class State(Enum):
    """`missing` is not there; `wrong` is there, but not as it must be."""

    OK = "ok"
    MISSING = "missing"
    WRONG = "wrong"


class Finding(msgspec.Struct, frozen=True, rename="camel"):
    """One thing that was looked at.

    `found` is what is there; `cause` says what is wrong with it and `way_out` what to do. `needed` is whether the run
    that was asked about can do without.
    """

    area: str
    name: str
    state: State
    found: str = ""
    cause: str = ""
    way_out: str = ""
    needed: bool = True

    @property
    def stands_in_the_way(self) -> bool:
        """Whether the run cannot go on like this."""
        return self.needed and self.state is not State.OK


def ok(area: str, name: str, found: str = "", *, needed: bool = True) -> Finding:
    """All is well."""
    return Finding(area, name, State.OK, found, needed=needed)


def missing(area: str, name: str, cause: str, way_out: str, *, needed: bool = True) -> Finding:
    """It is not there."""
    return Finding(area, name, State.MISSING, "", cause, way_out, needed)


def wrong(area: str, name: str, cause: str, way_out: str, *, found: str = "", needed: bool = True) -> Finding:
    """It is there, but not as it must be."""
    return Finding(area, name, State.WRONG, found, cause, way_out, needed)
