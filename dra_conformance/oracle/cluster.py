"""Everything that the judge knows of a cluster, indexed: pools, classes, nodes, pods, and who uses which device.

A `Cluster` is immutable; it is built from objects, or from facts already decoded, and computes its indices once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from dra_api.objects import Obj
from dra_conformance.oracle.decoding import decode
from dra_conformance.oracle.nodes import Offer, Place, only_node, requirements
from dra_conformance.oracle.pools import DeviceId, Listed, Pool, PoolId
from dra_conformance.oracle.schema import (
    Claim,
    Device,
    DeviceClass,
    Fact,
    Node,
    NodeSelector,
    Pod,
    Result,
    Slice,
    Taint,
    TaintRule,
)
from dra_conformance.oracle.well_formed import Malformed


@dataclass(frozen=True, slots=True)
class Use:
    """One allocation result that counts, and whose it is. Results with admin access do not count (DRA-234)."""

    claim: Claim
    number: int
    result: Result


@dataclass(frozen=True)
class Cluster:
    """The facts of a cluster at one moment."""

    slices: tuple[Slice, ...] = ()
    classes: tuple[DeviceClass, ...] = ()
    claims: tuple[Claim, ...] = ()
    taint_rules: tuple[TaintRule, ...] = ()
    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    _of: Mapping[PoolId, Pool] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, objects: Iterable[Obj]) -> Cluster:
        """A cluster from API objects of any served version; other kinds are left out. Raises Malformed."""
        return cls.of_facts(fact for fact in map(decode, objects) if fact is not None)

    @classmethod
    def of_facts(cls, facts: Iterable[Fact]) -> Cluster:
        """A cluster from decoded objects."""
        by_kind: dict[type[Fact], list[Fact]] = {}
        for fact in facts:
            by_kind.setdefault(type(fact), []).append(fact)
        kinds = (Slice, DeviceClass, Claim, TaintRule, Node, Pod)
        return cls(*(tuple(by_kind.get(kind, ())) for kind in kinds))  # type: ignore[arg-type]

    def with_claims(self, claims: Iterable[Claim]) -> Cluster:
        """The same cluster with other claims; claims of the same key are replaced."""
        new = {claim.key: claim for claim in claims}
        kept = [claim for claim in self.claims if claim.key not in new]
        return replace(self, claims=(*kept, *new.values()), _of=self.pools)

    # -- indices ---------------------------------------------------------------------------------------------------

    @cached_property
    def pools(self) -> Mapping[PoolId, Pool]:
        """Every pool by driver and name."""
        if self._of is not None:
            return self._of
        pieces: dict[PoolId, list[Slice]] = {}
        for piece in self.slices:
            pieces.setdefault((piece.spec.driver, piece.spec.pool.name), []).append(piece)
        return {
            pool: Pool(
                pool,
                slices,
                [
                    Listed(device, piece, self._taints(piece, device))
                    for piece in slices
                    for device in piece.spec.devices
                ],
            )
            for pool, slices in sorted(pieces.items())
        }

    def _listed_by(self, piece: Slice) -> list[Listed]:
        return [Listed(device, piece, self._taints(piece, device)) for device in piece.spec.devices]

    def _taints(self, piece: Slice, device: Device) -> tuple[Taint, ...]:
        """A device's own taints and those of the rules that select it; without a selector a rule selects nothing."""
        laid = [
            rule.spec.taint
            for rule in self.taint_rules
            if (selector := rule.spec.device_selector) is not None
            and selector.driver in ("", piece.spec.driver)
            and selector.pool in ("", piece.spec.pool.name)
            and selector.device in ("", device.name)
        ]
        return (*device.taints, *laid)

    @cached_property
    def _near(self) -> tuple[dict[str, list[Pool]], list[Pool]]:
        """Pools that only some nodes can use, by node name, and pools that any node may use."""
        local: dict[str, list[Pool]] = {}
        shared: list[Pool] = []
        for pool in self.pools.values():
            named = {entry.offer.node_name for entries in pool.by_name.values() for entry in entries}
            if "" in named:
                shared.append(pool)
            for name in named - {""} if "" not in named else ():
                local.setdefault(name, []).append(pool)
        return local, shared

    def pools_for(self, place: Place) -> list[Pool]:
        """The pools that may offer a device to a node, by driver and name."""
        local, shared = self._near
        return sorted([*local.get(place.name, ()), *shared], key=lambda pool: pool.id)

    @cached_property
    def classes_by_name(self) -> dict[str, DeviceClass]:
        """Classes by name."""
        return {found.metadata.name: found for found in self.classes}

    @cached_property
    def places(self) -> dict[str, Place]:
        """The nodes by name, with their labels."""
        return {node.metadata.name: Place(node.metadata.name, node.metadata.labels) for node in self.nodes}

    @cached_property
    def pods_by_uid(self) -> dict[str, Pod]:
        """Pods by uid."""
        return {pod.metadata.uid: pod for pod in self.pods if pod.metadata.uid}

    @cached_property
    def uses(self) -> dict[DeviceId, list[Use]]:
        """Who uses each device, shared or not, admin access aside."""
        found: dict[DeviceId, list[Use]] = {}
        for claim in self.claims:
            for number, result in enumerate(claim.results):
                if not result.admin_access:
                    found.setdefault(result.id, []).append(Use(claim, number, result))
        return found

    @cached_property
    def uses_by_pool(self) -> dict[PoolId, list[Use]]:
        """Who uses devices of each pool."""
        found: dict[PoolId, list[Use]] = {}
        for (driver, pool, _), uses in self.uses.items():
            found.setdefault((driver, pool), []).extend(uses)
        return found

    # -- look-ups --------------------------------------------------------------------------------------------------

    def place(self, name: str) -> Place:
        """A node by name; one that is not among the objects is known by its name only."""
        return self.places.get(name) or Place(name)

    def listed(self, claim: Claim, result: Result) -> Listed | None:
        """The device behind a result, in the current generation of its pool.

        Slices for several nodes may use one name in one pool: the node that the allocation is pinned to decides, and
        where it is pinned to none, what its node selector says.
        """
        pool = self.pools.get((result.driver, result.pool))
        entries = pool.by_name.get(result.device, []) if pool else []
        if len(entries) > 1 and claim.status.allocation is not None:
            selector = claim.status.allocation.node_selector
            node = only_node(selector)
            place = self.place(node)
            entries = [entry for entry in entries if entry.offer.to(place) is not False] or entries
            if not node:
                entries = sorted(entries, key=lambda entry: _likeness(entry.offer, selector), reverse=True)
        return entries[0] if entries else None


def _likeness(found: Offer, selector: NodeSelector | None) -> tuple[bool, int]:
    """How much an allocation's node selector says that a device was taken from a slice with this offer."""
    said, wanted = requirements([selector]), requirements([found.node_selector])
    return wanted <= said, len(wanted)


def read_claim(obj: Obj) -> Claim:
    """One ResourceClaim. Raises Malformed."""
    found = decode(obj)
    if not isinstance(found, Claim):
        raise Malformed("kind", f"expected a ResourceClaim, got {obj.get('kind')!r}")
    return found
