"""Tests of the topology manager: hints of a resource, the merged choice of each policy, and devices by NUMA node."""

from __future__ import annotations

import pytest

from dra_api.rpc.device_plugin import PluginDevice
from dra_conformance.kubelet import topology
from dra_conformance.kubelet.topology import Hint, Topology


def device(name: str, *nodes: int) -> PluginDevice:
    return PluginDevice(name, numa_nodes=nodes or None)


FOUR = [device("a", 0), device("b", 0), device("c", 1), device("d", 1)]


def of(*hints: tuple[set[int], bool]) -> tuple[Hint, ...]:
    return tuple(Hint(frozenset(nodes), preferred) for nodes, preferred in hints)


def test_hints_are_all_sets_of_nodes_with_enough_free_devices() -> None:
    found = topology.hints(FOUR, free=["b", "c", "d"], count=2, numa_nodes=(0, 1))
    assert found == of(({1}, True), ({0, 1}, False))


def test_the_empty_machine_says_what_is_preferred() -> None:
    # One node could hold two devices, though only one is free on each.
    assert topology.hints(FOUR, free=["a", "c"], count=2, numa_nodes=(0, 1)) == of(({0, 1}, False))
    assert topology.hints(FOUR[::2], free=["a", "c"], count=2, numa_nodes=(0, 1)) == of(({0, 1}, True))


def test_a_set_of_nodes_has_all_reusable_devices() -> None:
    found = topology.hints(FOUR, free=["c", "d"], reusable=["a"], count=1, numa_nodes=(0, 1))
    assert found == of(({0}, True), ({0, 1}, False))


def test_devices_without_a_node_are_in_no_hint() -> None:
    devices = [device("a", 0), device("b")]
    assert topology.hints(devices, free=["a", "b"], count=2, numa_nodes=(0, 1)) == ()


def test_a_device_of_two_nodes_serves_both() -> None:
    found = topology.hints([device("a", 0, 1)], free=["a"], count=1, numa_nodes=(0, 1))
    assert found == of(({0}, True), ({1}, True), ({0, 1}, False))


def test_nodes_that_the_machine_does_not_have_are_ignored() -> None:
    devices = [device("a", 99), device("b", 1)]
    assert topology.hints(devices, free=["a", "b"], count=1, numa_nodes=(0, 1)) == of(({1}, True))
    assert topology.hints(devices[:1], free=["a"], count=1, numa_nodes=(0, 1)) == ()


BOTH = of(({0, 1}, False))
EITHER = of(({0}, True), ({1}, True), ({0, 1}, False))


@pytest.mark.parametrize(
    ("policy", "hints", "nodes", "admitted"),
    [
        ("best-effort", [EITHER], {0}, True),
        ("best-effort", [EITHER, of(({1}, True), ({0, 1}, False))], {1}, True),
        ("best-effort", [EITHER, BOTH], {0, 1}, True),
        ("best-effort", [()], {0, 1}, True),
        ("best-effort", [of(({0}, True)), of(({1}, True))], {0, 1}, True),
        ("best-effort", [None], {0, 1}, True),
        ("restricted", [EITHER], {0}, True),
        ("restricted", [BOTH], {0, 1}, False),
        ("restricted", [of(({0, 1}, True))], {0, 1}, True),
        ("restricted", [()], {0, 1}, False),
        ("restricted", [None, EITHER], {0}, True),
        ("restricted", [], {0, 1}, True),
        ("single-numa-node", [EITHER], {0}, True),
        ("single-numa-node", [of(({0, 1}, True))], None, False),
        ("single-numa-node", [None], None, True),
        ("single-numa-node", [None, of(({1}, True))], {1}, True),
        ("single-numa-node", [of(({0}, True)), of(({1}, True))], None, False),
    ],
)
def test_a_policy_chooses_nodes(policy: str, hints: list[topology.Hints], nodes: set[int], admitted: bool) -> None:
    settings = Topology(policy=policy, numa_nodes=(0, 1))
    assert topology.merge(settings, hints) == (None if nodes is None else frozenset(nodes), admitted)


def test_of_hints_that_are_not_preferred_the_one_of_the_largest_need_is_chosen() -> None:
    wide = of(({0, 1}, False), ({0, 2}, False), ({0, 1, 2}, False))
    narrow = of(({2}, False), ({0, 2}, False), ({0, 1, 2}, False))
    chosen, _ = topology.merge(Topology(policy="best-effort", numa_nodes=(0, 1, 2)), [wide, narrow])
    assert chosen == frozenset({0, 1})


def test_free_devices_are_split_by_the_chosen_nodes() -> None:
    devices = {one.id: one for one in [*FOUR, device("e", 0, 1), device("f"), device("g", 99)]}
    chosen = topology.split(list(devices), devices, frozenset({1}))
    assert chosen == (["c", "d", "e"], ["a", "b", "g"], ["f"])
    assert topology.split(["a", "f"], devices, None) == ([], [], ["a", "f"])
    plain = {"f": device("f")}
    assert topology.split(["f"], plain, frozenset({1})) == ([], [], ["f"])


@pytest.mark.parametrize("wrong", [{"policy": "strict"}, {"scope": "node"}])
def test_unknown_settings_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="choose from"):
        Topology(**wrong)  # type: ignore[arg-type]


def machine(count: int, *, policy: str = "best-effort", **options: str) -> Topology:
    """Return settings on a machine whose NUMA nodes 1 and 2 are closer to each other than the others."""
    near = {1, 2}
    return Topology(
        policy=policy,
        options={name.replace("_", "-"): value for name, value in options.items()},
        numa_nodes=tuple(range(count)),
        distances={a: [10 if a == b else 20 if {a, b} == near else 40 for b in range(count)] for a in range(count)},
    )


PAIRS = of(({0, 1}, True), ({0, 2}, True), ({1, 2}, True), ({0, 1, 2}, False))


@pytest.mark.parametrize(
    ("policy", "value", "nodes"),
    [
        ("best-effort", "true", {1, 2}),
        ("restricted", "True", {1, 2}),
        ("best-effort", "false", {0, 1}),
        ("single-numa-node", "true", None),
    ],
)
def test_the_closest_of_equally_many_nodes_are_chosen(policy: str, value: str, nodes: set[int] | None) -> None:
    settings = machine(3, policy=policy, prefer_closest_numa_nodes=value)
    assert settings.problem() == ""
    assert topology.merge(settings, [PAIRS])[0] == (None if nodes is None else frozenset(nodes))


def test_the_distance_plays_no_part_for_another_number_of_nodes() -> None:
    settings = machine(3, prefer_closest_numa_nodes="true")
    assert topology.merge(settings, [of(({0}, True), ({1, 2}, True))])[0] == frozenset({0})
    # Of equal distances, the lowest numbers.
    assert topology.merge(settings, [of(({0, 2}, True), ({0, 1}, True))])[0] == frozenset({0, 1})
    # The same for nodes that are not preferred.
    assert topology.merge(settings, [of(({0, 1}, False), ({1, 2}, False))])[0] == frozenset({1, 2})


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (machine(8), ""),
        (machine(9), "9 NUMA nodes"),
        (machine(9, policy="none"), ""),
        (machine(9, policy="none", max_allowable_numa_nodes="7"), ""),
        (machine(9, max_allowable_numa_nodes="9"), ""),
        (machine(10, max_allowable_numa_nodes="9"), "10 NUMA nodes"),
        (machine(2, max_allowable_numa_nodes="7"), "max-allowable-numa-nodes"),
        (machine(2, max_allowable_numa_nodes="many"), "max-allowable-numa-nodes"),
        (machine(2, prefer_closest_numa_nodes="yes"), "prefer-closest-numa-nodes"),
        (machine(2, prefer_farthest_numa_nodes="true"), "unknown"),
        (Topology(policy="restricted", options={"prefer-closest-numa-nodes": "true"}), "distances"),
        (Topology(policy="restricted", options={"prefer-closest-numa-nodes": "false"}), ""),
    ],
)
def test_settings_that_do_not_fit_the_machine(settings: Topology, problem: str) -> None:
    found = settings.problem()
    assert problem in found if problem else not found
