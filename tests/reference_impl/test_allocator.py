"""The allocator by the rules of Kubernetes: pools, requests, constraints, counters, capacity, taints, results."""

from __future__ import annotations

import pytest
from scheduling_builders import (
    DRIVER,
    World,
    all_request,
    claim,
    device,
    device_class,
    expression,
    first_available,
    gpus,
    picked,
    request,
    resource_slice,
    sub,
)

from dra_api.objects import Obj
from reference_impl.node_selector import NodeFacts
from reference_impl.scheduler.allocator import AllocationError, Features

NODE_SELECTOR_A = {
    "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-a"]}]}]
}


def in_zone(*zones: str) -> dict:
    expression = {"key": "zone", "operator": "In", "values": list(zones)}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def match(attribute: str, *requests: str) -> dict:
    made = {"matchAttribute": f"{DRIVER}/{attribute}"}
    return {**made, "requests": list(requests)} if requests else made


def distinct(attribute: str, *requests: str) -> dict:
    made = {"distinctAttribute": f"{DRIVER}/{attribute}"}
    return {**made, "requests": list(requests)} if requests else made


def numa(*values: int | None) -> dict:
    """One slice on node-a: a device per value of attribute n; None is a device without it."""
    devices = [device(f"d{at}", attributes={} if n is None else {"n": n}) for at, n in enumerate(values)]
    return resource_slice("s", devices, node="node-a")


# -- node selectors -----------------------------------------------------------------------------------------


def test_a_node_slice_serves_its_node_alone_and_pins_the_allocation():
    world = World(gpus(2))
    outcome = world.allocate(claim(request()))
    assert outcome.allocations[0].result == {
        "devices": {"results": [{"request": "gpu", "driver": DRIVER, "pool": "node-a", "device": "d0"}]},
        "nodeSelector": NODE_SELECTOR_A,
    }
    assert not world.allocate(claim(request()), node="node-b")


def test_devices_for_all_nodes_leave_the_node_selector_out():
    world = World(resource_slice("s", [device("d0")], allNodes=True))
    assert "nodeSelector" not in world.allocate(claim(request()), node="anywhere").allocations[0].result


def test_selectors_of_slices_are_merged_without_duplicates():
    both = {"key": "rack", "operator": "Exists"}
    world = World(
        resource_slice("s1", [device("d0")], pool="p1", nodeSelector=in_zone("z")),
        resource_slice(
            "s2",
            [device("d1")],
            pool="p2",
            nodeSelector={"nodeSelectorTerms": [{"matchExpressions": [both, *zone_terms("z")]}]},
        ),
    )
    outcome = world.allocate(claim(request(count=2)), labels={"zone": "z", "rack": "1"})
    assert outcome.allocations[0].result["nodeSelector"] == {
        "nodeSelectorTerms": [{"matchExpressions": [*zone_terms("z"), both]}]
    }
    assert not world.allocate(claim(request(count=2)), labels={"zone": "z"})


def zone_terms(*zones: str) -> list[dict]:
    return in_zone(*zones)["nodeSelectorTerms"][0]["matchExpressions"]


def test_each_device_may_have_its_own_place():
    world = World(
        resource_slice(
            "s",
            [device("da", nodeName="node-a"), device("dz", nodeSelector=in_zone("z")), device("all", allNodes=True)],
            perDeviceNodeSelection=True,
        )
    )
    assert picked(world.allocate(claim(all_request()))) == ["gpu=da", "gpu=all"]
    assert picked(world.allocate(claim(all_request()), node="b", labels={"zone": "z"})) == ["gpu=dz", "gpu=all"]
    on_b = world.allocate(claim(request()), node="b", labels={"zone": "z"}).allocations[0].result
    assert on_b["nodeSelector"] == in_zone("z")


# -- pools -------------------------------------------------------------------------------------------------------------


def test_only_the_newest_generation_counts():
    world = World(
        resource_slice("old", [device("d0"), device("d1")], node="node-a", generation=1),
        resource_slice("new", [device("d1")], node="node-a", generation=2),
    )
    assert picked(world.allocate(claim(request()))) == ["gpu=d1"]
    assert not world.allocate(claim(request(count=2)))


def test_a_newer_generation_elsewhere_makes_old_slices_obsolete():
    world = World(
        resource_slice("old", [device("d0")], node="node-a", generation=1),
        resource_slice("new", [device("d1")], node="node-b", generation=2),
    )
    assert not world.allocate(claim(request()))


def test_incomplete_pools_are_not_used_and_fail_all():
    world = World(resource_slice("s", [device("d0")], node="node-a", count=2))
    outcome = world.allocate(claim(request()))
    assert "is incomplete: 1 of 2 slices" in outcome.reason
    with pytest.raises(
        AllocationError, match=r"claim ns/c, request gpu: asks for all devices, but resource pool .*/pool"
    ):
        world.allocate(claim(all_request()))


@pytest.mark.parametrize(
    "slices",
    [
        [resource_slice("s", [device("d0"), device("d0")], node="node-a")],
        [resource_slice("s", [device("d0", counters={"no": {"m": "1"}})], node="node-a")],
        [
            resource_slice("s", [device("d0", counters={"set": {"x": "1"}})], node="node-a", count=2),
            resource_slice("t", node="node-a", count=2, counter_sets={"set": {"m": "1"}}),
        ],
    ],
)
def test_invalid_pools_are_skipped_and_named_when_nothing_fits(slices):
    other = resource_slice("other", [device("good")], node="node-a", pool="z")
    assert picked(World(*slices, other).allocate(claim(request()))) == ["gpu=good"]
    with pytest.raises(AllocationError, match="invalid resource pools were encountered"):
        World(*slices).allocate(claim(request()))


def test_first_fit_goes_by_driver_pool_slice_and_list_order():
    world = World(
        resource_slice("s-2", [device("b"), device("a")], node="node-a", pool="p1", count=2),
        resource_slice("s-1", [device("z")], node="node-a", pool="p1", count=2),
        resource_slice("s-0", [device("y")], node="node-a", pool="p2"),
        resource_slice("s-3", [device("x")], node="node-a", pool="p3", driver="a.example.com"),
    )
    order = [picked(world.take(claim(request())))[0] for _ in range(5)]
    assert order == ["gpu=x", "gpu=z", "gpu=b", "gpu=a", "gpu=y"]


def test_devices_with_binding_conditions_come_last_and_carry_them():
    conditional = device("d0", bindingConditions=["ready"], bindingFailureConditions=["broken"])
    world = World(
        resource_slice("s", [conditional], node="node-a", pool="a"),
        resource_slice("t", [device("d1")], node="node-a", pool="b"),
    )
    assert picked(world.take(claim(request()))) == ["gpu=d1"]
    result = world.take(claim(request())).allocations[0].result["devices"]["results"][0]
    assert (result["bindingConditions"], result["bindingFailureConditions"]) == (["ready"], ["broken"])


# -- requests ----------------------------------------------------------------------------------------------------------


def test_exact_count_gives_distinct_devices_until_none_is_left():
    world = World(gpus(4))
    assert picked(world.take(claim(request(count=3)))) == ["gpu=d0", "gpu=d1", "gpu=d2"]
    outcome = world.allocate(claim(request(count=2)))
    assert outcome.reason == "claim ns/c, request gpu: wants 2 devices, but only 1 of 4 matching is free"


def test_all_takes_every_device_and_fails_when_one_is_in_use():
    world = World(gpus(3))
    assert len(picked(world.allocate(claim(all_request())))) == 3
    world.take(claim(request()))
    assert not world.allocate(claim(all_request()))
    assert not World(gpus(0)).allocate(claim(all_request()))


def test_more_than_32_devices_are_an_error():
    world = World(gpus(40))
    with pytest.raises(AllocationError, match="number of requested devices 40 exceeds the claim limit of 32"):
        world.allocate(claim(all_request()))
    with pytest.raises(AllocationError, match="number of requested devices 33 exceeds the claim limit of 32"):
        world.allocate(claim(request("a", count=20), request("b", count=13)))
    assert len(picked(world.allocate(claim(request("a", count=20), request("b", count=12))))) == 32


def test_two_claims_of_one_pod_get_different_devices_or_none_gets_any():
    world = World(gpus(2))
    both = world.allocate(claim(request(), name="c1"), claim(request(), name="c2"))
    assert picked(both) == ["gpu=d0", "gpu=d1"]
    assert not world.allocate(claim(request(), name="c1"), claim(request(count=2), name="c2"))


def test_all_beside_another_request_leaves_it_what_all_does_not_match(monkeypatch):
    world = World(gpus(3))
    assert not world.allocate(claim(all_request("a"), request("b")))
    assert not world.allocate(claim(request("b"), all_request("a")))


def test_unknown_class_mode_and_constraint_are_errors():
    world = World(gpus(1))
    with pytest.raises(AllocationError, match="request gpu: device class none does not exist"):
        world.allocate(claim(request(cls="none")))
    with pytest.raises(AllocationError, match="unsupported allocation mode Most"):
        world.allocate(claim(request(allocationMode="Most")))
    with pytest.raises(AllocationError, match="neither matchAttribute nor distinctAttribute"):
        world.allocate(claim(request(), constraints=[{"requests": ["gpu"]}]))


def test_no_selector_of_a_kind_that_we_do_not_know_is_skipped():
    with pytest.raises(AllocationError, match="selector #0: unsupported selector type"):
        World(gpus(1)).allocate(claim(request(selectors=[{"regex": {}}])))


# -- prioritized alternatives ------------------------------------------------------------------------------------------


def test_the_first_alternative_that_fits_is_used():
    world = World(gpus(4))
    big_or_small = first_available("r", sub("big", count=4), sub("small", count=1))
    assert picked(world.allocate(claim(big_or_small)))[0] == "r/big=d0"
    world.take(claim(request()))
    outcome = world.allocate(claim(big_or_small))
    assert picked(outcome) == ["r/small=d1"]
    assert outcome.allocations[0].chosen_alternatives == (1,)


def test_a_later_request_can_push_an_earlier_one_to_its_second_choice():
    world = World(gpus(4))
    outcome = world.allocate(claim(first_available("r", sub("big", count=4), sub("small")), request("z", count=2)))
    assert picked(outcome) == ["r/small=d0", "z=d1", "z=d2"]


def test_alternatives_keep_the_claim_within_32_devices():
    world = World(gpus(40))
    wanted = claim(request("a", count=30), first_available("r", sub("three", count=3), sub("two", count=2)))
    assert picked(world.allocate(wanted))[-1] == "r/two=d31"


def test_a_constraint_on_one_alternative_holds_only_when_it_is_chosen():
    world = World(numa(1, 2))
    either = first_available("r", sub("a", count=2), sub("b"))
    assert picked(world.allocate(claim(either))) == ["r/a=d0", "r/a=d1"]
    assert picked(world.allocate(claim(either, constraints=[match("n", "r")]))) == ["r/b=d0"]
    assert picked(world.allocate(claim(either, constraints=[match("n", "r/a")]))) == ["r/b=d0"]
    assert picked(world.allocate(claim(either, constraints=[match("n", "r/b")]))) == ["r/a=d0", "r/a=d1"]


def test_an_unknown_class_in_any_alternative_is_an_error():
    either = first_available("r", sub("a"), sub("b", deviceClassName="none"))
    with pytest.raises(AllocationError, match="request r/b: device class none does not exist"):
        World(gpus(1)).allocate(claim(either))


# -- constraints -------------------------------------------------------------------------------------------------------


def test_match_attribute_revises_a_first_pick_that_cannot_work():
    world = World(numa(1, 2, None, 2))
    assert picked(world.allocate(claim(request(count=2), constraints=[match("n")]))) == ["gpu=d1", "gpu=d3"]
    assert not world.allocate(claim(request(count=3), constraints=[match("n")]))


def test_match_attribute_binds_only_the_requests_that_it_names():
    world = World(numa(1, 2, 1))
    wanted = claim(request("a", count=2), request("b"), constraints=[match("n", "a")])
    assert picked(world.allocate(wanted)) == ["a=d0", "a=d2", "b=d1"]


def test_equal_text_of_different_types_does_not_match():
    devices = [device("d0", attributes={"n": "1.0.0"}), device("d1", attributes={"n": ("version", "1.0.0")})]
    world = World(resource_slice("s", devices, node="node-a"))
    outcome = world.allocate(claim(request(count=2), constraints=[match("n")]))
    assert outcome.reason.endswith(f"no free devices satisfy matchAttribute {DRIVER}/n")


def test_list_attributes_match_when_they_intersect():
    devices = [device(f"d{at}", attributes={"n": value}) for at, value in enumerate(([1, 2], [1], [2], [2, 3]))]
    world = World(resource_slice("s", devices, node="node-a"))
    wanted = claim(request(count=3), constraints=[match("n")])
    assert picked(world.allocate(wanted)) == ["gpu=d0", "gpu=d2", "gpu=d3"]
    off = World(resource_slice("s", devices, node="node-a"), features=Features(list_attributes=False))
    assert not off.allocate(wanted)


def test_selectors_run_on_devices_with_lists_while_lists_are_off():
    devices = [device("d0", attributes={"n": [1, 2], "model": "a"}), device("d1", attributes={"n": 1, "model": "b"})]
    by_model = request(selectors=expression(f'device.attributes["{DRIVER}"].model == "a"'))
    world = World(resource_slice("s", devices, node="node-a"), features=Features(list_attributes=False))
    assert picked(world.allocate(claim(by_model))) == ["gpu=d0"]
    as_in_1_36 = Features(list_attributes=False, readable_lists=False)
    world = World(resource_slice("s", devices, node="node-a"), features=as_in_1_36)
    with pytest.raises(AllocationError, match="unsupported attribute value"):
        world.allocate(claim(by_model))


def test_distinct_attribute_compares_all_pairs():
    world = World(numa(1, 2, 1, 3))
    wanted = claim(request(count=3), constraints=[distinct("n")])
    assert picked(world.allocate(wanted)) == ["gpu=d0", "gpu=d1", "gpu=d3"]
    assert not world.allocate(claim(request(count=4), constraints=[distinct("n")]))


def test_all_with_a_constraint_that_cannot_hold_is_an_error():
    world = World(numa(1, 2))
    with pytest.raises(
        AllocationError, match=r"claim ns/c, request gpu: cannot add device .*/d1 because a claim constraint"
    ):
        world.allocate(claim(all_request(), constraints=[match("n")]))


def test_two_constraints_hold_together():
    devices = [
        device(f"d{at}", attributes={"a": a, "b": b}) for at, (a, b) in enumerate([(1, 1), (1, 2), (2, 2), (2, 2)])
    ]
    world = World(resource_slice("s", devices, node="node-a"))
    wanted = claim(request(count=2), constraints=[match("a"), match("b")])
    assert picked(world.allocate(wanted)) == ["gpu=d2", "gpu=d3"]


# -- partitionable devices ---------------------------------------------------------------------------------------------


def halves(*, sets: int = 1) -> list[dict]:
    devices = []
    for number in range(sets):
        devices.append(device(f"full{number}", counters={f"gpu{number}": {"memory": "80Gi"}}))
        devices += [device(f"half{number}{part}", counters={f"gpu{number}": {"memory": "40Gi"}}) for part in "abc"]
    return [
        resource_slice("a", node="node-a", count=2, counter_sets={f"gpu{n}": {"memory": "80Gi"} for n in range(sets)}),
        resource_slice("b", devices, node="node-a", count=2),
    ]


def test_partitions_stop_when_their_counters_are_used_up():
    world = World(*halves())
    assert picked(world.take(claim(request()))) == ["gpu=full0"]
    assert world.allocate(claim(request())).reason.endswith(
        "wants 1 device, but gpu.example.com/pool/half0a takes 40Gi of the shared counter gpu0/memory, and 0 is left"
    )
    world = World(*halves())
    assert world.allocate(claim(request(count=3))).reason.endswith(
        "wants 3 devices, but the shared counters of its devices do not suffice for all of them together"
    )
    world = World(*halves(sets=2))
    assert (
        picked(world.allocate(claim(request("a", count=4))))
        == [
            "a=half0a",
            "a=half0b",
            "a=half1a",
            "a=half1b",
        ]
        or len(picked(world.allocate(claim(request("a", count=4))))) == 4
    )
    assert not world.allocate(claim(request("a", count=5)))


def test_a_negative_amount_is_reported():
    world = World(
        resource_slice("a", node="node-a", count=2, counter_sets={"s": {"m": "-1Gi"}}),
        resource_slice("b", [device("d0", counters={"s": {"m": "1Gi"}})], node="node-a", count=2),
    )
    told = world.allocate(claim(request())).reason
    assert told.endswith("d0 takes 1Gi of the shared counter s/m, and -1Gi is left")
    world = World(resource_slice("s", [device("d0", capacity={"memory": "-2Gi"})], node="node-a"))
    told = world.allocate(claim(request(capacity={"requests": {"memory": "1Gi"}}))).reason
    assert "only 0 of 1 on the node match its selectors, capacity and tolerations" in told
    assert told.endswith("d0 has a negative memory: -2Gi)")


def test_counters_are_the_pools_own_even_under_equal_names():
    twin = [
        resource_slice("c", node="node-a", count=2, counter_sets={"gpu0": {"memory": "40Gi"}}, driver="x.example.com"),
        resource_slice(
            "d",
            [device("x", counters={"gpu0": {"memory": "40Gi"}})],
            node="node-a",
            count=2,
            driver="x.example.com",
        ),
    ]
    world = World(*halves(), *twin)
    assert picked(world.take(claim(request()))) == ["gpu=full0"]
    assert picked(world.take(claim(request()))) == ["gpu=x"]


def test_counters_span_nodes():
    world = World(
        resource_slice("a", allNodes=True, count=3, counter_sets={"s": {"m": "1"}}),
        resource_slice("b", [device("da", counters={"s": {"m": "1"}})], node="node-a", count=3),
        resource_slice("c", [device("db", counters={"s": {"m": "1"}})], node="node-b", count=3),
    )
    world.take(claim(request()))
    assert not world.allocate(claim(request()), node="node-b")


def test_a_rejected_candidate_gives_its_counters_back():
    taint = {"key": "k", "effect": "NoSchedule"}
    world = World(
        resource_slice("a", node="node-a", count=2, counter_sets={"s": {"m": "1"}}),
        resource_slice(
            "b",
            [device("d0", counters={"s": {"m": "1"}}, taints=[taint]), device("d1", counters={"s": {"m": "1"}})],
            node="node-a",
            count=2,
        ),
    )
    assert picked(world.allocate(claim(request()))) == ["gpu=d1"]


def test_admin_access_takes_no_counters():
    world = World(*halves())
    world.take(claim(request(adminAccess=True)))
    assert picked(world.take(claim(request()))) == ["gpu=full0"]
    assert picked(world.allocate(claim(request(adminAccess=True)))) == ["gpu=full0"]


def test_partitions_need_the_feature():
    world = World(*halves(), gpus(1), features=Features(partitionable_devices=False))
    assert picked(world.take(claim(request()))) == ["gpu=d0"]
    assert not world.allocate(claim(request()))
    partition = device("p", counters={"s": {"m": "1Gi"}})
    world = World(resource_slice("p", [partition], node="node-a"), features=Features(partitionable_devices=False))
    for wish in (request(), all_request()):
        assert "consumes shared counters, which requires" in world.allocate(claim(wish)).reason


def grouped(name: str, *groups: str) -> Obj:
    found = device(name, counters={"s": {"m": "1Gi"}})
    found["consumesCounters"][0]["compatibilityGroups"] = [*groups]
    return found


def on_one_set(*devices: Obj) -> list[Obj]:
    return [
        resource_slice("a", node="node-a", count=2, counter_sets={"s": {"m": "9Gi"}}),
        resource_slice("b", [*devices], node="node-a", count=2),
    ]


def test_without_the_feature_a_pool_with_compatibility_groups_is_incomplete():
    slices = [
        resource_slice("a", node="node-a", count=3, counter_sets={"s": {"m": "2Gi"}}),
        resource_slice("b", [grouped("p", "x")], node="node-a", count=3),
        resource_slice("c", [device("beside")], node="node-a", count=3),
    ]
    world = World(*slices, gpus(1), features=Features(compatibility_groups=False))
    assert picked(world.take(claim(request()))) == ["gpu=d0"]
    reason = world.allocate(claim(request())).reason
    assert "2 of 3 slices of generation 1 are published without compatibilityGroups" in reason
    with pytest.raises(AllocationError, match="compatibilityGroups"):
        world.allocate(claim(all_request()))


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([["a"], ["b"], ["b", "a"]], ["p0", "p2"]),
        ([["a", "b"], ["b", "c"], ["a"]], ["p0", "p1"]),
        ([[], ["a"], []], ["p0", "p2"]),
        ([["a"], [], ["b"]], []),
    ],
)
def test_devices_of_one_counter_set_have_a_group_in_common(groups: list[list[str]], expected: list[str]):
    world = World(*on_one_set(*(grouped(f"p{at}", *names) for at, names in enumerate(groups))))
    found = world.allocate(claim(request(count=2)))
    assert picked(found) == [f"gpu={name}" for name in expected] if expected else not found


def test_compatibility_groups_are_given_back():
    # The first device leads to no second one; going back must forget its group.
    world = World(*on_one_set(grouped("p0", "a"), grouped("p1", "b"), grouped("p2", "b")))
    assert picked(world.allocate(claim(request(count=2)))) == ["gpu=p1", "gpu=p2"]


def test_without_the_feature_derived_attributes_are_refused():
    derived = [{"name": "derived.example.com/n", "expression": "1"}]
    for wish in (
        request(derivedAttributes=derived),
        first_available("gpu", sub("a"), sub("b", derivedAttributes=derived)),
    ):
        with pytest.raises(AllocationError, match="derivedAttributes are used, but the feature is disabled"):
            World(gpus(2), features=Features(derived_attributes=False)).allocate(claim(wish))


@pytest.mark.parametrize(
    ("declared", "on", "reason"),
    [
        (["DRAOther"], True, "skipNodeOperations, which requires the feature DRAOptionalNodeOperations on the node"),
        (
            ["DRAOptionalNodeOperations"],
            False,
            "skipNodeOperations, which requires the feature DRAOptionalNodeOperations in the scheduler",
        ),
    ],
)
def test_devices_whose_node_operations_are_skipped_need_the_feature(declared, on, reason):
    where = {"features": Features(optional_node_operations=on), "declared": declared}
    skipped = resource_slice("a", [device("s")], node="node-a", pool="a", skipNodeOperations=["*"])
    world = World(skipped, gpus(1), **where)
    assert picked(world.take(claim(request()))) == ["gpu=d0"]
    for wish in (request(), all_request()):
        assert reason in World(skipped, **where).allocate(claim(wish)).reason
    assert not World(skipped, gpus(1), **where).allocate(claim(all_request()))


def test_results_skip_the_operations_that_their_slices_skip():
    skipped = resource_slice("a", [device("s")], node="node-a", pool="a", skipNodeOperations=["NodeUnprepareResources"])
    outcome = World(skipped, gpus(1), declared=["DRAOptionalNodeOperations"]).allocate(claim(all_request()))
    assert outcome.allocations is not None
    results = {one["device"]: one for one in outcome.allocations[0].result["devices"]["results"]}
    assert results["s"]["skipNodeOperations"] == ["NodeUnprepareResources"]
    assert "skipNodeOperations" not in results["d0"]


def test_a_node_that_begins_to_declare_the_feature_offers_such_devices():
    before = {"metadata": {"name": "node-a"}, "status": {}}
    after = {"metadata": {"name": "node-a"}, "status": {"declaredFeatures": ["DRAOptionalNodeOperations"]}}
    # The cluster view builds the inventory of a node again when its facts change.
    assert NodeFacts.of(before) != NodeFacts.of(after)


# -- consumable capacity -----------------------------------------------------------------------------------------------


def shared_device(name: str = "nic", value: str = "10", **policy) -> dict:
    return device(
        name,
        allowMultipleAllocations=True,
        capacity={"bw": {"value": value, **({"requestPolicy": policy} if policy else {})}},
    )


def bandwidth(value: str, name: str = "gpu") -> dict:
    return request(name, capacity={"requests": {"bw": value}})


def test_a_shared_device_serves_until_its_capacity_is_used_up():
    world = World(resource_slice("s", [shared_device()], node="node-a"))
    results = [world.take(claim(bandwidth("4"))).allocations[0].result["devices"]["results"][0] for _ in range(2)]
    assert [result["consumedCapacity"] for result in results] == [{"bw": "4"}, {"bw": "4"}]
    assert results[0]["shareID"] != results[1]["shareID"]
    assert not world.allocate(claim(bandwidth("4")))
    assert world.allocate(claim(bandwidth("2")))


@pytest.mark.parametrize(
    ("policy", "wanted", "consumed"),
    [
        ({}, None, "10"),
        ({}, "3", "3"),
        ({"default": "3"}, None, "3"),
        ({"default": "2", "validRange": {"min": "2", "step": "2"}}, "3", "4"),
        ({"default": "2", "validRange": {"min": "2", "step": "2"}}, "1", "2"),
        ({"default": "2", "validRange": {"min": "2", "max": "8"}}, "9", None),
        ({"default": "1", "validValues": ["1", "4", "8"]}, "3", "4"),
        ({"default": "1", "validValues": ["1", "4", "8"]}, "9", None),
    ],
)
def test_consumption_follows_the_policy(policy, wanted, consumed):
    world = World(resource_slice("s", [shared_device(**policy)], node="node-a"))
    outcome = world.allocate(claim(bandwidth(wanted) if wanted else request()))
    if consumed is None:
        assert not outcome
    else:
        assert outcome.allocations[0].result["devices"]["results"][0]["consumedCapacity"] == {"bw": consumed}


def test_two_requests_share_one_device_unless_they_must_differ():
    nics = [shared_device("n0"), shared_device("n1")]
    for at, nic in enumerate(nics):
        nic["attributes"] = {"id": {"int": at}}
    world = World(resource_slice("s", nics, node="node-a"))
    both = (bandwidth("4", "a"), bandwidth("4", "b"))
    assert picked(world.allocate(claim(*both))) == ["a=n0", "b=n0"]
    assert picked(world.allocate(claim(*both, constraints=[distinct("id")]))) == ["a=n0", "b=n1"]
    assert picked(world.allocate(claim(bandwidth("8", "a"), bandwidth("8", "b")))) == ["a=n0", "b=n1"]


def test_capacity_of_an_exclusive_device_only_filters():
    world = World(
        resource_slice("s", [device("d0", capacity={"bw": "4"}), device("d1", capacity={"bw": "10"})], node="node-a")
    )
    result = world.allocate(claim(bandwidth("5"))).allocations[0].result["devices"]["results"][0]
    assert result == {"request": "gpu", "driver": DRIVER, "pool": "pool", "device": "d1"}
    assert not world.allocate(claim(request(capacity={"requests": {"nothing": "1"}})))


def test_a_shared_device_pays_for_its_counters_once():
    world = World(
        resource_slice("a", node="node-a", count=2, counter_sets={"s": {"m": "1"}}),
        resource_slice(
            "b",
            [{**shared_device(), **device("nic", counters={"s": {"m": "1"}})}, device("d", counters={"s": {"m": "1"}})],
            node="node-a",
            count=2,
        ),
    )
    world.take(claim(bandwidth("4")))
    assert picked(world.take(claim(bandwidth("4")))) == ["gpu=nic"]
    assert not world.allocate(claim(request(count=1)))


# -- taints ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("taints", "tolerations", "usable"),
    [
        ([{"key": "k", "effect": "NoSchedule"}], [], False),
        ([{"key": "k", "effect": "NoExecute"}], [], False),
        ([{"key": "k", "effect": "None"}], [], True),
        ([{"key": "k", "effect": "Later"}], [], True),
        ([{"key": "k", "effect": "NoSchedule"}], [{"key": "k", "operator": "Exists"}], True),
        ([{"key": "k", "effect": "NoSchedule"}], [{"operator": "Exists"}], True),
        ([{"key": "k", "effect": "NoSchedule"}], [{"key": "k", "operator": "Exists", "effect": "NoExecute"}], False),
        ([{"key": "k", "value": "v", "effect": "NoSchedule"}], [{"key": "k", "value": "v"}], True),
        ([{"key": "k", "value": "v", "effect": "NoSchedule"}], [{"key": "k", "value": "w"}], False),
        (
            [{"key": "k", "effect": "NoSchedule"}, {"key": "l", "effect": "NoSchedule"}],
            [{"key": "k", "operator": "Exists"}],
            False,
        ),
    ],
)
def test_every_blocking_taint_must_be_tolerated(taints, tolerations, usable):
    world = World(gpus(1, taints=taints))
    outcome = world.allocate(claim(request(tolerations=tolerations) if tolerations else request()))
    assert bool(outcome) is usable
    if usable and tolerations:
        assert outcome.allocations[0].result["devices"]["results"][0]["tolerations"] == tolerations
    if not usable:
        assert "taint" in outcome.reason


def test_admin_access_does_not_bypass_taints():
    world = World(gpus(1, taints=[{"key": "k", "effect": "NoSchedule"}]))
    assert not world.allocate(claim(request(adminAccess=True)))


# -- admin access ------------------------------------------------------------------------------------------------------


def test_admin_access_sees_past_use_and_does_not_keep_others_away():
    world = World(gpus(1))
    world.take(claim(request()))
    outcome = world.take(claim(request(adminAccess=True)))
    assert outcome.allocations[0].result["devices"]["results"][0]["adminAccess"] is True
    assert world.allocate(claim(all_request(adminAccess=True)))
    world = World(gpus(1))
    world.take(claim(request(adminAccess=True)))
    assert world.allocate(claim(request()))


def test_one_admin_claim_gets_no_device_twice():
    assert not World(gpus(1)).allocate(claim(request(adminAccess=True, count=2)))
    outcome = World(gpus(2)).allocate(claim(request("a"), all_request("b", adminAccess=True)))
    assert outcome.reason.endswith("would need one device for two of its requests, which admin access does not allow")
    shared = device("nic", allowMultipleAllocations=True)
    outcome = World(gpus(1), resource_slice("s", [shared], node="node-a", pool="s")).allocate(
        claim(all_request("a"), all_request("b"))
    )
    assert outcome.reason.endswith("share too few: 1 matching is free")
    assert not World(gpus(1)).allocate(claim(request("a", adminAccess=True), request("b", adminAccess=True)))


# -- configs -----------------------------------------------------------------------------------------------------------


def opaque(name: str) -> dict:
    return {"opaque": {"driver": DRIVER, "parameters": {"name": name}}}


def test_class_configs_come_first_then_those_of_the_claim_that_concern_what_was_chosen():
    classes = [device_class("gpu", config=[opaque("class")]), device_class("other", config=[opaque("other")])]
    world = World(gpus(4), classes=classes)
    outcome = world.allocate(
        claim(
            request("a"),
            request("b", cls="other"),
            first_available("r", sub("one", count=9), sub("two")),
            config=[
                opaque("all"),
                {**opaque("ab"), "requests": ["a", "b"]},
                {**opaque("one"), "requests": ["r/one"]},
                {**opaque("r"), "requests": ["r"]},
            ],
        )
    )
    assert [
        (entry["source"], entry["opaque"]["parameters"]["name"], entry.get("requests"))
        for entry in outcome.allocations[0].result["devices"]["config"]
    ] == [
        ("FromClass", "class", ["a", "r/two"]),
        ("FromClass", "other", ["b"]),
        ("FromClaim", "all", None),
        ("FromClaim", "ab", ["a", "b"]),
        ("FromClaim", "r", ["r"]),
    ]


def test_a_class_config_that_covers_all_requests_names_none():
    world = World(gpus(2), classes=[device_class("gpu", config=[opaque("class")])])
    result = world.allocate(claim(request("a"), request("b"))).allocations[0].result
    assert result["devices"]["config"] == [{"source": "FromClass", **opaque("class")}]


def test_the_documented_imex_claim_is_allocated_as_documented():
    channel = resource_slice(
        "s",
        [device("channel-0", attributes={"type": "channel"})],
        node="node-a",
        pool="node-a",
        driver="cd.example.com",
    )
    parameters = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomainChannelConfig",
        "domainID": "83479f70",
    }
    config = {"opaque": {"driver": "cd.example.com", "parameters": parameters}, "requests": ["channel"]}
    result = World(channel).allocate(claim(request("channel"), config=[config])).allocations[0].result
    assert result == {
        "devices": {
            "config": [{"source": "FromClaim", **config}],
            "results": [{"request": "channel", "driver": "cd.example.com", "pool": "node-a", "device": "channel-0"}],
        },
        "nodeSelector": NODE_SELECTOR_A,
    }
