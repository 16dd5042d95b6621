"""The table of rights: who, in a run on a cluster, may do what with which resource, and for which profiles.

The table is `rights.yaml` beside this module. It is checked, not believed: `python -m dra_conformance.rbac` compares
it with the calls in a run's event log, and `python -m verification rbac` with the audit log of a real API server.
Rows with `only` hold where an ordinary rehearsal does not come: on a cluster, with a gate, with a setting of a component.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec

from dra_api.objects import KNOWN, Resource
from dra_conformance.core.tags import PROFILES

HARNESS, CLEANUP = "harness", "cleanup"
COMPONENTS = (
    "kubelet",
    "driver",
    "claim-controller",
    "scheduler",
    "binder",
    "compute-domain-controller",
    "taint-eviction",
)
HOLDERS = (HARNESS, CLEANUP, *COMPONENTS)

AGENTS = {
    "dra-conformance": HARNESS,
    "dra-conformance-observer": HARNESS,
    "dra-conformance-user": HARNESS,
    "dra-conformance-cleanup": CLEANUP,
    "health-driver": HARNESS,
    "simulated-imex-daemons": HARNESS,
    "kubelet": "kubelet",
    "gpu-kubelet-plugin": "driver",
    "inventory-kubelet-plugin": "driver",
    "reference-claim-controller": "claim-controller",
    "reference-scheduler": "scheduler",
    "reference-binder": "binder",
    "reference-taint-eviction": "taint-eviction",
    "compute-domain-controller": "compute-domain-controller",
    "compute-domain-kubelet-plugin": "compute-domain-controller",
}
"""Holder of the rights behind each user agent of a run."""

SOMETIMES = "sometimes"
"""How `only` begins for a right that no scenario asks for each time: a watch that lags, a conflict."""

IMPLIED = {"resourceclaims/binding": "resourceclaims/status", "resourceclaims/driver": "resourceclaims/status"}
"""Nobody requests these: an API server asks for rights on them when the other one is written (DRA-096, DRA-097)."""

FILE = Path(__file__).with_name("rights.yaml")


class Right(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Verbs on one resource (`pods`, `pods/status`).

    No `profiles`: all of them, but for those in `besides`. `only` says when it is needed, where that is not always.
    """

    holder: str
    group: str = ""
    resource: str
    verbs: tuple[str, ...]
    profiles: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()
    only: str = ""

    @property
    def held_in(self) -> frozenset[str]:
        """The profiles for which it is printed."""
        return frozenset(self.profiles or PROFILES) - set(self.besides)

    def covers(self, profiles: Iterable[str]) -> bool:
        """Whether a run of these profiles (none: all) needs it."""
        wanted = set(profiles)
        return not wanted or bool(wanted & self.held_in)


@cache
def rights() -> tuple[Right, ...]:
    """The whole table. Raises ValueError for a row that cannot be."""
    import yaml

    rows = msgspec.convert(yaml.safe_load(FILE.read_text()) or [], tuple[Right, ...])
    for row in rows:
        if row.holder not in HOLDERS or {*row.profiles, *row.besides} - set(PROFILES) or not row.verbs:
            raise ValueError(f"{FILE.name}: {row} names a holder or a profile that is not known, or no verb")
    return rows


def needed(holders: Iterable[str], profiles: Iterable[str] = ()) -> list[Right]:
    """The rows for these holders and profiles (none: all)."""
    held, wanted = set(holders), tuple(profiles)
    return [row for row in rights() if row.holder in held and row.covers(wanted)]


@cache
def made_by_runs(profiles: tuple[str, ...] = ()) -> tuple[Resource, ...]:
    """Every kind that a run may leave behind: what the cleanup may delete."""
    return _cleaned("delete", profiles)


@cache
def held_by_runs() -> tuple[Resource, ...]:
    """Every kind whose objects may carry a finalizer that a run put there."""
    return _cleaned("patch", ())


def _cleaned(verb: str, profiles: tuple[str, ...]) -> tuple[Resource, ...]:
    wanted = {(row.group, row.resource) for row in needed([CLEANUP], profiles) if verb in row.verbs}
    return tuple(resource for resource in KNOWN if (resource.group, resource.plural) in wanted)


def may_watch(resource: Resource, profiles: Iterable[str]) -> bool:
    """Whether the harness watches a kind in a run of these profiles (none: all)."""
    wanted = tuple(profiles)
    return any(
        (row.group, row.resource) == (resource.group, resource.plural) and "watch" in row.verbs
        for row in needed([HARNESS], wanted)
    )
