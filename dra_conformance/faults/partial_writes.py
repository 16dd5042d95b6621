"""The writes of each component, in order, and the scenarios that make each of them fail, from event logs.

A component that stops after a write leaves a partial update behind. `python -m dra_conformance.faults LOG… --write`
generates the table `partial_writes.yaml` and docs/reference/partial-writes.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import msgspec

from dra_api.request import Request, request_info
from dra_conformance.core import documents
from dra_conformance.core.events import ApiWrite, Event, FaultInjected, read
from dra_conformance.rbac.table import AGENTS

COMPONENTS = ("claim-controller", "scheduler", "binder", "driver", "taint-eviction")
"""The components whose writes must all be covered."""

FILE = Path(__file__).with_name("partial_writes.yaml")
_WRITES = frozenset({"create", "update", "patch", "delete"})
_EVENTS = "events"
# Types of writes of one scenario that are ordered; limits the comparison of pairs.
_ORDERED = 60


@dataclass(frozen=True, slots=True, order=True)
class Write:
    """One type of write: `update` of `resourceclaims/status` by the `binder`.

    Creating and patching an Event are one type, `record`: a repeated Event is a patch of the first.
    """

    component: str
    verb: str
    resource: str

    @classmethod
    def of(cls, component: str, verb: str, resource: str) -> Write:
        """Return the type of a request."""
        return cls(component, "record" if resource == _EVENTS else verb, resource)

    def __str__(self) -> str:
        return f"{self.component}: {self.verb} {self.resource}"


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One write of a component, and the scenarios (without examples) that make it fail, each with its faults.

    `leaves` describes the state when the component stops after this write.
    """

    component: str
    verb: str
    resource: str
    leaves: str = ""
    fails_in: dict[str, list[str]] = {}

    @property
    def write(self) -> Write:
        """The type of the write."""
        return Write(self.component, self.verb, self.resource)


@dataclass(slots=True)
class Found:
    """The contents of logs: the writes of each component in order, and the faults that made them fail."""

    order: dict[str, list[Write]] = field(default_factory=dict)
    seen_in: dict[Write, str] = field(default_factory=dict)
    fails_in: dict[Write, dict[str, set[str]]] = field(default_factory=dict)

    @property
    def uncovered(self) -> list[Write]:
        """Writes that no scenario makes fail."""
        return sorted(set(self.seen_in) - set(self.fails_in))


def of_logs(logs: Iterable[Path]) -> Found:
    """Read event logs of runs with reference components. Raises UsageError for other files."""
    found = Found()
    stories: dict[tuple[str, str], list[Write]] = {}
    for path in logs:
        for event in read(path):
            if (write := _made(event)) is not None:
                found.seen_in.setdefault(write, event.scenario)
                story = stories.setdefault((write.component, event.scenario), [])
                if write not in story and len(story) < _ORDERED:
                    story.append(write)
            elif isinstance(event, FaultInjected) and (struck := _struck(event)) is not None:
                ways = found.fails_in.setdefault(struck, {}).setdefault(_outline(event.scenario), set())
                ways.add(event.what)
    for component in COMPONENTS:
        mine = [write for write in found.seen_in if write.component == component]
        found.order[component] = in_order(mine, [story for (who, _), story in stories.items() if who == component])
    return found


def in_order(writes: Iterable[Write], stories: Iterable[list[Write]]) -> list[Write]:
    """Return writes in order: one precedes another if it is first in most of the scenarios that have both.

    Components record Events independently of other writes, so they come last. Names decide ties.
    """
    before: dict[tuple[Write, Write], int] = {}
    for story in stories:
        for place, one in enumerate(story):
            for other in story[place + 1 :]:
                before[one, other] = before.get((one, other), 0) + 1
    mine = sorted(writes)

    def wins(write: Write) -> int:
        return sum(before.get((write, other), 0) > before.get((other, write), 0) for other in mine)

    return sorted(mine, key=lambda write: (write.resource == _EVENTS, -wins(write), write))


def _made(event: Event) -> Write | None:
    """Return the successful write of a component in an event, or None."""
    if not isinstance(event, ApiWrite) or not event.scenario or event.status >= 400:
        return None
    component = AGENTS.get(event.agent, "")
    if component not in COMPONENTS:
        return None
    info = request_info(Request(event.method, event.path, ()))
    if not info.is_resource or info.verb not in _WRITES:
        return None
    return Write.of(component, info.verb, f"{info.resource}/{info.subresource}" if info.subresource else info.resource)


def _struck(event: FaultInjected) -> Write | None:
    """Return the write that a fault in an event made fail, or None."""
    if event.component not in COMPONENTS or event.verb not in _WRITES:
        return None
    return Write.of(event.component, event.verb, event.resource)


def _outline(scenario: str) -> str:
    """Return a scenario's id without its example."""
    return scenario.partition("[")[0]


def rows_of(found: Found, *, kept: Iterable[Row] = ()) -> list[Row]:
    """Return the rows for logs; `leaves` is taken from the stored rows."""
    leaves = {row.write: row.leaves for row in kept}
    return [
        Row(
            component=component,
            verb=write.verb,
            resource=write.resource,
            leaves=leaves.get(write, ""),
            fails_in={name: sorted(ways) for name, ways in sorted(found.fails_in.get(write, {}).items())},
        )
        for component in COMPONENTS
        for write in found.order[component]
    ]


def differences(found: Found, table: Iterable[Row]) -> list[str]:
    """Return messages about writes that no scenario makes fail, and differences between logs and table."""
    known = {row.write for row in table}
    problems = [f"{write}: no scenario makes this fail (seen in {found.seen_in[write]})" for write in found.uncovered]
    problems += [
        f"{write}: not in the table (seen in {found.seen_in[write]})" for write in sorted(set(found.seen_in) - known)
    ]
    return problems + [
        f"{write}: in the table, but no component made it" for write in sorted(known - set(found.seen_in))
    ]


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file: writes to the API server, and the driver's effects on disk and hardware in some scenarios."""

    writes: tuple[Row, ...]
    disk: dict[str, tuple[str, ...]]


@cache
def stored() -> Table:
    """Return the stored table. Raises msgspec.ValidationError for an invalid row."""
    return msgspec.convert(documents.load(FILE), Table)
