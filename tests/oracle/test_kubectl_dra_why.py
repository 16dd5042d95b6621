"""`kubectl dra why`: a sentence for each obstacle, with node, device and cause, on the output of kubectl."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from oracle_clusters import DRIVER, claim, device_class, exactly, node, resource_slice, selector
from test_planted_faults import allocated, device, result

from dra_api import __version__
from dra_api.objects import Obj
from dra_conformance.cli import call
from dra_conformance.cli.kubectl_dra import cli

Why = Callable[..., list[str]]
GPU = "device.attributes['gpu.example.com'].kind == 'gpu'"


@pytest.fixture
def why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Why:
    """Return the lines of `kubectl dra why ns/p` without the first, which is asserted to begin with `state`."""

    def run(*objects: Obj, state: str = "is pending: none of 1 node fits") -> list[str]:
        path = tmp_path / "all.yaml"
        path.write_text(yaml.safe_dump_all(copy.deepcopy([node("n1"), device_class("gpu", GPU), *objects])))
        code = call(["why", "ns/p", "-f", str(path)], cli, name="kubectl dra")
        output = capsys.readouterr()
        assert (code, output.err) == (0, "")
        first, *lines = output.out.splitlines()
        assert first == f"pod ns/p {state}", output.out
        return lines

    return run


def pod(*claims: str, **spec: Any) -> Obj:
    entries = [{"name": f"entry-{name}", "resourceClaimName": name} for name in claims]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ns", "uid": "uid-p"},
        "spec": {"containers": [{"name": "main"}], "resourceClaims": entries, **spec},
    }


def gpus(*devices: Obj, pool: str = "n1", name: str = "s", **options: Any) -> Obj:
    return resource_slice(name, list(devices), pool=pool, **({"nodeName": "n1"} | options))


def template(name: str, *requests: Obj) -> Obj:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"spec": {"devices": {"requests": list(requests)}}},
    }


def of_template(name: str, entry: str = "gpu") -> Obj:
    return {"name": entry, "resourceClaimTemplateName": name}


def requesting(resource: str, number: int = 1, name: str = "main") -> Obj:
    return {"name": name, "resources": {"limits": {resource: str(number)}}}


# -- devices -----------------------------------------------------------------------------------------------------------


def test_an_exhausted_counter(why: Why) -> None:
    def partition(name: str, memory: str) -> Obj:
        return device(name, consumesCounters=[{"counterSet": "gpu0", "counters": {"memory": {"value": memory}}}])

    objects = [
        gpus(name="counters", count=2, counters={"gpu0": {"memory": "80Gi"}}),
        gpus(partition("half-0", "40Gi"), partition("half-1", "40Gi"), partition("whole", "80Gi"), count=2),
        allocated(claim("held", exactly("r", "gpu")), result("half-0")),
    ]
    wants = claim("wants", exactly("r", "gpu", selectors=[{"cel": {"expression": f"{GPU} && true"}}], count=2))
    assert why(*objects, wants, pod("wants")) == [
        "  - claim ns/wants, request r: wants 2 devices, but only 1 of 2 is covered by what is left of shared counters",
        "    on n1",
        "    - device gpu.example.com/n1/half-0 is allocated to claim ns/held",
        "    - device gpu.example.com/n1/whole consumes 80Gi of counter gpu0/memory, which has 40Gi of 80Gi left",
    ]


def test_a_counter_that_requests_exhaust_together(why: Why) -> None:
    def partition(name: str) -> Obj:
        return device(name, consumesCounters=[{"counterSet": "gpu0", "counters": {"slices": {"value": "3"}}}])

    objects = [
        gpus(name="counters", count=2, counters={"gpu0": {"slices": "7"}}),
        gpus(*(partition(f"part-{number}") for number in range(3)), count=2),
        allocated(claim("held", exactly("r", "gpu")), result("part-0")),
        claim("wants", exactly("r", "gpu"), exactly("s", "gpu")),
    ]
    assert why(*objects, pod("wants")) == [
        "  - claim ns/wants: 4 is left of the 7 of counter gpu0/slices of pool gpu.example.com/n1, which is too little",
        "    on n1",
        "    - device gpu.example.com/n1/part-0 consumes 3 of counter gpu0/slices for claim ns/held",
    ]


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_device_taint(effect: str, why: Why) -> None:
    taint = {"key": "example.com/broken", "value": "ecc", "effect": effect}
    tainted = [device(f"a{number}", taints=[taint]) for number in range(3)]
    assert why(gpus(*tainted, device("b0")), claim("wants", exactly("r", "gpu", count=2)), pod("wants")) == [
        "  - claim ns/wants, request r: wants 2 devices, but only 1 of 4 is without a taint that it does not tolerate",
        "    on n1",
        "    - device gpu.example.com/n1/a0 (and 2 more devices) "
        f"is tainted example.com/broken=ecc:{effect}, which the request does not tolerate",
    ]


def test_a_taint_of_a_rule(why: Why) -> None:
    rule = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "broken"},
        "spec": {"deviceSelector": {"device": "a0"}, "taint": {"key": "broken", "value": "yes", "effect": "NoExecute"}},
    }
    assert why(gpus(device("a0")), rule, claim("wants", exactly("r", "gpu")), pod("wants"))[1:] == [
        "    on n1",
        "    - device gpu.example.com/n1/a0 is tainted broken=yes:NoExecute, which the request does not tolerate",
    ]


def test_a_request_for_all_devices(why: Why) -> None:
    small = device("small", capacity={"memory": {"value": "1Gi"}})
    large = [device(name, capacity={"memory": {"value": "8Gi"}}) for name in ("a0", "a1")]
    objects = [
        gpus(small, *large),
        allocated(claim("held", exactly("r", "gpu")), result("a0")),
        claim("wants", exactly("r", "gpu", allocationMode="All", capacity={"requests": {"memory": "4Gi"}})),
    ]
    assert why(*objects, pod("wants")) == [
        "  - claim ns/wants, request r: wants all devices, but only 1 of 2 is free",
        "    on n1",
        "    - device gpu.example.com/n1/a0 is allocated to claim ns/held",
    ]


def test_every_reason_against_a_device(why: Why) -> None:
    taints = [{"key": key, "effect": "NoSchedule"} for key in ("one", "two")]
    objects = [
        gpus(device("a0", taints=taints)),
        allocated(claim("held", exactly("r", "gpu")), result("a0")),
        claim("wants", exactly("r", "gpu")),
    ]
    assert why(*objects, pod("wants"))[2:] == [
        "    - device gpu.example.com/n1/a0 is tainted one=:NoSchedule, which the request does not tolerate",
        "    - device gpu.example.com/n1/a0 is tainted two=:NoSchedule, which the request does not tolerate",
        "    - device gpu.example.com/n1/a0 is allocated to claim ns/held",
    ]


def test_a_missing_slice_of_a_pool(why: Why) -> None:
    objects = [gpus(device("a0"), device("a1"), count=2, generation=7), claim("wants", exactly("r", "gpu"))]
    assert why(*objects, pod("wants")) == [
        "  - claim ns/wants, request r: wants 1 device, but none is offered",
        "    on n1",
        "    - device gpu.example.com/n1/a0 (and 1 more device) cannot be used, because its pool is incomplete: "
        "1 of 2 slices of generation 7 are published",
    ]


def test_a_slice_of_an_older_generation(why: Why) -> None:
    objects = [
        gpus(device("a0"), name="old", count=2, generation=6),
        gpus(name="new", count=2, generation=7),
        claim("wants", exactly("r", "gpu")),
    ]
    assert why(*objects, pod("wants"))[2:] == [
        "    - device gpu.example.com/n1/a0 cannot be used, because its pool is incomplete: "
        "1 of 2 slices of generation 7 are published; of older generations there is old (generation 6)",
    ]


def test_an_incomplete_pool_without_devices(why: Why) -> None:
    objects = [gpus(name="new", count=2, generation=7), claim("wants", exactly("r", "gpu"))]
    assert why(*objects, pod("wants"))[2:] == [
        "    - pool gpu.example.com/n1 is incomplete: 1 of 2 slices of generation 7 are published"
    ]


def test_an_invalid_pool(why: Why) -> None:
    slices = [gpus(device("a0"), name=name, count=2) for name in ("one", "two")]
    assert why(*slices, claim("wants", exactly("r", "gpu", allocationMode="All")), pod("wants")) == [
        "  - claim ns/wants, request r: wants all devices, but a pool is incomplete or invalid",
        "    on n1",
        "    - device gpu.example.com/n1/a0 cannot be used, because its pool is invalid: device a0 is listed twice",
    ]


def placed(name: str, root: str, numa: str) -> dict[str, Any]:
    found = device(name)
    found["attributes"] |= {"root": {"string": root}, "numa": {"string": numa}}
    return found


def test_constraints_that_each_have_no_solution_are_all_named(why: Why) -> None:
    both = [{"matchAttribute": f"{DRIVER}/root"}, {"matchAttribute": f"{DRIVER}/numa"}]
    wants = claim("wants", exactly("r", "gpu", count=2), constraints=both)
    lines = why(gpus(placed("a0", "a", "0"), placed("b0", "b", "1")), wants, pod("wants"))
    assert lines[0] == (
        "  - claim ns/wants: no free devices satisfy matchAttribute gpu.example.com/root, "
        "and none satisfy matchAttribute gpu.example.com/numa"
    )


def test_constraints_that_only_together_have_no_solution_are_all_named(why: Why) -> None:
    both = [{"matchAttribute": f"{DRIVER}/root"}, {"matchAttribute": f"{DRIVER}/numa"}]
    wants = claim("wants", exactly("r", "gpu", count=2), constraints=both)
    devices = [placed("a0", "a", "0"), placed("a1", "a", "1"), placed("b0", "b", "0")]
    assert why(gpus(*devices), wants, pod("wants"))[0] == (
        "  - claim ns/wants: no free devices satisfy together matchAttribute gpu.example.com/root "
        "and matchAttribute gpu.example.com/numa"
    )


@pytest.mark.parametrize("kind", ["matchAttribute", "distinctAttribute"])
def test_a_constraint(kind: str, why: Why) -> None:
    names = ["a0", "b0"] if kind == "matchAttribute" else ["a0", "a1"]
    wants = claim("wants", exactly("r", "gpu", count=2), constraints=[{kind: f"{DRIVER}/root"}])
    rootless = device("c0")
    del rootless["attributes"]["root"]
    assert why(gpus(*map(device, names), rootless), wants, pod("wants")) == [
        f"  - claim ns/wants: no free devices satisfy {kind} gpu.example.com/root",
        "    on n1",
        *(
            [
                "    - device gpu.example.com/n1/a0 has gpu.example.com/root=a (string)",
                "    - device gpu.example.com/n1/b0 has gpu.example.com/root=b (string)",
            ]
            if kind == "matchAttribute"
            else ["    - device gpu.example.com/n1/a0 (and 1 more device) has gpu.example.com/root=a (string)"]
        ),
        "    - device gpu.example.com/n1/c0 has no attribute gpu.example.com/root",
    ]


def test_no_capacity_left_of_a_shared_device(why: Why) -> None:
    capacity = {"memory": {"value": "80Gi", "requestPolicy": {"default": "10Gi"}}}
    shared = device("a0", allowMultipleAllocations=True, capacity=capacity)
    held = result("a0", shareID="6f4f9a60-0000-4000-8000-000000000001", consumedCapacity={"memory": "60Gi"})
    objects = [
        gpus(shared),
        allocated(claim("held", exactly("r", "gpu", capacity={"requests": {"memory": "60Gi"}})), held),
        claim("wants", exactly("r", "gpu", capacity={"requests": {"memory": "40Gi"}})),
    ]
    assert why(*objects, pod("wants")) == [
        "  - claim ns/wants, request r: wants 1 device, but none of 1 is free",
        "    on n1",
        "    - device gpu.example.com/n1/a0 has 20Gi of 80Gi of capacity memory left, and the request consumes 40Gi",
    ]


def test_a_device_that_is_too_small(why: Why) -> None:
    objects = [
        gpus(device("a0", capacity={"memory": {"value": "40Gi"}})),
        claim("wants", exactly("r", "gpu", capacity={"requests": {"memory": "80Gi"}})),
    ]
    assert why(*objects, pod("wants"))[2:] == [
        "    - device gpu.example.com/n1/a0 has 40Gi of gpu.example.com/memory, less than requested"
    ]


# -- selectors ---------------------------------------------------------------------------------------------------------


def test_a_selector_is_quoted_with_its_owner(why: Why) -> None:
    nics = [device(f"nic{number}", attributes={"kind": {"string": "nic"}}) for number in range(2)]
    expression = "device.attributes['gpu.example.com'].root\n  == 'b'"
    wants = claim("wants", exactly("r", "gpu", selectors=[{"cel": {"expression": expression}}]))
    assert why(gpus(device("a0"), *nics), wants, pod("wants")) == [
        "  - claim ns/wants, request r: wants 1 device, but none of 3 is selected by its selectors",
        "    on n1",
        "    - device gpu.example.com/n1/a0 is not selected by the CEL selector of the request: "
        "device.attributes['gpu.example.com'].root == 'b'",
        "    - device gpu.example.com/n1/nic0 (and 1 more device) is not selected by the CEL selector of DeviceClass "
        "gpu: device.attributes['gpu.example.com'].kind == 'gpu'",
    ]


def test_a_long_selector_is_shortened_and_has_no_control_characters(why: Why) -> None:
    expression = "'\x1b[31m' == '' || " + " || ".join(f"device.driver == '{number}'" for number in range(50))
    wants = claim("wants", exactly("r", "gpu", selectors=[{"cel": {"expression": expression}}]))
    (line,) = why(gpus(device("a0")), wants, pod("wants"))[2:]
    quoted = line.partition("of the request: ")[2]
    assert quoted.startswith("'\N{REPLACEMENT CHARACTER}[31m' == ''")
    assert (len(quoted), quoted[-1]) == (120, "…")


def test_a_selector_that_fails_is_quoted_with_its_error(why: Why) -> None:
    expression = "device.attributes['gpu.example.com'].missing == 'b'"
    wants = claim("wants", exactly("r", "gpu", selectors=[{"cel": {"expression": expression}}]))
    sentence, where, cause = why(gpus(device("a0")), wants, pod("wants"))
    assert sentence.startswith("  - claim ns/wants, request r: selector #0 of the request fails: ")
    assert where == "    on n1"
    assert cause.startswith(
        "    - device gpu.example.com/n1/a0 makes a CEL selector of the request fail with the error "
    )
    assert "missing" in cause
    assert cause.endswith(f": {expression}")


def test_all_requests_and_what_the_others_break_together(why: Why) -> None:
    wants = claim(
        "wants",
        exactly("many", "gpu", count=9),
        exactly("pair", "gpu", count=2),
        constraints=[{"matchAttribute": f"{DRIVER}/root", "requests": ["pair"]}],
    )
    lines = why(gpus(device("a0"), device("b0")), wants, pod("wants"))
    assert [line for line in lines if line.startswith("  - ")] == [
        "  - claim ns/wants, request many: wants 9 devices, but only 2 are offered",
        "  - claim ns/wants: no free devices satisfy matchAttribute gpu.example.com/root over requests pair",
    ]


def test_each_alternative_has_its_sentence(why: Why) -> None:
    alternatives = [{"name": name, "deviceClassName": "gpu", "count": count} for name, count in (("x", 2), ("y", 3))]
    wants = claim("wants", {"name": "r", "firstAvailable": alternatives})
    lines = why(gpus(device("a0")), wants, pod("wants"))
    assert [line[:55] for line in lines if line.startswith("  - ")] == [
        "  - claim ns/wants, request r/x: wants 2 devices, but o",
        "  - claim ns/wants, request r/y: wants 3 devices, but o",
    ]


def test_a_search_that_is_too_large_is_reported(why: Why, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dra_conformance.cli.kubectl_dra.why.SMALL_BUDGET", 0)
    assert why(gpus(device("a0")), claim("wants", exactly("r", "gpu", count=2)), pod("wants")) == [
        "  - the devices of the node cannot be judged: no allocation was found within 0 states",
        "    on n1",
    ]


def test_a_device_of_several_node_selector_terms(why: Why) -> None:
    terms = [selector("zone", zone)["nodeSelectorTerms"][0] for zone in ("z1", "z2")]
    network = gpus(device("a0"), nodeName="", nodeSelector={"nodeSelectorTerms": terms})
    del network["spec"]["nodeName"]
    assert why(network, claim("wants", exactly("r", "gpu")), pod("wants"))[1:] == [
        "    on n1",
        "    - device gpu.example.com/n1/a0 has a nodeSelector of several terms, which an allocation cannot contain",
    ]


# -- nodes -------------------------------------------------------------------------------------------------------------


def test_obstacles_of_nodes(why: Why) -> None:
    affinity = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "arch", "operator": "In", "values": ["arm64"]}]}]}
    waiting = pod(
        nodeSelector={"zone": "z9"},
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": affinity}},
        containers=[{"name": "main", "resources": {"requests": {"cpu": "4", "example.com/fpga": "1"}}}],
    )
    taints = [{"key": "infra", "value": "yes", "effect": "NoSchedule"}, {"key": "old", "effect": "NoExecute"}]
    others = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"x{number}"},
            "spec": {"taints": taints},
            "status": {"allocatable": {"cpu": "2", "pods": "9"}},
        }
        for number in range(8)
    ]
    on_all = "    on n1, x0, x1, x2, x3, x4 and 3 more nodes"
    on_others = "    on x0, x1, x2, x3, x4, x5 and 2 more nodes"
    assert why(*others, waiting, state="is pending: none of 9 nodes fits") == [
        "  - the node does not have the label zone=z9 of the pod's nodeSelector",
        on_all,
        "  - the node does not match the pod's required node affinity: arch In [arm64]",
        on_all,
        "  - the pod does not tolerate the node's taint infra=yes:NoSchedule",
        on_others,
        "  - the pod does not tolerate the node's taint old=:NoExecute",
        on_others,
        "  - the pod requests 4 cpu, but the node has only 2",
        on_others,
        "  - the pod requests 1 example.com/fpga, but the node has no device plugin for it, and it is no "
        "DeviceClass's extendedResourceName",
        on_others,
    ]


def test_cpu_that_other_pods_use(why: Why) -> None:
    other = pod(nodeName="n1", containers=[{"name": "main", "resources": {"requests": {"cpu": "3"}}}])
    other["metadata"] = {"name": "other", "namespace": "ns", "uid": "uid-other"}
    waiting = pod(containers=[{"name": "main", "resources": {"requests": {"cpu": "1500m"}}}])
    full = {**node("n1"), "status": {"allocatable": {"cpu": "4", "pods": "1"}}}
    assert why(full, other, waiting) == [
        "  - the pod requests 1500m cpu, but the node has less than that left",
        "    on n1",
        "  - the node has as many pods as it can have",
        "    on n1",
    ]


def test_equal_obstacles_of_nodes_are_one_sentence(why: Why) -> None:
    taint = {"key": "broken", "effect": "NoSchedule"}
    slices = [gpus(device("a0", taints=[taint]), pool=name, name=f"s-{name}", nodeName=name) for name in ("n1", "n2")]
    objects = [node("n2"), *slices, claim("wants", exactly("r", "gpu")), pod("wants")]
    assert why(*objects, state="is pending: none of 2 nodes fits") == [
        "  - claim ns/wants, request r: wants 1 device, but none of 1 is without a taint that it does not tolerate",
        "    on n1, n2",
        "    - device gpu.example.com/n1/a0 (and 1 more device) is tainted broken=:NoSchedule, "
        "which the request does not tolerate",
    ]


def test_the_text_shows_some_of_many_devices(why: Why) -> None:
    names = [f"a{number}" for number in range(13)]
    held = [allocated(claim(f"c-{name}", exactly("r", "gpu")), result(name)) for name in names]
    lines = why(gpus(*map(device, names)), *held, claim("wants", exactly("r", "gpu")), pod("wants"))
    assert lines[2:4] == [
        "    - device gpu.example.com/n1/a0 is allocated to claim ns/c-a0",
        "    - device gpu.example.com/n1/a1 is allocated to claim ns/c-a1",
    ]
    assert lines[12:] == ["    - and 3 more devices: -o json lists all"]


# -- the pod -----------------------------------------------------------------------------------------------------------


def quota(**status: Any) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus", "namespace": "ns"},
        "status": status,
    }


def test_obstacles_of_the_pod_do_not_hide_those_of_nodes(why: Why) -> None:
    waiting = pod(schedulingGates=[{"name": "example.com/wait"}], resourceClaims=[of_template("two")])
    count = "count/resourceclaims.resource.k8s.io"
    objects = [
        gpus(device("a0")),
        template("two", exactly("r", "gpu", count=2)),
        quota(hard={count: "5"}, used={count: "5"}),
    ]
    state = "is pending: no scheduler can place it yet, and none of 1 node fits"
    assert why(*objects, waiting, state=state) == [
        "  - scheduling gate example.com/wait: a controller must remove it first",
        f"  - quota gpus: {count} has 0 of 5 left, and the claims of the pod need 1",
        "  - claim of entry gpu (ResourceClaimTemplate two), request r: wants 2 devices, but only 1 is offered",
        "    on n1",
    ]


def test_a_gated_pod_that_fits(why: Why) -> None:
    waiting = pod("wants", schedulingGates=[{"name": "example.com/wait"}])
    objects = [gpus(device("a0")), claim("wants", exactly("r", "gpu")), waiting]
    assert why(*objects, state="is pending: no scheduler can place it yet") == [
        "  - scheduling gate example.com/wait: a controller must remove it first",
        "  apart from that, the pod fits on node n1",
        "  device r=gpu.example.com/n1/a0",
    ]


def test_what_does_not_exist_is_left_out_of_the_obstacles_of_nodes(why: Why) -> None:
    wants = claim("wants", exactly("r", "gpu", count=2), exactly("s", "lost"), exactly("t", "gpu"))
    wants["spec"]["devices"]["constraints"] = [
        {"matchAttribute": f"{DRIVER}/root", "requests": ["r", "s"]},
        {"matchAttribute": f"{DRIVER}/root", "requests": ["s"]},
    ]
    waiting = pod("wants", "absent")
    waiting["spec"]["resourceClaims"].append(of_template("gone"))
    state = "is pending: no scheduler can place it yet, and none of 1 node fits"
    assert why(gpus(device("a0")), wants, waiting, state=state) == [
        "  - ResourceClaim ns/absent of its entry entry-absent does not exist",
        "  - ResourceClaimTemplate ns/gone of its entry gpu does not exist",
        "  - claim ns/wants, request s: DeviceClass lost does not exist",
        "  - claim ns/wants, request r: wants 2 devices, but only 1 is offered",
        "    on n1",
        "  not known, and left out of the obstacles of nodes: entry entry-absent; entry gpu; claim ns/wants, request s",
    ]


def test_only_unknown_requests(why: Why) -> None:
    wants = claim("wants", exactly("r", "lost"))
    lines = why(gpus(device("a0")), wants, pod("wants"), state="is pending: no scheduler can place it yet")
    assert lines == [
        "  - claim ns/wants, request r: DeviceClass lost does not exist",
        "  not known, and left out of the obstacles of nodes: claim ns/wants, request r",
        "  apart from that, the pod fits on node n1",
    ]


@pytest.mark.parametrize("change", ["deleted", "full"])
def test_a_claim_that_no_pod_can_use(change: str, why: Why) -> None:
    wants = claim("wants", exactly("r", "gpu", count=2))
    if change == "deleted":
        wants["metadata"]["deletionTimestamp"] = "2026-11-26T05:00:00Z"
        text = "is being deleted"
    else:
        users = [{"resource": "pods", "name": f"u{number}", "uid": f"u{number}"} for number in range(256)]
        wants["status"] = {"reservedFor": users}
        text = "has 256 consumers, which is all that it can have"
    state = "is pending: no scheduler can place it yet, and none of 1 node fits"
    assert why(gpus(device("a0")), wants, pod("wants"), state=state)[:2] == [
        f"  - ResourceClaim ns/wants of its entry entry-wants {text}",
        "  - claim ns/wants, request r: wants 2 devices, but only 1 is offered",
    ]


def test_a_generated_claim_that_is_gone_is_judged_by_its_template(why: Why) -> None:
    waiting = pod(resourceClaims=[of_template("two")])
    waiting["status"] = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu-x7x"}]}
    state = "is pending: no scheduler can place it yet, and none of 1 node fits"
    assert why(gpus(device("a0")), template("two", exactly("r", "gpu", count=2)), waiting, state=state)[:2] == [
        "  - ResourceClaim ns/p-gpu-x7x of its entry gpu does not exist",
        "  - claim of entry gpu (ResourceClaimTemplate two), request r: wants 2 devices, but only 1 is offered",
    ]


def test_a_template_that_is_gone_does_not_matter_once_its_claim_exists(why: Why) -> None:
    waiting = pod(resourceClaims=[of_template("gone")])
    waiting["status"] = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu-x7x"}]}
    made = claim("p-gpu-x7x", exactly("r", "gpu"))
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    state = (
        "is pending, and fits on node n1: its scheduler has not placed it there (yet); schedulerName: default-scheduler"
    )
    assert why(gpus(device("a0")), made, waiting, state=state) == ["  device r=gpu.example.com/n1/a0"]


# -- extended resources ------------------------------------------------------------------------------------------------


def extended_class() -> Obj:
    made = device_class("gpu", GPU)
    made["spec"]["extendedResourceName"] = "example.com/gpu"
    return made


def test_an_extended_resource(why: Why) -> None:
    plugin = {**node("n2"), "status": {"allocatable": {"example.com/gpu": "1", "pods": "9"}}}
    bare = {**node("n1"), "status": {"allocatable": {"cpu": "4", "pods": "9"}}}
    nic = device("nic", attributes={"kind": {"string": "nic"}})
    objects = [
        bare,
        plugin,
        extended_class(),
        gpus(device("a0"), nic),
        allocated(claim("held", exactly("r", "gpu")), result("a0")),
        pod(containers=[requesting("example.com/gpu", 2), {"name": "other"}]),
    ]
    assert why(*objects, state="is pending: none of 2 nodes fits") == [
        "  - extended resource example.com/gpu of container main (DeviceClass gpu): wants 2 devices, but only 1 of 2 "
        "is selected by its selectors",
        "    on n1",
        "    - device gpu.example.com/n1/a0 is allocated to claim ns/held",
        "    - device gpu.example.com/n1/nic is not selected by the CEL selector of DeviceClass gpu: "
        "device.attributes['gpu.example.com'].kind == 'gpu'",
        "  - the pod requests 2 example.com/gpu, but the node has only 1",
        "    on n2",
    ]


def test_extended_resources_of_several_containers_want_too_many_together(why: Why) -> None:
    containers = [requesting("example.com/gpu", name=name) for name in ("one", "two")]
    names = ["a0", "a1", "b0"]
    held = [allocated(claim(f"held-{name}", exactly("r", "gpu")), result(name)) for name in names[:2]]
    assert why(extended_class(), gpus(*map(device, names)), *held, pod(containers=containers)) == [
        "  - the extended resources of the pod: the requests together want 2 devices, but too few are free",
        "    on n1",
        "    - device gpu.example.com/n1/a0 is allocated to claim ns/held-a0",
        "    - device gpu.example.com/n1/a1 is allocated to claim ns/held-a1",
    ]


def test_devices_of_an_earlier_attempt_for_extended_resources_are_free(why: Why) -> None:
    left = allocated(claim("p-extended-resources-x", exactly("container-0-request-0", "gpu")), result("a0"))
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    left["metadata"] |= {
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [owner],
    }
    waiting = pod(containers=[requesting("example.com/gpu")])
    state = (
        "is pending, and fits on node n1: its scheduler has not placed it there (yet); schedulerName: default-scheduler"
    )
    why(extended_class(), gpus(device("a0")), left, waiting, state=state)


@pytest.mark.parametrize(
    ("resource", "used", "need"),
    [
        ("count/resourceclaims.resource.k8s.io", 3, 1),
        ("gpu.deviceclass.resource.k8s.io/devices", 2, 2),
        ("requests.deviceclass.resource.kubernetes.io/gpu", 2, 2),
        ("requests.example.com/gpu", 3, 0),  # the pod is charged for it, and exists
    ],
)
def test_a_quota_for_the_claim_of_extended_resources(resource: str, used: int, need: int, why: Why) -> None:
    limits = quota(hard={resource: "3"}, used={resource: str(used)})
    fits = "and fits on node n1: its scheduler has not placed it there (yet); schedulerName: default-scheduler"
    state = "is pending: no scheduler can place it yet" if need else f"is pending, {fits}"
    waiting = pod(containers=[requesting("example.com/gpu", 2)])
    lines = why(extended_class(), gpus(device("a0"), device("a1")), limits, waiting, state=state)
    text = f"  - quota gpus: {resource} has {3 - used} of 3 left, and the claims of the pod need {need}"
    assert lines == [
        *([text, "  apart from that, the pod fits on node n1"] if need else []),
        "  device example.com/gpu=gpu.example.com/n1/a0",
        "  device example.com/gpu=gpu.example.com/n1/a1",
    ]


def test_a_quota_for_extended_resources_counts_claims_of_templates(why: Why) -> None:
    limits = quota(hard={"requests.example.com/gpu": "3"}, used={"requests.example.com/gpu": "2"})
    objects = [extended_class(), gpus(device("a0"), device("a1")), template("two", exactly("r", "gpu", count=2))]
    waiting = pod(resourceClaims=[of_template("two")])
    assert why(*objects, limits, waiting, state="is pending: no scheduler can place it yet")[0] == (
        "  - quota gpus: requests.example.com/gpu has 1 of 3 left, and the claims of the pod need 2"
    )


def test_a_device_plugin_somewhere_needs_no_claim(why: Why) -> None:
    limits = quota(hard={"count/resourceclaims.resource.k8s.io": "0"})
    plugin = {**node("n2"), "status": {"allocatable": {"example.com/gpu": "1", "pods": "9"}}}
    state = (
        "is pending, and fits on node n1: its scheduler has not placed it there (yet); schedulerName: default-scheduler"
    )
    objects = [plugin, extended_class(), gpus(device("a0")), limits, pod(containers=[requesting("example.com/gpu")])]
    why(*objects, state=state)


# -- json --------------------------------------------------------------------------------------------------------------


def test_json_has_all_nodes_and_devices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taint = {"key": "broken", "effect": "NoSchedule"}
    objects = [
        node("n1"),
        device_class("gpu", GPU),
        gpus(*(device(name, taints=[taint]) for name in ("a0", "a1"))),
        claim("wants", exactly("r", "gpu")),
        pod("wants", "absent"),
    ]
    path = tmp_path / "all.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    assert call(["why", "ns/p", "-o", "json", "-f", str(path)], cli, name="kubectl dra") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["notes"] == ["not known, and left out of the obstacles of nodes: entry entry-absent"]
    of_pod, of_node = found["obstacles"]
    assert of_pod == {
        "obstacle": "ResourceClaim ns/absent of its entry entry-absent does not exist",
        "nodes": [],
        "devices": [],
    }
    assert of_node["nodes"] == ["n1"]
    assert of_node["devices"] == [
        {
            "sentence": "device gpu.example.com/n1/a0 (and 1 more device) is tainted broken=:NoSchedule, "
            "which the request does not tolerate",
            "devices": ["gpu.example.com/n1/a0", "gpu.example.com/n1/a1"],
        }
    ]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["--version"], cli, name="kubectl dra") == 0
    assert capsys.readouterr().out == f"kubectl dra {__version__}\n"
