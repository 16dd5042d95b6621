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
        # Under an empty name: pools that may concern several nodes. A pool stays under its former nodes.
        self._pools_by_home: dict[str, set[PoolId]] = {}
        self._homes: dict[PoolId, set[str]] = {}
        self._inventories: dict[str, Any] = {}

    def inventory(self, node: NodeFacts) -> Any:
        """Return the inventory of a node, built on its first use after a change."""
        known = self._inventories.get(node.name)
        if known is None:
            pools = {*self._pools_by_home.get(node.name, ()), *self._pools_by_home.get("", ())}
            known = self._inventories[node.name] = self._engine.inventory(
                node, [slices for pool in sorted(pools) if (slices := self._pool_slices(pool))], self._features
            )
        return known

    def node_changed(self, name: str) -> None:
        """Handle changed labels of a node, or a new node."""
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
            del self._slices[pool][name]
            self._reindex(pool)

    def put_rule(self, found: Obj) -> None:
        """Store a DeviceTaintRule."""
        self._rules[name_of(found)] = TaintRule.decode(found)
        self._inventories.clear()

    def drop_rule(self, name: str) -> None:
        """Remove a DeviceTaintRule."""
        del self._rules[name]
        self._inventories.clear()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _pool_slices(self, pool: PoolId) -> list[Slice]:
        slices = [*self._slices[pool].values()]
        if not self._rules or not self._features.device_taints:
            return slices
        rules = [self._rules[name] for name in sorted(self._rules)]
        return [taint_rules.apply(item, rules) for item in slices]

    def _reindex(self, pool: PoolId) -> None:
        """Note which nodes a pool may concern, and drop what was prepared for them and for its former nodes."""
        homes = self._homes.setdefault(pool, set())
        homes.update(self._engine.home_of(item) for item in self._slices[pool].values())
        for home in homes:
            self._pools_by_home.setdefault(home, set()).add(pool)
            self._inventories.pop(home, None)
        # Any node may be concerned, so no inventory can be kept.
        if "" in homes:
            self._inventories.clear()
