"""Which writes the components make, in order, and which scenario makes each of them fail: read from event logs.

A write is a step at which state may be left half written. `made` and `struck` are pure functions of logs; the table
`half_written.yaml` beside this module is made from them (`python -m dra_conformance.faults LOG… --write`), and so is
docs/reference/partial-writes.md. Nobody owns anything here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import msgspec

from dra_api.request import Request, request_info
from dra_conformance.core.events import ApiWrite, Event, FaultInjected, read
from dra_conformance.rbac.table import AGENTS

COMPONENTS = ("claim-controller", "scheduler", "binder", "driver", "taint-eviction")
"""The components whose writes must all be covered."""

FILE = Path(__file__).with_name("half_written.yaml")
_WRITES = frozenset({"create", "update", "patch", "delete"})
_TELLING = "events"
_ORDERED = 60


@dataclass(frozen=True, slots=True, order=True)
class Write:
    """One sort of write: `update` of `resourceclaims/status` by the `binder`.

    To tell an event is one sort: the second telling of the same is a patch of the first.
    """

    component: str
    verb: str
    resource: str

    @classmethod
    def of(cls, component: str, verb: str, resource: str) -> Write:
        """The sort of a request."""
        return cls(component, "tell" if resource == _TELLING else verb, resource)

    def __str__(self) -> str:
        return f"{self.component}: {self.verb} {self.resource}"


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One write of a component and who makes it fail: scenarios (without their examples), each with the ways of failing.

    `leaves` says, in our words, what is half written when the component comes no further than this.
    """

    component: str
    verb: str
    resource: str
    leaves: str = ""
    fails_in: dict[str, list[str]] = {}

    @property
    def write(self) -> Write:
        """Its sort."""
        return Write(self.component, self.verb, self.resource)


@dataclass(slots=True)
class Found:
    """What logs show: the writes of each component in the order in which one follows another, and what made them fail."""

    order: dict[str, list[Write]] = field(default_factory=dict)
    seen_in: dict[Write, str] = field(default_factory=dict)
    fails_in: dict[Write, dict[str, set[str]]] = field(default_factory=dict)

    @property
    def uncovered(self) -> list[Write]:
        """Writes that no scenario makes fail."""
        return sorted(set(self.seen_in) - set(self.fails_in))


def of_logs(logs: Iterable[Path]) -> Found:
    """Read event logs of runs with the reference in its components. Raises UsageError for what is none."""
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
    """Writes so that one stands before another where it comes first in more of the stories that have both.

    Events are told beside everything else, so they come last. Ties are broken by name.
    """
    before: dict[tuple[Write, Write], int] = {}
    for story in stories:
        for place, one in enumerate(story):
            for other in story[place + 1 :]:
                before[one, other] = before.get((one, other), 0) + 1
    mine = sorted(writes)

    def wins(write: Write) -> int:
        return sum(before.get((write, other), 0) > before.get((other, write), 0) for other in mine)

    return sorted(mine, key=lambda write: (write.resource == _TELLING, -wins(write), write))


def _made(event: Event) -> Write | None:
    """The write of a component that was carried out."""
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
    """The write that a scenario made fail."""
    if event.component not in COMPONENTS or event.verb not in _WRITES:
        return None
    return Write.of(event.component, event.verb, event.resource)


def _outline(scenario: str) -> str:
    """A scenario's id without its example."""
    return scenario.partition("[")[0]


def rows_of(found: Found, *, kept: Iterable[Row] = ()) -> list[Row]:
    """The table that logs show; what a write leaves is taken from the rows that are kept."""
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
    """In words: writes that no scenario makes fail, and where logs and table do not speak of the same writes."""
    known = {row.write for row in table}
    told = [f"{write}: no scenario makes this fail (seen in {found.seen_in[write]})" for write in found.uncovered]
    told += [
        f"{write}: not in the table (seen in {found.seen_in[write]})" for write in sorted(set(found.seen_in) - known)
    ]
    return told + [f"{write}: in the table, but no part made it" for write in sorted(known - set(found.seen_in))]


class Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file: writes to the API server, and what the driver does to disk and hardware in each of some stories."""

    writes: tuple[Row, ...]
    disk: dict[str, tuple[str, ...]]


@cache
def kept() -> Kept:
    """The table as it is kept. Raises msgspec.ValidationError for a row that cannot be."""
    import yaml

    return msgspec.convert(yaml.safe_load(FILE.read_text()), Kept)
