"""`kubectl dra` as a user runs it: on files of kubectl and on a cluster."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from oracle_clusters import DRIVER, Said, claim, device_class, exactly, node, resource_slice
from test_planted_faults import allocated, device, result

from apiserver_emulator.emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.objects import DEVICE_CLASSES, NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, Obj
from dra_api.request import User
from dra_conformance.cli import call
from dra_conformance.cli.kubectl_dra import cli

GPUS = ["a0", "a1", "b0"]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    def run(*args: str) -> tuple[int, str]:
        code = call(list(args), cli, name="kubectl dra")
        output = capsys.readouterr()
        return code, output.out + output.err

    return run


def pod(name: str, on: str = "", *, uid: str = "", status: Obj | None = None, **spec: Any) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "uid": uid or f"uid-{name}"},
        "spec": {"containers": [{"name": "main"}], **({"nodeName": on} if on else {}), **spec},
        "status": {"phase": "Running" if on else "Pending", **(status or {})},
    }


def using(name: str) -> list[Obj]:
    return [{"name": "gpu", "resourceClaimName": name}]


def held(name: str, gpu: str, *pods: str) -> Obj:
    made = allocated(claim(name, exactly("r", "gpu")), result(gpu))
    made["status"]["reservedFor"] = [{"resource": "pods", "name": each, "uid": f"uid-{each}"} for each in pods]
    return made


def gpu_class(**spec: Any) -> Obj:
    made = device_class("gpu", "device.attributes['gpu.example.com'].kind == 'gpu'")
    made["spec"] |= spec
    return made


def cluster(*more: Obj, gpus: Iterable[str] = GPUS) -> list[Obj]:
    slices = [resource_slice("s", [device(name) for name in gpus], pool="n1", nodeName="n1")]
    return [node("n1"), node("n2"), *slices, gpu_class(), *more]


@pytest.fixture
def files(tmp_path: Path) -> Callable[[list[Obj]], str]:
    def write(objects: list[Obj]) -> str:
        path = tmp_path / "all.yaml"
        path.write_text(yaml.safe_dump_all(copy.deepcopy(objects)))
        return str(path)

    return write


# -- why ---------------------------------------------------------------------------------------------------------------


def test_why_names_every_obstacle_with_its_nodes(files: Any, said: Said) -> None:
    tainted = {**node("n2"), "spec": {"taints": [{"key": "infra", "value": "yes", "effect": "NoSchedule"}]}}
    objects = [
        one for one in cluster(held("held", "a0", "train-0"), pod("train-0", "n1")) if one["metadata"]["name"] != "n2"
    ]
    wants = claim("wants", exactly("r", "gpu", count=3))
    path = files([*objects, tainted, wants, pod("big", resourceClaims=using("wants"))])
    code, text = said("why", "big", "-n", "ns", "-f", path)
    assert code == 0
    assert text.splitlines() == [
        "pod ns/big is pending: none of 2 nodes fits",
        "  - claim ns/wants, request r: wants 3 devices, but only 2 of 3 are free",
        "    on n1",
        "    - device gpu.example.com/n1/a0 is allocated to claim ns/held",
        "  - the pod does not tolerate the node's taint infra=yes:NoSchedule",
        "    on n2",
        "  - claim ns/wants, request r: wants 3 devices, but none is offered",
        "    on n2",
    ]


def test_why_finds_what_keeps_schedulers_from_trying(files: Any, said: Said) -> None:
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "two", "namespace": "ns"},
        "spec": {"spec": {"devices": {"requests": [exactly("r", "gpu", count=2)]}}},
    }
    entries = [
        {"name": "a", "resourceClaimTemplateName": "two"},
        {"name": "b", "resourceClaimName": "absent"},
        {"name": "c", "resourceClaimTemplateName": "lost"},
    ]
    resource = "gpu.deviceclass.resource.k8s.io/devices"
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus", "namespace": "ns"},
        "status": {"hard": {resource: "2"}, "used": {resource: "1"}},
    }
    waiting = pod("p", schedulingGates=[{"name": "example.com/wait"}], resourceClaims=entries)
    code, text = said("why", "ns/p", "-f", files(cluster(template, quota, waiting)))
    assert (code, text.splitlines()) == (
        0,
        [
            "pod ns/p is pending: no scheduler can place it yet",
            "  - scheduling gate example.com/wait: a controller must remove it first",
            "  - ResourceClaim ns/absent of its entry b does not exist",
            "  - ResourceClaimTemplate ns/lost of its entry c does not exist",
            f"  - quota gpus: {resource} has 1 of 2 left, and the claims of the pod need 2",
            "  not known, and left out of the obstacles of nodes: entry b; entry c",
            "  apart from that, the pod fits on node n1",
            "  device r=gpu.example.com/n1/a0",
            "  device r=gpu.example.com/n1/a1",
        ],
    )


def test_a_quota_with_enough_left_is_no_obstacle(files: Any, said: Said) -> None:
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "alternatives", "namespace": "ns"},
        "spec": {
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": "r",
                            "firstAvailable": [
                                {"name": "more", "deviceClassName": "gpu", "count": 2},
                                {"name": "one", "deviceClassName": "gpu", "count": 1},
                            ],
                        }
                    ]
                }
            }
        },
    }
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus", "namespace": "ns"},
        "status": {"hard": {"gpu.deviceclass.resource.k8s.io/devices": "2"}},
    }
    waiting = pod("p", resourceClaims=[{"name": "a", "resourceClaimTemplateName": "alternatives"}])
    _, text = said("why", "ns/p", "-f", files(cluster(template, quota, waiting)))
    assert text.splitlines()[0].startswith("pod ns/p is pending, and fits on node n1"), text


def test_why_names_the_node_and_the_devices_of_a_pod_that_fits(files: Any, said: Said) -> None:
    fitting = pod("p", resourceClaims=using("wants"), schedulerName="kai-scheduler")
    # Another pending pod does not take its device.
    others = [claim("other", exactly("r", "gpu", count=3)), pod("first", resourceClaims=using("other"))]
    code, text = said("why", "ns/p", "-f", files(cluster(claim("wants", exactly("r", "gpu")), fitting, *others)))
    assert code == 0
    assert "fits on node n1: its scheduler has not placed it there (yet); schedulerName: kai-scheduler" in text
    assert "device r=gpu.example.com/n1/a0" in text


def test_why_tells_what_the_kubelet_says_of_a_pod_on_a_node(files: Any, said: Said) -> None:
    waiting = {"state": {"waiting": {"reason": "CreateContainerError", "message": "no such CDI device"}}}
    stuck = pod("p", "n1", status={"phase": "Pending", "containerStatuses": [{"name": "main", **waiting}]})

    def event(number: int, reason: str, message: str, uid: str = "uid-p") -> Obj:
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"e{number}", "namespace": "ns"},
            "involvedObject": {"kind": "Pod", "namespace": "ns", "name": "p", "uid": uid},
            "reason": reason,
            "message": message,
            "lastTimestamp": f"2026-11-26T05:0{number}:00Z",
            "source": {"component": "kubelet"},
        }

    events = [
        event(1, "FailedPrepareDynamicResources", "the older one"),
        event(2, "FailedPrepareDynamicResources", "driver not registered"),
        event(3, "Killing", "of an earlier pod of that name", uid="uid-before"),
    ]
    code, text = said("why", "ns/p", "-f", files(cluster(held("held", "a0", "p"), stuck, *events)))
    assert (code, text.splitlines()) == (
        0,
        [
            "pod ns/p is on node n1: Pending",
            "  - container main: CreateContainerError: no such CDI device",
            "  device held/r=gpu.example.com/n1/a0",
            "  event 2026-11-26T05:02:00Z FailedPrepareDynamicResources (kubelet): driver not registered",
        ],
    )


def test_a_claim_that_is_allocated_elsewhere_is_an_obstacle(files: Any, said: Said) -> None:
    busy = {**node("n1"), "spec": {"unschedulable": True}}
    objects = [one for one in cluster(held("held", "a0")) if one["metadata"]["name"] != "n1"]
    code, text = said("why", "ns/p", "-f", files([busy, *objects, pod("p", resourceClaims=using("held"))]))
    assert code == 0
    assert "the node is cordoned (spec.unschedulable), and the pod does not tolerate it\n    on n1" in text
    assert "claim ns/held is allocated to devices that this node cannot use\n    on n2" in text


def test_an_unknown_pod_is_one_sentence(files: Any, said: Said) -> None:
    code, text = said("why", "trian-0", "-n", "ns", "-f", files(cluster(pod("train-0"))))
    assert (code, text) == (
        4,
        "error: unknown pod of namespace ns 'trian-0' (choose from train-0)\n  Did you mean train-0?\n",
    )
    code, text = said("why", "p", "-f", files(cluster(pod("p"))))
    assert (code, text) == (4, "error: there is no pod p in namespace default\n  -n NS looks at another one.\n")


# -- users and pools ---------------------------------------------------------------------------------------------------


def test_users_lists_devices_with_claims_and_pods(files: Any, said: Said) -> None:
    path = files(cluster(held("one", "a0", "p", "q"), held("two", "b0")))
    code, text = said("users", "-f", path)
    assert (code, text.splitlines()) == (
        0,
        [
            "DEVICE                  NODE   CLAIM    REQUEST   USE   PODS",
            "gpu.example.com/n1/a0   n1     ns/one   r         -     p,q",
            "gpu.example.com/n1/b0   n1     ns/two   r         -     -",
        ],
    )
    assert [row["device"] for row in json.loads(said("users", "-o", "json", "--device", "b0", "-f", path)[1])] == [
        f"{DRIVER}/n1/b0"
    ]
    assert said("users", "--node", "n2", "-f", path) == (0, "no device is allocated\n")


def test_pools_counts_devices_and_says_why_a_pool_cannot_be_used(files: Any, said: Said) -> None:
    tainted = {**device("c0"), "taints": [{"key": "broken", "effect": "NoSchedule"}]}
    objects = cluster(held("one", "a0"))
    objects[2]["spec"]["devices"].append(tainted)
    half = resource_slice("half", [device("x")], pool="n2", count=2, nodeName="n2")
    code, text = said("pools", "-o", "json", "-f", files([*objects, half]))
    assert code == 0
    first, second = json.loads(text)
    assert {key: first[key] for key in ("devices", "allocated", "tainted", "free", "state", "nodes")} == {
        "devices": 4,
        "allocated": 1,
        "tainted": 1,
        "free": 2,
        "state": "complete",
        "nodes": "n1",
    }
    assert second["state"] == "incomplete: 1 of 2 slices of generation 1"


# -- conflicts ---------------------------------------------------------------------------------------------------------


def found(text: str) -> set[tuple[str, str]]:
    return {(row["level"], row["object"]) for row in json.loads(text)}


def test_a_healthy_cluster_has_no_conflict(files: Any, said: Said) -> None:
    objects = cluster(held("one", "a0", "p"), pod("p", "n1", resourceClaims=using("one")))
    assert said("conflicts", "-f", files(objects)) == (0, "no conflict\n")


@pytest.mark.parametrize(
    ("more", "expected", "code"),
    [
        ([held("one", "a0", "p"), held("two", "a0", "p")], {("conflict", "gpu.example.com/n1/a0")}, 1),
        ([held("one", "a0", "gone")], {("conflict", "claim ns/one")}, 1),
        ([held("one", "a0")], {("note", "claim ns/one")}, 0),
        (
            [resource_slice("lost", [device("x")], pool="n9", nodeName="n9")],
            {("conflict", "pool gpu.example.com/n9")},
            1,
        ),
        (
            [resource_slice("old", [device("x")], pool="n1", generation=0, nodeName="n1")],
            {("note", "pool gpu.example.com/n1")},
            0,
        ),
    ],
    ids=["allocated twice", "pod is gone", "no pod uses it", "node is gone", "older generation"],
)
def test_conflicts(more: list[Obj], expected: set[tuple[str, str]], code: int, files: Any, said: Said) -> None:
    ended, text = said("conflicts", "-o", "json", "-f", files(cluster(pod("p", "n1"), *more)))
    assert (ended, found(text)) == (code, expected)


@pytest.mark.parametrize(
    ("resource", "classes", "level"),
    [
        ("vendor.test/gpu", [gpu_class(extendedResourceName="vendor.test/gpu")], "conflict"),
        ("deviceclass.resource.kubernetes.io/gpu", [gpu_class()], "conflict"),
        ("example.com/gpu", [gpu_class()], "note"),
        ("other.test/nic", [gpu_class(extendedResourceName="vendor.test/gpu")], ""),
        ("cpu", [gpu_class()], ""),
    ],
)
def test_devices_of_a_device_plugin_and_of_dra_on_one_node(
    resource: str, classes: list[Obj], level: str, files: Any, said: Said
) -> None:
    offering = {**node("n1"), "status": {"allocatable": {resource: "3"}}}
    gone = {**node("n2"), "status": {"allocatable": {resource: "0"}}}
    slices = [resource_slice(f"s-{name}", [device("a0")], pool=name, nodeName=name) for name in ("n1", "n2")]
    _, text = said("conflicts", "-o", "json", "-f", files([offering, gone, *slices, *classes]))
    # With -o json, an empty list is one as well.
    assert found(text) == ({(level, "node n1")} if level else set())


def test_a_device_of_a_plugin_that_a_claim_has_is_a_conflict(files: Any, said: Said) -> None:
    entry = {"name": "example.com/gpu", "resources": [{"resourceID": "a0", "health": "Healthy"}]}
    user = pod("p", "n1", status={"containerStatuses": [{"name": "main", "allocatedResourcesStatus": [entry]}]})
    objects = [one for one in cluster(held("one", "a0", "p"), user) if one["kind"] != "DeviceClass"]
    path = files([*objects, gpu_class(extendedResourceName="example.com/gpu")])
    code, text = said("conflicts", "-f", path)
    assert code == 1
    assert "is allocated to claim ns/one, and pod ns/p has it through a device plugin" in text


@pytest.mark.parametrize(
    ("created", "reason"),
    [("2026-11-02T00:00:00Z", "younger"), ("2026-11-01T00:00:00Z", "of the same age, and first by name")],
)
def test_a_class_that_does_not_serve_its_extended_resource_is_noted(
    created: str, reason: str, files: Any, said: Said
) -> None:
    several = [gpu_class(extendedResourceName="vendor.test/gpu") for _ in range(3)]
    for one, name, when in zip(several, ("b", "a", "c"), ("2026-11-01T00:00:00Z", created, created), strict=True):
        one["metadata"] = {"name": name, "creationTimestamp": when}
    several[2]["spec"]["extendedResourceName"] = "vendor.test/other"
    code, text = said("conflicts", "-f", files(several))
    assert code == 0
    assert "DeviceClass b" in text
    assert f"has the extended resource vendor.test/gpu, but pods get devices of DeviceClass a ({reason})" in text
    assert "DeviceClass c" not in text


# -- a cluster ---------------------------------------------------------------------------------------------------------


def test_a_cluster_is_read_with_the_namespace_of_its_context(tmp_path: Path, said: Said) -> None:
    emulator = ApiServerEmulator(directory=tmp_path / "plane")
    emulator.start()
    try:
        client = KubeClient(emulator.transport())
        client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
        client.create(DEVICE_CLASSES, gpu_class())
        client.create(RESOURCE_SLICES, resource_slice("s", [device("a0")], pool="n1", nodeName="n1"))
        wants = claim("wants", exactly("r", "gpu", count=2))
        wants["metadata"] = {"name": "wants", "namespace": "default"}
        client.create(RESOURCE_CLAIMS, wants)
        waiting = pod("p", resourceClaims=using("wants"))
        waiting["metadata"] = {"name": "p", "namespace": "default"}
        waiting["spec"]["containers"][0]["image"] = "image.example.com"
        client.create(PODS, waiting)
        code, text = said("why", "p", "--kubeconfig", str(emulator.kubeconfig))
        assert code == 0, text
        assert "claim default/wants, request r: wants 2 devices, but only 1 is offered" in text
        limited = emulator.write_kubeconfig(tmp_path / "jane", User("jane", groups=("system:authenticated",)))
        code, text = said("pools", "--kubeconfig", str(limited))
        assert code == 0
        assert "not read: resourceslices (this user may not list them)" in text
    finally:
        emulator.stop()


def test_without_a_cluster_the_next_step_is_named(tmp_path: Path, said: Said) -> None:
    code, text = said("users", "--kubeconfig", str(tmp_path / "none"))
    assert code == 4
    assert "Or use -f FILE with the output of kubectl." in text
    code, text = said("users", "-f", "x", "--context", "y")
    assert (code, text) == (4, "error: -f excludes --kubeconfig and --context\n  Remove one of them.\n")
