"""The permission table: verbs on resources by role, for a run on a cluster, with the profiles that need them.

The table is `permissions.yaml`. `python -m dra_conformance.rbac` compares it with the calls in a run's event log, and
`python -m verification rbac` with the audit log of a real API server. Rows with `only` are permissions that a run on
the emulated control plane does not use: they need a cluster, a feature gate, or a setting of a component. Rows with
`feature` are needed only with this entry of `--supported-features`: a feature gate or an optional feature.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec

from dra_api.objects import KNOWN, Resource
from dra_conformance.core import documents
from dra_conformance.core.tags import PROFILES

HARNESS, CLEANUP = "harness", "cleanup"
COMPONENTS = (
    "kubelet",
    "driver",
    "claim-controller",
    "scheduler",
    "binder",
    "compute-domain-controller",
    "compute-domain-plugin",
    "compute-domain-daemon",
    "taint-eviction",
)
ROLES = (HARNESS, CLEANUP, *COMPONENTS)

AGENTS = {
    "dra-conformance": HARNESS,
    "dra-conformance-observer": HARNESS,
    "dra-conformance-user": HARNESS,
    "dra-conformance-cleanup": CLEANUP,
    "health-driver": HARNESS,
    "simulated-deployments": HARNESS,
    "simulated-daemon-pods": HARNESS,
    "simulated-imex-daemons": HARNESS,
    "kubelet": "kubelet",
    "gpu-kubelet-plugin": "driver",
    "inventory-kubelet-plugin": "driver",
    "reference-claim-controller": "claim-controller",
    "reference-scheduler": "scheduler",
    "reference-binder": "binder",
    "reference-taint-eviction": "taint-eviction",
    "reference-compute-domain-controller": "compute-domain-controller",
    "reference-compute-domain-daemon": "compute-domain-daemon",
    "reference-compute-domain-plugin": "compute-domain-plugin",
}
"""The role of each user agent of a run."""

SOMETIMES = "sometimes"
"""Begin of `only` for a permission that a scenario uses only sometimes, for example after a conflict."""

IMPLIED = {"resourceclaims/binding": "resourceclaims/status", "resourceclaims/driver": "resourceclaims/status"}
"""Resources that no client requests: an API server checks them for writes of others (DRA-096, DRA-097)."""

SHARES = "it gives pods shares of GPUs"
"""The condition of what a binder needs only with a reservation namespace."""

FILE = Path(__file__).with_name("permissions.yaml")


class Permission(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Verbs on one resource (`pods`, `pods/status`).

    Without `profiles` it applies to all, except those in `besides`. `only` is a condition for permissions that are not
    always needed, and `feature` a feature gate or an optional feature without which nothing uses them.
    """

    role: str
    group: str = ""
    resource: str
    verbs: tuple[str, ...]
    profiles: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()
    only: str = ""
    feature: str = ""

    @property
    def conditional(self) -> bool:
        """Whether a run may do without the permission."""
        return bool(self.only or self.feature)

    @property
    def granted_in(self) -> frozenset[str]:
        """The profiles that need the permission."""
        return frozenset(self.profiles or PROFILES) - set(self.besides)

    def covers(self, profiles: Iterable[str]) -> bool:
        """Whether a run of these profiles (none: all) needs the permission."""
        wanted = set(profiles)
        return not wanted or bool(wanted & self.granted_in)


@cache
def permissions() -> tuple[Permission, ...]:
    """Return the whole table. Raises ValueError for an invalid row."""
    rows = msgspec.convert(documents.load(FILE) or [], tuple[Permission, ...])
    for row in rows:
        if row.role not in ROLES or {*row.profiles, *row.besides} - set(PROFILES) or not row.verbs:
            raise ValueError(f"{FILE.name}: {row} has an unknown role or profile, or no verb")
    return rows


def needed(roles: Iterable[str], profiles: Iterable[str] = (), *, features: Iterable[str] = ()) -> list[Permission]:
    """Return the rows of these roles for these profiles (none: all).

    `features` are those of `--supported-features`.
    """
    held, wanted, declared = set(roles), tuple(profiles), {"", *features}
    return [row for row in permissions() if row.role in held and row.covers(wanted) and row.feature in declared]


@cache
def made_by_runs(profiles: tuple[str, ...] = ()) -> tuple[Resource, ...]:
    """Return the resources that a run may leave behind and that the cleanup may delete."""
    return _cleaned("delete", profiles)


@cache
def finalized_by_runs() -> tuple[Resource, ...]:
    """Return the resources whose objects may have a finalizer of a run."""
    return _cleaned("patch", ())


def _cleaned(verb: str, profiles: tuple[str, ...]) -> tuple[Resource, ...]:
    wanted = {(row.group, row.resource) for row in needed([CLEANUP], profiles) if verb in row.verbs}
    return tuple(resource for resource in KNOWN if (resource.group, resource.plural) in wanted)


def may_watch(resource: Resource, profiles: Iterable[str]) -> bool:
    """Whether the harness watches a resource in a run of these profiles (none: all)."""
    wanted = tuple(profiles)
    return any(
        (row.group, row.resource) == (resource.group, resource.plural) and "watch" in row.verbs
        for row in needed([HARNESS], wanted)
    )
