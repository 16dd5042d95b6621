"""A valid allocation with one planted fault: the checker reports the broken rule."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracle_clusters import (
    DRIVER,
    Scene,
    claim,
    device_class,
    exactly,
    opaque,
    resource_slice,
    scenes,
    selector,
)

from dra_api.objects import Obj
from dra_conformance.oracle import Case, Cluster, Settings, check, could_be_allocated, read_claim

CLASSES = [
    device_class("all", "true", config=[opaque("class")]),
    device_class("gpu", "device.attributes['gpu.example.com'].kind == 'gpu'"),
]


def device(name: str, **fields: Any) -> Obj:
    attributes = {"kind": {"string": "gpu"}, "root": {"string": name[0]}, **fields.pop("attributes", {})}
    return {"name": name, "attributes": attributes, **fields}


def result(device_name: str, *, request: str = "r", pool: str = "n1", **fields: Any) -> Obj:
    return {"request": request, "driver": DRIVER, "pool": pool, "device": device_name, **fields}


def on(name: str) -> Obj:
    return {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}]}


def allocated(made: Obj, *results: Obj, node: str | None = "n1", **allocation: Any) -> Obj:
    entry: Obj = {"devices": {"results": list(results)}, **allocation}
    if node:
        entry["nodeSelector"] = on(node)
    made["status"] = {"allocation": entry}
    return made


def rules_broken(scene: Scene, name: str = "c", **options: Any) -> set[str]:
    return {violation.rule for violation in check(scene.case(name, **options)).violations}


def scene_of(slices: list[Obj], *claims: Obj, rules: list[Obj] | None = None) -> Scene:
    return Scene(slices, rules or [], list(claims), CLASSES)


GPUS = [device("a0"), device("a1"), device("b0"), device("nic", attributes={"kind": {"string": "nic"}})]


def small() -> Scene:
    """Two of four devices, matched by root, beside a claim that holds a third."""
    first = claim(
        "c",
        exactly("r", "gpu", count=2),
        constraints=[{"matchAttribute": f"{DRIVER}/root"}],
        config=[opaque("mine", "r"), opaque("other", "s")],
    )
    first["spec"]["devices"]["requests"].append(
        {
            "name": "s",
            "firstAvailable": [
                {"name": "x", "deviceClassName": "all", "count": 1},
                {"name": "y", "deviceClassName": "all"},
            ],
        }
    )
    first["spec"]["devices"]["constraints"][0]["requests"] = ["r"]
    config = [
        {"source": "FromClass", **opaque("class", "s/x")},
        {"source": "FromClaim", **opaque("mine", "r")},
        {"source": "FromClaim", **opaque("other", "s")},
    ]
    allocated(first, result("a0"), result("a1"), result("nic", request="s/x"))
    first["status"]["allocation"]["devices"]["config"] = config
    other = allocated(claim("other", exactly("r", "gpu")), result("b0"))
    return scene_of([resource_slice("s", copy.deepcopy(GPUS), pool="n1", nodeName="n1")], first, other)


def results(scene: Scene) -> list[Obj]:
    found: list[Obj] = scene.claims[0]["status"]["allocation"]["devices"]["results"]
    return found


def devices(scene: Scene) -> list[Obj]:
    found: list[Obj] = scene.slices[0]["spec"]["devices"]
    return found


def configs(scene: Scene) -> list[Obj]:
    found: list[Obj] = scene.claims[0]["status"]["allocation"]["devices"]["config"]
    return found


def status(scene: Scene) -> Obj:
    found: Obj = scene.claims[0]["status"]
    return found


def test_the_valid_case_is_valid() -> None:
    verdict = check(small().case("c"))
    assert verdict.valid
    assert not verdict.remarks


def newer_pool(scene: Scene, **access: str) -> None:
    newer = copy.deepcopy(scene.slices[0])
    newer["metadata"]["name"] = "new"
    newer["spec"] |= {"devices": [device("z")], **access}
    newer["spec"]["pool"]["generation"] = 2
    scene.slices.append(newer)


def reserve(scene: Scene, *uids: str) -> object:
    return status(scene).update(reservedFor=[{"resource": "pods", "name": uid, "uid": uid} for uid in uids])


FAULTS: dict[str, tuple[str, Callable[[Scene], object]]] = {
    "unknown device": ("DRA-145", lambda s: results(s)[0].update(device="zz")),
    "unknown pool": ("DRA-145", lambda s: results(s)[0].update(pool="zz")),
    "old generation": ("DRA-145", newer_pool),
    "old generation, new one elsewhere": ("DRA-148", lambda s: newer_pool(s, nodeName="n2")),
    "incomplete pool": ("DRA-146", lambda s: s.slices[0]["spec"]["pool"].update(resourceSliceCount=2)),
    "name listed twice": ("DRA-149", lambda s: devices(s).append(device("a0"))),
    "other node": ("DRA-141", lambda s: status(s)["allocation"].update(nodeSelector=on("n2"))),
    "no node selector": ("DRA-141", lambda s: status(s)["allocation"].pop("nodeSelector")),
    "not of the class": ("DRA-158", lambda s: results(s)[0].update(device="nic")),
    "selector fails": ("DRA-161", lambda s: devices(s)[0]["attributes"].pop("kind")),
    "class is gone": (
        "DRA-124",
        lambda s: s.claims[0]["spec"]["devices"]["requests"][0]["exactly"].update(deviceClassName="x"),
    ),
    "one too few": ("DRA-153", lambda s: results(s).pop(0)),
    "one too many": ("DRA-153", lambda s: results(s).append(result("b0"))),
    "twice for one request": ("DRA-153", lambda s: results(s)[0].update(device="a1")),
    "twice in the claim": ("DRA-133", lambda s: results(s)[2].update(device="a1")),
    "in use by another": ("DRA-133", lambda s: results(s)[2].update(device="b0")),
    "no alternative": ("DRA-181", lambda s: results(s).pop(2)),
    "both alternatives": ("DRA-181", lambda s: results(s).append(result("b0", request="s/y"))),
    "unknown request": ("DRA-088", lambda s: results(s)[2].update(request="s")),
    "unknown subrequest": ("DRA-088", lambda s: results(s)[2].update(request="s/z")),
    "constraint broken": ("DRA-168", lambda s: results(s)[1].update(device="b0")),
    "same text, other type": ("DRA-168", lambda s: devices(s)[1]["attributes"].update(root={"version": "1.0.0"})),
    "attribute missing": ("DRA-169", lambda s: devices(s)[1]["attributes"].pop("root")),
    "tainted": ("DRA-213", lambda s: devices(s)[0].update(taints=[{"key": "k", "effect": "NoExecute"}])),
    "tainted by a rule": (
        "DRA-213",
        lambda s: s.rules.append(
            {
                "apiVersion": "resource.k8s.io/v1alpha3",
                "kind": "DeviceTaintRule",
                "metadata": {"name": "x"},
                "spec": {"deviceSelector": {"device": "a0"}, "taint": {"key": "k", "effect": "NoSchedule"}},
            }
        ),
    ),
    "tolerations invented": (
        "DRA-220",
        lambda s: results(s)[0].update(tolerations=[{"key": "k", "operator": "Exists"}]),
    ),
    "admin access invented": ("DRA-233", lambda s: results(s)[0].update(adminAccess=True)),
    "share of an exclusive device": ("DRA-208", lambda s: results(s)[0].update(shareID="x")),
    "consumption of an exclusive device": ("DRA-208", lambda s: results(s)[0].update(consumedCapacity={"m": "1"})),
    "binding conditions forgotten": ("DRA-250", lambda s: devices(s)[0].update(bindingConditions=["x"])),
    "failure conditions invented": ("DRA-250", lambda s: results(s)[0].update(bindingFailureConditions=["x"])),
    "config order": ("DRA-177", lambda s: configs(s).insert(0, configs(s).pop())),
    "config order in the claim": ("DRA-177", lambda s: configs(s).insert(1, configs(s).pop())),
    "class config missing": ("DRA-178", lambda s: configs(s).pop(0)),
    "class config for others": ("DRA-178", lambda s: configs(s)[0].update(requests=["r"])),
    "claim config missing": ("DRA-179", lambda s: configs(s).pop()),
    "claim config without its scope": ("DRA-179", lambda s: configs(s)[1].pop("requests")),
    "claim config invented": ("DRA-179", lambda s: configs(s).append({"source": "FromClaim", **opaque("new")})),
    "claim config changed": ("DRA-179", lambda s: configs(s)[1]["opaque"].update(parameters={})),
    "unknown source": ("DRA-089", lambda s: configs(s)[0].update(source="FromAir")),
    "consumer twice": ("DRA-086", lambda s: reserve(s, "u", "u")),
    "too many consumers": ("DRA-086", lambda s: reserve(s, *(f"u{n}" for n in range(257)))),
    "reserved without allocation": ("DRA-083", lambda s: [reserve(s, "u"), status(s).pop("allocation")]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found(fault: str) -> None:
    rule, plant = FAULTS[fault]
    scene = small()
    plant(scene)
    assert rule in rules_broken(scene)


def test_a_claim_config_written_twice_breaks_the_rule_from_1_37_on() -> None:
    scene = small()
    configs(scene).insert(1, configs(scene)[1])
    assert rules_broken(scene) == set()
    assert rules_broken(scene, release=36) == set()
    assert rules_broken(scene, release=37) == {"DRA-180"}


def test_the_class_config_of_1_34_is_understood() -> None:
    scene = small()
    configs(scene)[0].pop("requests")
    assert rules_broken(scene) == set()


def per_device(first: str, second: str) -> Scene:
    """A slice that lists devices of two nodes by name; the claim holds the one of n1."""
    offered = [device(first, nodeName="n1"), device(second, nodeName="n2")]
    made = allocated(claim("c", exactly("r", "gpu")), result(first, pool="p"))
    return scene_of([resource_slice("s", offered, pool="p", perDeviceNodeSelection=True)], made)


def test_names_of_other_nodes_devices_count_too() -> None:
    assert rules_broken(per_device("h0", "h1")) == set()
    assert "DRA-149" in rules_broken(per_device("h0", "h0"))


def test_counters_are_not_checked_while_their_gate_is_off() -> None:
    astray = device("h0", consumesCounters=[{"counterSet": "no", "counters": {"m": {"value": "1"}}}])
    scene = scene_of(
        [resource_slice("s", [device("a0"), astray], pool="n1", nodeName="n1")],
        allocated(claim("c", exactly("r", "gpu")), result("a0")),
    )
    assert "DRA-194" in rules_broken(scene)
    assert rules_broken(scene, gates_off=frozenset({"DRAPartitionableDevices"})) == set()


# -- one small cluster for each feature --------------------------------------------------------------------------------


def counted(total: str) -> Scene:
    sets = resource_slice("c", pool="p", count=2, counters={"set": {"mem": total}}, nodeName="n1")
    halves = [
        {"name": name, "consumesCounters": [{"counterSet": "set", "counters": {"mem": {"value": "40"}}}]}
        for name in ("h0", "h1")
    ]
    one = allocated(claim("c", exactly("r", "all")), result("h0", pool="p"))
    two = allocated(claim("d", exactly("r", "all")), result("h1", pool="p"))
    for made in (one, two):
        made["status"]["allocation"]["devices"]["config"] = [{"source": "FromClass", **opaque("class")}]
    return scene_of([sets, resource_slice("d", halves, pool="p", count=2, nodeName="n1")], one, two)


def test_shared_counters() -> None:
    assert rules_broken(counted("80")) == set()
    assert rules_broken(counted("79")) == {"DRA-189"}
    unknown = counted("80")
    unknown.slices[0]["spec"]["sharedCounters"][0]["name"] = "other"
    assert "DRA-194" in rules_broken(unknown)
    assert "DRA-199" in rules_broken(counted("80"), gates_off=frozenset({"DRAPartitionableDevices"}))


@pytest.mark.parametrize(
    ("groups", "broken"),
    [
        ((["a"], ["a", "b"]), set()),
        (([], []), set()),
        ((["a"], ["b"]), {"DRA-498"}),
        ((["a"], []), {"DRA-498"}),
    ],
)
def test_compatibility_groups(groups: tuple[list[str], list[str]], broken: set[str]) -> None:
    scene = counted("80")
    for half, names in zip(scene.slices[1]["spec"]["devices"], groups, strict=True):
        half["consumesCounters"][0]["compatibilityGroups"] = names
    assert rules_broken(scene) == broken
    off = rules_broken(scene, gates_off=frozenset({"DRADeviceCompatibilityGroups"}))
    assert off == ({"DRA-507"} if any(groups) else set())
    first = scene.claims[0]
    del first["status"]
    answer = could_be_allocated(scene.case("c"))
    assert answer.verdict == ("no" if broken else "yes")


def skipping(operations: list[str], own: list[str], *, declared: bool) -> Case:
    """A claim whose result skips operations, of a slice that skips its own, on a node with or without the feature."""
    made = allocated(claim("c", exactly("r", "gpu")), {**result("d0"), "skipNodeOperations": operations})
    slices = [resource_slice("s", [device("d0")], pool="n1", nodeName="n1", skipNodeOperations=own)]
    scene = scene_of(slices, made)
    objects = copy.deepcopy(scene.objects)
    for obj in objects:
        if obj["kind"] == "Node" and declared:
            obj.setdefault("status", {})["declaredFeatures"] = ["DRAOptionalNodeOperations"]
    return Case(Cluster.of(objects), read_claim(made))


@pytest.mark.parametrize(
    ("case", "broken", "possible"),
    [
        (skipping(["*"], ["*"], declared=True), set(), "yes"),
        (skipping(["*"], ["*"], declared=False), {"DRA-519"}, "no"),
        (skipping([], ["*"], declared=True), {"DRA-517"}, "yes"),
        (skipping(["*"], [], declared=True), {"DRA-517"}, "yes"),
        (skipping([], [], declared=False), set(), "yes"),
    ],
)
def test_skipped_operations(case: Case, broken: set[str], possible: str) -> None:
    assert {one.rule for one in check(case).violations} == broken
    fresh = dataclasses.replace(case, settings=Settings(fresh=False))
    assert not check(fresh).violations
    assert could_be_allocated(case).verdict == possible
    off = dataclasses.replace(case, settings=Settings(gates_off=frozenset({"DRAOptionalNodeOperations"})))
    wanted = case.cluster.slices[0].spec.skip_node_operations
    assert {one.rule for one in check(off).violations} == ({"DRA-521"} if wanted else set())
    assert could_be_allocated(off).verdict == ("no" if wanted else "yes")


def derived(expression: str, *values: Obj) -> Scene:
    """A claim whose devices have these places, compared by an attribute that it derives from them."""
    gpus = [device(f"d{at}") for at in range(len(values))]
    for gpu, value in zip(gpus, values, strict=True):
        gpu["attributes"] |= {"place": value} if value else {}
    request = exactly(
        "r", "gpu", count=len(values), derivedAttributes=[{"name": "derived.test/place", "expression": expression}]
    )
    made = claim("c", request, constraints=[{"matchAttribute": "derived.test/place"}])
    made = allocated(made, *(result(f"d{at}") for at in range(len(values))))
    return scene_of([resource_slice("s", gpus, pool="n1", nodeName="n1")], made)


_PLACE = f'device.attributes["{DRIVER}"].place'


@pytest.mark.parametrize(
    ("scene", "broken"),
    [
        (derived(_PLACE, {"int": 1}, {"int": 1}), set()),
        (derived(_PLACE, {"int": 1}, {"int": 2}), {"DRA-168"}),
        (derived(_PLACE, {"int": 1}, {"string": "1"}), {"DRA-168"}),
        (derived(f"{_PLACE} / 2", {"int": 2}, {"int": 3}), set()),
        (derived(_PLACE, {"int": 1}, {}), {"DRA-511"}),
    ],
)
def test_derived_attributes(scene: Scene, broken: set[str]) -> None:
    assert rules_broken(scene) == broken


def test_admin_access_takes_no_counter() -> None:
    scene = counted("40")
    scene.claims[1]["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] = True
    scene.claims[1]["status"]["allocation"]["devices"]["results"][0]["adminAccess"] = True
    assert rules_broken(scene) == set()
    assert rules_broken(scene, "d") == set()


def shared(*takes: tuple[str | None, str], value: str = "10", policy: Obj | None = None, share: str = "") -> Scene:
    """A shared device; each claim's request for `mem` and what it was given."""
    capacity = {"mem": {"value": value, **({"requestPolicy": policy} if policy else {})}}
    slices = [
        resource_slice(
            "s", [{"name": "d", "allowMultipleAllocations": True, "capacity": capacity}], pool="p", allNodes=True
        )
    ]
    made = []
    for number, (wanted, given_) in enumerate(takes):
        fields = {"capacity": {"requests": {"mem": wanted}}} if wanted else {}
        one = result("d", pool="p", shareID=share or f"share-{number}", consumedCapacity={"mem": given_})
        made.append(allocated(claim(f"c{number}", exactly("r", "all", **fields)), one, node=None))
        made[-1]["status"]["allocation"]["devices"]["config"] = [{"source": "FromClass", **opaque("class")}]
    return scene_of(slices, *made)


RANGE = {"default": "2", "validRange": {"min": "2", "max": "8", "step": "2"}}
LIST = {"default": "1", "validValues": ["1", "4", "8"]}


@pytest.mark.parametrize(
    ("scene", "broken"),
    [
        (shared(("4", "4"), ("6", "6")), set()),
        (shared(("4", "4"), ("7", "7")), {"DRA-212"}),
        (shared(("4", "4"), ("4", "4"), share="same"), {"DRA-201"}),
        (shared((None, "10")), set()),
        (shared((None, "3")), {"DRA-203"}),
        (shared((None, "2"), policy=RANGE), set()),
        (shared((None, "10"), policy=RANGE), {"DRA-202"}),
        (shared(("3", "4"), policy=RANGE), set()),
        (shared(("1", "2"), policy=RANGE), set()),
        (shared(("3", "3"), policy=RANGE), {"DRA-204"}),
        (shared(("9", "10"), policy=RANGE), {"DRA-205"}),
        (shared(("3", "4"), policy=LIST), set()),
        (shared(("3", "3"), policy=LIST), {"DRA-206"}),
        (shared(("9", "9"), policy=LIST), {"DRA-206"}),
    ],
)
def test_consumable_capacity(scene: Scene, broken: set[str]) -> None:
    assert rules_broken(scene, "c0") == broken


def test_fractions_of_a_range_are_exact_only_with_the_gate_of_1_37() -> None:
    fractions = {"default": "2", "validRange": {"min": "500m", "max": "8", "step": "250m"}}
    for consumed, broken in (("750m", set()), ("1", {"DRA-204"})):
        scene = shared(("700m", consumed), policy=fractions)
        assert rules_broken(scene, "c0", release=37) == broken
        assert rules_broken(scene, "c0", release=37, gates_off=frozenset({"DRAFractionalCapacityRange"})) == set()
        assert rules_broken(scene, "c0", release=36) == set()


def test_shared_device_without_share_or_with_unknown_capacity() -> None:
    scene = shared(("4", "4"))
    del results(scene)[0]["shareID"]
    assert rules_broken(scene, "c0") == {"DRA-201"}
    scene = shared(("4", "4"))
    results(scene)[0]["consumedCapacity"]["x"] = "1"
    assert rules_broken(scene, "c0") == {"DRA-203"}
    scene = shared(("4", "4"))
    scene.claims[0]["spec"]["devices"]["requests"][0]["exactly"]["capacity"]["requests"] = {"x": "1"}
    assert "DRA-207" in rules_broken(scene, "c0")


def test_exclusive_device_with_too_little_capacity() -> None:
    scene = small()
    devices(scene)[0]["capacity"] = {"mem": {"value": "4"}}
    devices(scene)[1]["capacity"] = {"mem": {"value": "8"}}
    scene.claims[0]["spec"]["devices"]["requests"][0]["exactly"]["capacity"] = {"requests": {"mem": "8"}}
    assert rules_broken(scene) == {"DRA-208"}


def listed_values(kind: str, *values: object) -> Scene:
    slices = [
        resource_slice(
            "s",
            [
                {"name": f"d{n}", "attributes": {"v": {"ints" if isinstance(v, list) else "int": v}}}
                for n, v in enumerate(values)
            ],
            pool="n1",
            nodeName="n1",
        )
    ]
    made = claim("c", exactly("r", "all", count=len(values)), constraints=[{kind: f"{DRIVER}/v"}])
    allocated(made, *(result(f"d{n}") for n in range(len(values))))
    made["status"]["allocation"]["devices"]["config"] = [{"source": "FromClass", **opaque("class")}]
    return scene_of(slices, made)


@pytest.mark.parametrize(
    ("scene", "broken"),
    [
        (listed_values("matchAttribute", [1, 2], [2, 3]), set()),
        (listed_values("matchAttribute", [1, 2], 2), set()),
        (listed_values("matchAttribute", [1, 2], [2, 3], [3, 1]), {"DRA-175"}),
        (listed_values("distinctAttribute", 1, 2, 3), set()),
        (listed_values("distinctAttribute", 1, 2, 1), {"DRA-174"}),
        (listed_values("distinctAttribute", [1, 2], [3]), set()),
        (listed_values("distinctAttribute", [1, 2], 2), {"DRA-174"}),
    ],
)
def test_constraints_over_values_and_lists(scene: Scene, broken: set[str]) -> None:
    assert rules_broken(scene) == broken


def everything(*names: str) -> Scene:
    made = allocated(claim("c", exactly("r", "gpu", allocationMode="All")), *(result(name) for name in names))
    return scene_of([resource_slice("s", copy.deepcopy(GPUS), pool="n1", nodeName="n1")], made)


def test_all_devices() -> None:
    assert rules_broken(everything("a0", "a1", "b0")) == set()
    assert rules_broken(everything("a0", "b0")) == {"DRA-154"}
    incomplete = everything("a0", "a1", "b0")
    incomplete.slices.append(resource_slice("o", [device("x")], pool="other", count=2, nodeName="n1"))
    assert rules_broken(incomplete) == {"DRA-147"}


def test_more_than_a_claim_can_hold() -> None:
    names = [f"d{n}" for n in range(33)]
    made = allocated(claim("c", exactly("r", "gpu", count=33)), *(result(name) for name in names))
    assert rules_broken(
        scene_of([resource_slice("s", [device(name) for name in names], pool="n1", nodeName="n1")], made)
    ) == {"DRA-157"}


def network(access: Obj, node_selector: Obj | None, **fields: Any) -> Scene:
    made = allocated(claim("c", exactly("r", "gpu")), result("d", pool="p"), node=None)
    if node_selector:
        made["status"]["allocation"]["nodeSelector"] = node_selector
    return scene_of([resource_slice("s", [device("d", **fields)], pool="p", **access)], made)


ZONE, OTHER_ZONE = selector("zone", "z1"), selector("zone", "z2")


@pytest.mark.parametrize(
    ("scene", "broken"),
    [
        (network({"allNodes": True}, None), set()),
        (network({"allNodes": True}, on("n1")), {"DRA-142"}),
        (network({"nodeSelector": ZONE}, ZONE), set()),
        (network({"nodeSelector": ZONE}, OTHER_ZONE), {"DRA-143"}),
        (network({"nodeSelector": ZONE}, None), {"DRA-143"}),
        (network({"perDeviceNodeSelection": True}, on("n1"), nodeName="n1"), set()),
        (network({"perDeviceNodeSelection": True}, on("n2"), nodeName="n1"), {"DRA-197"}),
        (network({"perDeviceNodeSelection": True}, ZONE, nodeSelector=ZONE), set()),
        (
            network(
                {"perDeviceNodeSelection": True},
                ZONE,
                nodeSelector={"nodeSelectorTerms": ZONE["nodeSelectorTerms"] + OTHER_ZONE["nodeSelectorTerms"]},
            ),
            {"DRA-198"},
        ),
        (network({"allNodes": True}, on("n1"), bindsToNode=True), set()),
        (network({"allNodes": True}, None, bindsToNode=True), {"DRA-254"}),
        (network({"nodeSelector": ZONE}, on("n2"), bindsToNode=True), {"DRA-143"}),
    ],
)
def test_places(scene: Scene, broken: set[str]) -> None:
    assert rules_broken(scene) == broken


@pytest.mark.parametrize(
    ("said", "broken"),
    [(None, set()), (ZONE, set()), (OTHER_ZONE, {"DRA-142"})],
    ids=["no selector", "that of a slice", "another"],
)
def test_one_name_in_two_slices_of_a_pool_is_the_one_that_the_selector_speaks_of(
    said: Obj | None, broken: set[str]
) -> None:
    scene = network({"nodeSelector": ZONE}, said)
    scene.slices[0]["spec"]["pool"]["resourceSliceCount"] = 2
    scene.slices.append(resource_slice("t", [device("d")], pool="p", count=2, allNodes=True))
    assert rules_broken(scene) == broken


def test_two_network_slices_are_merged() -> None:
    scene = network({"nodeSelector": ZONE}, ZONE)
    scene.slices.append(resource_slice("t", [device("e")], pool="q", nodeSelector=selector("rack", "r1")))
    scene.claims[0]["spec"]["devices"]["requests"][0]["exactly"]["count"] = 2
    results(scene).append(result("e", pool="q"))
    assert rules_broken(scene) == {"DRA-144"}
    terms = status(scene)["allocation"]["nodeSelector"]["nodeSelectorTerms"]
    both = [*terms[0]["matchExpressions"], *selector("rack", "r1")["nodeSelectorTerms"][0]["matchExpressions"]]
    status(scene)["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [{"matchExpressions": both}]}
    assert rules_broken(scene) == set()


def test_taints_are_compared_with_the_time_of_the_allocation() -> None:
    scene = small()
    status(scene)["allocation"]["allocationTimestamp"] = "2026-05-01T10:00:00Z"
    taint = {"key": "k", "effect": "NoSchedule", "timeAdded": "2026-05-01T10:00:01Z"}
    devices(scene)[0]["taints"] = [taint]
    assert rules_broken(scene) == set()
    taint["timeAdded"] = "2026-05-01T09:59:59Z"
    assert rules_broken(scene) == {"DRA-213"}


def test_what_is_younger_than_the_allocation_is_remarked_in_a_dump() -> None:
    scene = small()
    devices(scene)[0]["attributes"]["kind"] = {"string": "nic"}
    assert rules_broken(scene, fresh=False) == {"DRA-158"}
    status(scene)["allocation"]["allocationTimestamp"] = "2026-05-01T10:00:00Z"
    scene.slices[0]["metadata"]["creationTimestamp"] = "2026-05-02T10:00:00Z"
    verdict = check(scene.case("c", fresh=False))
    assert verdict.valid
    assert [remark.rule for remark in verdict.remarks] == ["DRA-158"]


# -- the same on random clusters ---------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(scenes(), st.data())
def test_a_fault_planted_anywhere_is_found(scene: Scene, data: st.DataObject) -> None:
    held = [number for number in range(len(scene.claims)) if scene.allocate(number, "n1") == "yes"]
    held = [number for number in held if scene.claims[number]["status"]["allocation"]["devices"]["results"]]
    assume(held)
    number = data.draw(st.sampled_from(held))
    name = scene.claims[number]["metadata"]["name"]
    allocation = scene.claims[number]["status"]["allocation"]
    given_results: list[Obj] = allocation["devices"]["results"]
    at = data.draw(st.integers(0, len(given_results) - 1))
    one = given_results[at]
    shares = "shareID" in one

    def drop() -> set[str]:
        del given_results[at]
        return {"DRA-153", "DRA-154", "DRA-181"}

    def duplicate() -> set[str]:
        given_results.append({**one, **({"shareID": "another"} if shares else {})})
        return {"DRA-153", "DRA-235", "DRA-154", "DRA-212"}

    def swap() -> set[str]:
        one["device"] = "unknown"
        return {"DRA-145"}

    def rename() -> set[str]:
        one["request"] = "unknown"
        return {"DRA-088"}

    def admin() -> set[str]:
        one["adminAccess"] = not one.get("adminAccess")
        return {"DRA-233"}

    def tolerate() -> set[str]:
        one["tolerations"] = [*one.get("tolerations", []), {"key": "other", "operator": "Exists"}]
        return {"DRA-220"}

    def conditions() -> set[str]:
        one["bindingConditions"] = [*one.get("bindingConditions", []), "more"]
        return {"DRA-250"}

    def share() -> set[str]:
        assume(not one.get("adminAccess"))
        if shares:
            del one["shareID"]
        else:
            one["shareID"] = "mine"
        return {"DRA-201", "DRA-208"}

    def consume() -> set[str]:
        assume(shares or not one.get("adminAccess"))  # no rule covers what admin access without a share consumes
        one["consumedCapacity"] = {**one.get("consumedCapacity", {}), "nothing": "1"}
        return {"DRA-203", "DRA-208"}

    def move() -> set[str]:
        allocation["nodeSelector"] = on("n3")
        return {"DRA-141", "DRA-142", "DRA-143", "DRA-144", "DRA-197"}

    def config() -> set[str]:
        allocation["devices"].setdefault("config", []).append({"source": "FromClass", **opaque("new")})
        return {"DRA-177", "DRA-178"}

    def steal() -> set[str]:
        assume(not one.get("adminAccess") and not shares)
        thief = claim("thief", exactly("r0"))
        scene.claims.append(allocated(thief, {**one, "request": "r0"}))
        return {"DRA-133"}

    def taint() -> set[str]:
        for obj in scene.slices:
            for made in obj["spec"].get("devices", ()):
                made["taints"] = [{"key": "new", "effect": "NoExecute"}]
        return {"DRA-213", "DRA-219"}

    def unpublish() -> set[str]:
        scene.slices[:] = [obj for obj in scene.slices if obj["spec"]["pool"]["name"] != one["pool"]]
        return {"DRA-145"}

    faults = [drop, duplicate, swap, rename, admin, tolerate, conditions, share]
    faults += [consume, move, config, steal, taint, unpublish]
    expected = data.draw(st.sampled_from(faults))()
    assert expected & rules_broken(scene, name)


def test_all_includes_devices_with_counters_although_their_gate_is_off() -> None:
    partition = device("h0", consumesCounters=[{"counterSet": "s", "counters": {"m": {"value": "1"}}}])
    made = claim("c", exactly("r", "gpu", allocationMode="All"))
    made["spec"]["devices"]["requests"][0]["exactly"] = {"deviceClassName": "gpu", "allocationMode": "All"}
    scene = scene_of([resource_slice("s", [device("a0"), partition], pool="n1", nodeName="n1")], made)
    off = frozenset({"DRAPartitionableDevices"})
    assert could_be_allocated(scene.case("c", gates_off=off)).verdict == "no"
