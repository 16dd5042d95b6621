"""The base of all events."""

from __future__ import annotations

import msgspec


class Event(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="kind",
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """One entry of the event log. Each kind is a subclass with its own fields; one JSON object is one event.

    The log sets `seq` (1 for the first line, then one more for each), `prev` (the SHA-256 of the line before, absent in
    the first), `t` (seconds since the run began) and `scenario` (the id of the current scenario, absent outside of
    scenarios).
    """

    seq: int = 0
    prev: str = ""
    time: float = msgspec.field(default=0.0, name="t")
    scenario: str = ""
