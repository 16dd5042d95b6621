"""All API objects that the checker reads, indexed: pools, classes, nodes, pods, and the claims that use each device.

A `Cluster` is immutable. It is built from objects, or from objects already decoded, and computes its indices once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from dra_api.objects import Obj
from dra_conformance.oracle.decoding import decode
from dra_conformance.oracle.nodes import NodeAccess, NodeView, only_node, requirements
from dra_conformance.oracle.pools import DeviceId, Pool, PoolDevice, PoolId
from dra_conformance.oracle.schema import (
    Claim,
    DecodedObject,
    Device,
    DeviceClass,
    Node,
    NodeSelector,
    Pod,
    ResourceSlice,
    Result,
    Taint,
    TaintRule,
)
from dra_conformance.oracle.well_formed import Malformed


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """One allocation result that reserves a device, with its claim. Admin access reserves nothing (DRA-234)."""

    claim: Claim
    number: int
    result: Result


@dataclass(frozen=True)
class Cluster:
    """The objects of a cluster at one moment."""

    slices: tuple[ResourceSlice, ...] = ()
    classes: tuple[DeviceClass, ...] = ()
    claims: tuple[Claim, ...] = ()
    taint_rules: tuple[TaintRule, ...] = ()
    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    _known_pools: Mapping[PoolId, Pool] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, objects: Iterable[Obj]) -> Cluster:
        """Return a cluster of API objects of any served version. Other kinds are ignored. Raises Malformed."""
        return cls.of_decoded(one for one in map(decode, objects) if one is not None)

    @classmethod
    def of_decoded(cls, decoded: Iterable[DecodedObject]) -> Cluster:
        """Return a cluster of decoded objects."""
        by_kind: dict[type[DecodedObject], list[DecodedObject]] = {}
        for one in decoded:
            by_kind.setdefault(type(one), []).append(one)
        kinds = (ResourceSlice, DeviceClass, Claim, TaintRule, Node, Pod)
        return cls(*(tuple(by_kind.get(kind, ())) for kind in kinds))  # type: ignore[arg-type]

    def with_claims(self, claims: Iterable[Claim]) -> Cluster:
        """Return the same cluster with more claims; claims of the same namespace and name are replaced."""
        new = {claim.key: claim for claim in claims}
        kept = [claim for claim in self.claims if claim.key not in new]
        # Pools do not depend on claims: the copy keeps them, with the results of selectors that they cache.
        return replace(self, claims=(*kept, *new.values()), _known_pools=self.pools)

    def with_objects(self, objects: Iterable[Obj]) -> Cluster:
        """Return the same cluster with more objects of the API, all of them new. Raises Malformed."""
        new = Cluster.of(objects)
        more = replace(new, taint_rules=(*self.taint_rules, *new.taint_rules)).pools
        # Pools that stay as they are keep the results of selectors that they cache.
        same = not new.taint_rules and not self.pools.keys() & more.keys()
        return Cluster(
            slices=(*self.slices, *new.slices),
            classes=(*self.classes, *new.classes),
            claims=(*self.claims, *new.claims),
            taint_rules=(*self.taint_rules, *new.taint_rules),
            nodes=(*self.nodes, *new.nodes),
            pods=(*self.pods, *new.pods),
            _known_pools=dict(sorted({**self.pools, **more}.items())) if same else None,
        )

    # -- indices ---------------------------------------------------------------------------------------------------

    @cached_property
    def pools(self) -> Mapping[PoolId, Pool]:
        """Every pool by driver and name."""
        if self._known_pools is not None:
            return self._known_pools
        slices_of: dict[PoolId, list[ResourceSlice]] = {}
        for resource_slice in self.slices:
            slices_of.setdefault((resource_slice.spec.driver, resource_slice.spec.pool.name), []).append(resource_slice)
        return {
            pool: Pool(
                pool,
                slices,
                [
                    PoolDevice(device, resource_slice, self._taints(resource_slice, device))
                    for resource_slice in slices
                    for device in resource_slice.spec.devices
                ],
            )
            for pool, slices in sorted(slices_of.items())
        }

    def _taints(self, resource_slice: ResourceSlice, device: Device) -> tuple[Taint, ...]:
        """Return a device's own taints and those of rules that select it. A rule without a selector selects none."""
        from_rules = [
            rule.spec.taint
            for rule in self.taint_rules
            if (selector := rule.spec.device_selector) is not None
            and selector.driver in ("", resource_slice.spec.driver)
            and selector.pool in ("", resource_slice.spec.pool.name)
            and selector.device in ("", device.name)
        ]
        return (*device.taints, *from_rules)

    @cached_property
    def _pools_by_node(self) -> tuple[dict[str, list[Pool]], list[Pool]]:
        """Pools that only named nodes can use, by node name, and all other pools."""
        # Most pools belong to one node; looking at all pools for every node would be quadratic.
        local: dict[str, list[Pool]] = {}
        shared: list[Pool] = []
        for pool in self.pools.values():
            named = {entry.node_access.node_name for entries in pool.by_name.values() for entry in entries}
            if "" in named:
                shared.append(pool)
            for name in named - {""} if "" not in named else ():
                local.setdefault(name, []).append(pool)
        return local, shared

    @cached_property
    def incomplete_pools(self) -> list[Pool]:
        """The pools of which not all slices are published, ordered by driver and name."""
        return [pool for pool in self.pools.values() if not pool.complete]

    def pools_for(self, node: NodeView) -> list[Pool]:
        """Return the pools that may have a device for a node, ordered by driver and name."""
        local, shared = self._pools_by_node
        return sorted([*local.get(node.name, ()), *shared], key=lambda pool: pool.id)

    @cached_property
    def classes_by_name(self) -> dict[str, DeviceClass]:
        """Classes by name."""
        return {found.metadata.name: found for found in self.classes}

    @cached_property
    def node_views(self) -> dict[str, NodeView]:
        """Nodes by name, with their labels and declared features."""
        return {
            node.metadata.name: NodeView(node.metadata.name, node.metadata.labels, tuple(node.status.declared_features))
            for node in self.nodes
        }

    @cached_property
    def pods_by_uid(self) -> dict[str, Pod]:
        """Pods by uid."""
        return {pod.metadata.uid: pod for pod in self.pods if pod.metadata.uid}

    @cached_property
    def uses(self) -> dict[DeviceId, list[DeviceUse]]:
        """The allocation results of each device, without those with admin access."""
        found: dict[DeviceId, list[DeviceUse]] = {}
        for claim in self.claims:
            for number, result in enumerate(claim.results):
                if not result.admin_access:
                    found.setdefault(result.id, []).append(DeviceUse(claim, number, result))
        return found

    @cached_property
    def uses_by_pool(self) -> dict[PoolId, list[DeviceUse]]:
        """The allocation results of each pool's devices, without those with admin access."""
        found: dict[PoolId, list[DeviceUse]] = {}
        for (driver, pool, _), uses in self.uses.items():
            found.setdefault((driver, pool), []).extend(uses)
        return found

    # -- look-ups --------------------------------------------------------------------------------------------------

    def node_view(self, name: str) -> NodeView:
        """Return a node by name; without labels if there is no such Node object."""
        return self.node_views.get(name) or NodeView(name)

    def pool_device(self, claim: Claim, result: Result) -> PoolDevice | None:
        """Return the device that a result refers to, in the current generation of its pool.

        Slices for different nodes may use one device name in one pool. Then the node that the allocation is pinned to
        decides, or, if it is not pinned to one, the likeness of its node selector and the slice's.
        """
        pool = self.pools.get((result.driver, result.pool))
        entries = pool.by_name.get(result.device, []) if pool else []
        if len(entries) > 1 and claim.status.allocation is not None:
            selector = claim.status.allocation.node_selector
            name = only_node(selector)
            node = self.node_view(name)
            # If none fits, the first is kept, and the check of the node reports it.
            entries = [entry for entry in entries if entry.node_access.includes(node) is not False] or entries
            if not name:
                entries = sorted(entries, key=lambda entry: _likeness(entry.node_access, selector), reverse=True)
        return entries[0] if entries else None


def _likeness(found: NodeAccess, selector: NodeSelector | None) -> tuple[bool, int]:
    """Return a sort key: how well a slice's node selector explains the allocation's."""
    allocated, offered = requirements([selector]), requirements([found.node_selector])
    return offered <= allocated, len(offered)


def read_claim(obj: Obj) -> Claim:
    """Return one decoded ResourceClaim. Raises Malformed."""
    found = decode(obj)
    if not isinstance(found, Claim):
        raise Malformed("kind", f"expected a ResourceClaim, got {obj.get('kind')!r}")
    return found
