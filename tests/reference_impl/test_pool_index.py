"""What a change of slices and taint rules costs: inventories of nodes are built again only if they may differ."""

from __future__ import annotations

from dra_api.objects import Obj
from reference_impl.node_selector import NodeFacts
from reference_impl.scheduler.allocator.model import Features
from reference_impl.scheduler.engines import Correct
from reference_impl.scheduler.pool_index import PoolIndex
from verification.benchmarks.allocation_cases import gpus, node_slices

NODES = [NodeFacts.of({"metadata": {"name": f"n{number}"}}) for number in range(2)]


def rule(value: str, **more: object) -> Obj:
    return {
        "metadata": {"name": "rule"},
        "spec": {"deviceSelector": {"pool": "n0"}, "taint": {"key": "k", "value": value, "effect": "NoSchedule"}},
        **more,
    }


def filled() -> PoolIndex:
    index = PoolIndex(features=Features(device_taints=True), engine=Correct())
    for number in range(2):
        for one in node_slices(number, gpus(2)):
            index.put_slice(one)
    return index


def test_a_slice_of_one_node_leaves_the_inventory_of_another() -> None:
    index = filled()
    first, second = (index.inventory(node) for node in NODES)
    index.drop_slice("n0-000")
    assert index.inventory(NODES[0]) is not first
    assert not index.inventory(NODES[0]).devices
    assert index.inventory(NODES[1]) is second


def test_a_new_status_of_a_taint_rule_changes_nothing() -> None:
    index = filled()
    assert index.put_rule(rule("a"))
    known = index.inventory(NODES[0])
    assert not index.put_rule(rule("a", status={"conditions": [{"type": "EvictionInProgress"}]}))
    assert index.inventory(NODES[0]) is known
    assert index.put_rule(rule("b"))
    assert index.inventory(NODES[0]) is not known
