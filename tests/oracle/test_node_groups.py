"""`dra-conformance simulate --node-group`: node groups that have no node yet.

CASES are the cases that cluster-autoscaler 1.36.1 publishes for the number of new nodes
(core/static_autoscaler_dra_test.go): its names, its numbers of devices, pods and nodes. Its cases of removed nodes have
no counterpart, because `simulate` removes none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from oracle_clusters import Said, claim, device_class, exactly, resource_slice

from dra_api.objects import Obj

DRIVER = "dra.example.com"
GPU_A = f"device.attributes['{DRIVER}'].?gpuType.orValue('') == 'gpuA'"
GPU_B = f"device.attributes['{DRIVER}'].?gpuType.orValue('') == 'gpuB'"
NIC = f"device.attributes['{DRIVER}'].?nicType.orValue('') == 'nicA'"


def gpus(count: int, kind: str = "gpuA") -> list[Obj]:
    return [{"name": f"gpu-{n}", "attributes": {"gpuType": {"string": kind}}} for n in range(count)]


def nic() -> Obj:
    return {"name": "nic-0", "attributes": {"nicType": {"string": "nicA"}}}


def node(name: str, devices: Sequence[Obj], slices: int = 1) -> list[Obj]:
    """Return a node of one CPU and ten pods of 100m, with its devices in one pool of some slices."""
    made: Obj = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "1", "memory": "1000", "pods": "110"}},
    }
    return [
        made,
        *(
            resource_slice(
                f"{name}-{n}", list(devices[n::slices]), pool=name, count=slices, driver=DRIVER, nodeName=name
            )
            for n in range(slices)
        ),
    ]


def pod(name: str, *requests: Obj, shared: str = "", on: str = "", devices: Sequence[str] = ()) -> list[Obj]:
    """Return a pod and its claim, allocated if it runs on a node."""
    own = f"{name}-claim"
    spec: Obj = {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m", "memory": "100"}}}],
        "resourceClaims": [],
    }
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}"}
    made: Obj = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    objects: list[Obj] = [made]
    if on:
        spec["nodeName"] = on
    if requests:
        spec["resourceClaims"].append({"name": "own", "resourceClaimTemplateName": "t"})
        made["status"] = {"resourceClaimStatuses": [{"name": "own", "resourceClaimName": own}]}
        mine = claim(own, *requests)
        owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": metadata["uid"], "controller": True}
        mine["metadata"]["ownerReferences"] = [owner]
        if on:
            results = [{"request": "r", "driver": DRIVER, "pool": on, "device": device} for device in devices]
            selected = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}
            allocation = {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [selected]}}
            mine["status"] = {"allocation": allocation}
        objects.append(mine)
    if shared:
        spec["resourceClaims"].append({"name": "shared", "resourceClaimName": shared})
    return objects


def pending(count: int, *requests: Obj, shared: str = "") -> list[Obj]:
    return [obj for number in range(count) for obj in pod(f"pending-{number}", *requests, shared=shared)]


def request(expression: str, count: int = 1, name: str = "r") -> Obj:
    made = exactly(name, "default-class", count=count)
    made["exactly"]["selectors"] = [{"cel": {"expression": expression}}]
    return made


def allocated_everywhere(name: str) -> Obj:
    """Return an allocated claim of a device that every node can use."""
    made = claim(name, request("true"))
    results = [{"request": "r", "driver": DRIVER, "pool": "global-pool", "device": "globalDev-0"}]
    made["status"] = {"allocation": {"devices": {"results": results}}}
    return made


@dataclass
class Case:
    """One case: what the cluster has, the templates, and how many new nodes of which group are needed."""

    cluster: list[Obj]
    templates: dict[str, list[Obj]]
    new: dict[str, int]
    unhelped: int = 0
    more: list[Obj] = field(default_factory=list)


ONE_A, THREE_A, BOTH = gpus(1), gpus(3), [*gpus(1), nic()]
CASES = {
    "one pod per node, one device per node": Case(
        [*node("n0", ONE_A), *pod("held", request(GPU_A), on="n0", devices=["gpu-0"]), *pending(3, request(GPU_A))],
        {"g": node("g", ONE_A)},
        {"g": 3},
    ),
    "multiple pods per node, pods requesting one device": Case(
        [
            *node("n0", THREE_A),
            *pod("held-0", request(GPU_A), on="n0", devices=["gpu-0"]),
            *pod("held-1", request(GPU_A), on="n0", devices=["gpu-1"]),
            *pending(10, request(GPU_A)),
        ],
        {"g": node("g", THREE_A)},
        {"g": 3},
    ),
    "multiple pods per node, pods requesting multiple identical devices": Case(
        [
            *node("n0", THREE_A),
            *pod("held", request(GPU_A), on="n0", devices=["gpu-0"]),
            *pending(4, request(GPU_A, 2)),
        ],
        {"g": node("g", THREE_A)},
        {"g": 3},
    ),
    "multiple devices in one slice": Case(
        [
            *node("n0", THREE_A),
            *pod("held", request(GPU_A, 2), on="n0", devices=["gpu-0", "gpu-1"]),
            *pending(5, request(GPU_A)),
        ],
        {"g": node("g", THREE_A)},
        {"g": 2},
    ),
    "multiple devices in multiple slices": Case(
        [
            *node("n0", THREE_A, slices=3),
            *pod("held", request(GPU_A, 2), on="n0", devices=["gpu-0", "gpu-1"]),
            *pending(5, request(GPU_A)),
        ],
        {"g": node("g", THREE_A, slices=3)},
        {"g": 2},
    ),
    "one pod per node, pods requesting multiple different devices": Case(
        [
            *node("n0", BOTH),
            *pod("held", request(GPU_A, 2), on="n0", devices=["gpu-0", "nic-0"]),
            *pending(3, request(GPU_A), request(NIC, name="n")),
        ],
        {"g": node("g", BOTH)},
        {"g": 3},
    ),
    "scale from 0 nodes in a node group": Case(
        pending(3, request(GPU_A), request(NIC, name="n")), {"g": node("g", BOTH)}, {"g": 3}
    ),
    "scale from 0 nodes, pods on the template consume devices": Case(
        pending(3, request(GPU_A)),
        {
            "g": [
                *node("g", THREE_A),
                *pod("daemon-0", request(GPU_A), on="g", devices=["gpu-0"]),
                *pod("daemon-1", request(GPU_A), on="g", devices=["gpu-1"]),
            ]
        },
        {"g": 3},
    ),
    "scale from 0 nodes, pods on the template consume devices, also of shared claims": Case(
        [allocated_everywhere("global"), *pending(3, request(GPU_A), shared="global")],
        {
            "g": [
                *node("g", THREE_A),
                *pod("daemon-0", request(GPU_A), on="g", devices=["gpu-0"], shared="global"),
                *pod("daemon-1", request(GPU_A), on="g", devices=["gpu-1"], shared="global"),
            ]
        },
        {"g": 3},
    ),
    "different devices, but they are on different nodes": Case(
        [
            *node("n0", ONE_A),
            *node("n1", [nic()]),
            *pending(3, request(GPU_A), request(NIC, name="n")),
        ],
        {"g": node("g", ONE_A), "h": node("h", [nic()])},
        {"g": 0, "h": 0},
        unhelped=3,
    ),
    "a shared, unallocated claim": Case(
        # Ten pods of 100m fit the one node that the claim binds them to.
        [
            *node("n0", gpus(1, "gpuB")),
            *pod("held", request(GPU_B), on="n0", devices=["gpu-0"]),
            claim("shared", request(GPU_B)),
            *pending(13, shared="shared"),
        ],
        {"g": node("g", gpus(1, "gpuB"))},
        {"g": 1},
        unhelped=3,
    ),
}


def written(folder: Path, name: str, objects: Sequence[Obj]) -> str:
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump_all(list(objects)))
    return str(path)


def simulated(folder: Path, said: Said, case: Case, *args: str) -> tuple[int, str]:
    cluster = written(folder, "cluster", [device_class("default-class"), *case.cluster])
    templates = [written(folder, name, template) for name, template in case.templates.items()]
    options = [option for template in templates for option in ("--node-group", template)]
    return said("simulate", cluster, *options, *args)


@pytest.mark.parametrize("name", CASES)
def test_cases_of_the_cluster_autoscaler(tmp_path: Path, said: Said, name: str) -> None:
    case = CASES[name]
    code, text = simulated(tmp_path, said, case, "--format", "json")
    answer = json.loads(text)
    assert answer["newNodes"] == case.new
    assert [one["fits"] for one in answer["withNodeGroups"]].count(False) == case.unhelped
    assert code == (1 if case.unhelped else 0)


def test_what_a_new_node_brings_and_lacks(tmp_path: Path, said: Said) -> None:
    case = Case(pending(2, request(GPU_A, 2)), {"small": node("small", ONE_A), "large": node("large", THREE_A)}, {})
    code, text = simulated(tmp_path, said, case)
    assert code == 0
    assert "  with new nodes: fits on large-simulated-1: r=dra.example.com/large-simulated-1/gpu-" in text
    assert text.endswith("0 of 2 fit; 2 with 2 new of large\n")
    case = Case(pending(1, request(GPU_A, 4)), {"small": node("small", ONE_A), "large": node("large", THREE_A)}, {})
    code, text = simulated(tmp_path, said, case)
    assert code == 1
    assert "  with a new node of large: claim ns/pending-0-claim, request r: wants 4 devices, but only 3 are" in text
    assert "[large-simulated-1]" in text
    assert "  with a new node of small: claim ns/pending-0-claim, request r: wants 4 devices, but only 1" in text
    assert (
        "  a new node must publish: claim ns/pending-0-claim, request r: 4 devices of DeviceClass default-class, "
        f"for which {GPU_A}, without taints\n" in text
    )
    assert text.endswith("0 of 1 fit; 0 with no new node\n")


def test_a_full_node_and_an_incomplete_pool_are_named(tmp_path: Path, said: Said) -> None:
    full = [*node("full", ONE_A)]
    full[0]["status"]["allocatable"]["cpu"] = "50m"
    half = node("half", THREE_A, slices=2)[:2]
    code, text = simulated(tmp_path, said, Case(pending(1, request(GPU_A)), {"full": full, "half": half}, {}))
    assert code == 1
    assert "with a new node of full: Insufficient cpu" in text
    assert "with a new node of half: " in text
    assert "half-simulated-1" in text


def test_admin_access_of_the_pods_of_a_template_takes_no_device(tmp_path: Path, said: Said) -> None:
    monitor = pod("monitor", request("true"), on="g", devices=["gpu-0"])
    result = monitor[1]["status"]["allocation"]["devices"]["results"][0]
    result |= {"adminAccess": True, "pool": "of-another-node"}
    case = Case(pending(1, request(GPU_A)), {"g": [*node("g", ONE_A), *monitor]}, {})
    code, text = simulated(tmp_path, said, case)
    assert code == 0, text


def test_two_groups_with_slices_of_one_name(tmp_path: Path, said: Said) -> None:
    first, second = node("a", ONE_A), node("b", [nic()])
    for template in (first, second):
        template[1]["metadata"]["name"] = "devices"
        template[1]["spec"]["pool"]["name"] = "pool"
    pods = [*pod("one", request(GPU_A)), *pod("two", request(NIC)), *pod("three", request(GPU_A))]
    code, text = simulated(tmp_path, said, Case(pods, {"a": first, "b": second}, {}))
    assert code == 0, text
    assert text.endswith("0 of 3 fit; 3 with 2 new of a, 1 new of b\n")


def test_what_a_new_node_must_publish_without_a_template(tmp_path: Path, said: Said) -> None:
    asked = request(GPU_A, 2)
    asked["exactly"] |= {
        "capacity": {"requests": {"memory": "40Gi"}},
        "tolerations": [{"key": "age", "operator": "Equal", "value": "old", "effect": "NoSchedule"}],
    }
    either = {
        "name": "e",
        "firstAvailable": [
            {"name": "a", "deviceClassName": "default-class", "allocationMode": "All"},
            {"name": "b", "deviceClassName": "lost", "count": 1},
        ],
    }
    wanted = claim("one", asked, either, constraints=[{"matchAttribute": f"{DRIVER}/root", "requests": ["r"]}])
    fast = device_class("fast")
    fast["spec"]["extendedResourceName"] = "example.com/gpu"
    extended = pod("extended")
    extended[0]["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = "3"
    objects = [device_class("default-class"), fast, *node("n0", []), wanted, *extended]
    code, text = said("simulate", written(tmp_path, "all", objects), "--needs")
    assert code == 1
    lead = "  a new node must publish: claim ns/one"
    assert (
        f"{lead}, request r: 2 devices of DeviceClass default-class, for which {GPU_A}, with capacity memory of at "
        "least 40Gi, without taints other than age=old:NoSchedule\n" in text
    )
    assert (
        f"{lead}, request e: one of: at least 1 device, and no other that cannot be allocated of DeviceClass "
        "default-class, without taints; or no device can be enough: the DeviceClass lost does not exist\n" in text
    )
    assert f"{lead}: the devices of requests r have the same value of attribute {DRIVER}/root\n" in text
    assert "claim ns/extended-extended-resources, request container-0-request-1: 3 devices of DeviceClass fast" in text
    assert "a new node must publish" not in said("simulate", written(tmp_path, "all", objects))[1]


def test_templates_that_cannot_be_copied(tmp_path: Path, said: Said) -> None:
    everywhere = resource_slice("s", gpus(1), pool="p", driver=DRIVER, allNodes=True)
    selected = resource_slice(
        "s", gpus(1), pool="p", driver=DRIVER, nodeSelector={"nodeSelectorTerms": [{"matchFields": []}]}
    )
    elsewhere = pod("p", request(GPU_A), on="g", devices=["gpu-0"])
    elsewhere[1]["status"]["allocation"]["devices"]["results"][0]["pool"] = "global-pool"
    for template, words in (
        ([], "a template has exactly one Node, not 0"),
        ([*node("g", []), *node("h", [])], "a template has exactly one Node, not 2"),
        ([*node("g", ONE_A), everywhere], "ResourceSlice s is not for the node g alone"),
        ([*node("g", ONE_A), selected], "ResourceSlice s is not for the node g alone"),
        ([*node("g", ONE_A), *pod("p", on="h")], "pod ns/p is not on the node g"),
        ([*node("g", ONE_A), *elsewhere], "claim ns/p-claim has a device of the pool dra.example.com/global-pool"),
    ):
        case = Case(pending(1, request(GPU_A)), {"g": template or [device_class("x")]}, {})
        code, text = simulated(tmp_path, said, case)
        assert code == 4, text
        assert words in text
    case = Case(pending(1, request(GPU_A)), {"g": node("g", ONE_A), "h": node("g", ONE_A)}, {})
    assert "another template has the node g too" in simulated(tmp_path, said, case)[1]
    case = Case(pending(1, request(GPU_A)), {"g": node("g", ONE_A)}, {})
    assert "cannot be used together" in simulated(tmp_path, said, case, "--add-node-like", "n0")[1]
