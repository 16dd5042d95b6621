"""Index of pools and devices: ResourceSlices by pool, pools by node, taint rules applied to both.

Filled from ResourceSlices and DeviceTaintRules by the cluster view, under the view's lock; a change drops the
inventories of the nodes that it concerns; they are built again on their next use.

Source: resourceslice tracker and pools of dynamic-resource-allocation v0.36; rules DRA-141 to DRA-150, DRA-226.
"""

from __future__ import annotations

from typing import Any

from dra_api.objects import Obj, name_of
from reference_impl.node_selector import NodeFacts
from reference_impl.scheduler.allocator import Slice, decode_slice, taint_rules
from reference_impl.scheduler.allocator.model import Features, PoolId
from reference_impl.scheduler.allocator.taint_rules import TaintRule
from reference_impl.scheduler.engines import Engine


class PoolIndex:
    """Slices, and what each node offers in the form of `engine`. Its owner serialises all calls."""

    def __init__(self, *, features: Features, engine: Engine) -> None:
        self._features = features
        self._engine = engine
        self._slices: dict[PoolId, dict[str, Slice]] = {}
        self._slice_pool: dict[str, PoolId] = {}
        self._rules: dict[str, TaintRule] = {}
        self._tainted: dict[PoolId, list[Slice]] = {}
        self._pools_by_node: dict[str, set[PoolId]] = {}
        self._shared_pools: set[PoolId] = set()
        self._inventories: dict[str, Any] = {}

    def inventory(self, node: NodeFacts) -> Any:
        """Return the inventory of a node, built on its first use after a change."""
        known = self._inventories.get(node.name)
        if known is None:
            pools = {*self._pools_by_node.get(node.name, ()), *self._shared_pools}
            known = self._inventories[node.name] = self._engine.inventory(
                node, [self._pool_slices(pool) for pool in sorted(pools)], self._features
            )
        return known

    def node_changed(self, name: str) -> None:
        """Handle changed labels of a node, or its deletion."""
        self._inventories.pop(name, None)

    def put_slice(self, found: Obj) -> None:
        """Store a new or changed ResourceSlice."""
        self.drop_slice(name_of(found))
        item = decode_slice(found)
        self._slice_pool[name_of(found)] = item.pool
        self._slices.setdefault(item.pool, {})[name_of(found)] = item
        self._reindex(item.pool)

    def drop_slice(self, name: str) -> None:
        """Remove a ResourceSlice."""
        pool = self._slice_pool.pop(name, None)
        if pool is not None:
            self._slices[pool].pop(name, None)
            self._reindex(pool)

    def put_rule(self, found: Obj) -> bool:
        """Store a DeviceTaintRule. Return False if it is unchanged."""
        rule = TaintRule.decode(found)
        if self._rules.get(rule.name) == rule:
            return False
        self._rules[rule.name] = rule
        self._forget_taints()
        return True

    def drop_rule(self, name: str) -> None:
        """Remove a DeviceTaintRule."""
        self._rules.pop(name, None)
        self._forget_taints()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _forget_taints(self) -> None:
        self._tainted.clear()
        self._inventories.clear()

    def _pool_slices(self, pool: PoolId) -> list[Slice]:
        slices = [*self._slices.get(pool, {}).values()]
        if not self._rules or not self._features.device_taints:
            return slices
        known = self._tainted.get(pool)
        if known is None:
            rules = [self._rules[name] for name in sorted(self._rules)]
            known = self._tainted[pool] = [taint_rules.apply(item, rules) for item in slices]
        return known

    def _reindex(self, pool: PoolId) -> None:
        """Find anew which nodes a pool may concern, and drop what was prepared for them."""
        self._tainted.pop(pool, None)
        slices = self._slices.get(pool, {})
        nodes = {self._engine.home_of(item) for item in slices.values()}
        was_shared = pool in self._shared_pools
        self._shared_pools.discard(pool)
        # An empty home: the slice may concern several nodes.
        if "" in nodes:
            self._shared_pools.add(pool)
        for node, pools in list(self._pools_by_node.items()):
            if pool in pools and node not in nodes:
                pools.discard(pool)
                self._inventories.pop(node, None)
        for node in nodes - {""}:
            self._pools_by_node.setdefault(node, set()).add(pool)
            self._inventories.pop(node, None)
        # Any node may be concerned, so no inventory can be kept.
        if was_shared or "" in nodes:
            self._inventories.clear()
        if not slices:
            self._slices.pop(pool, None)
