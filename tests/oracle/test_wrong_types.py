"""`check`, `simulate` and `kubectl dra` on objects with values of wrong types: one message, exit code 4."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from oracle_clusters import DRIVER, claim, device_class, exactly, node, resource_slice
from test_planted_faults import allocated, device, result

from dra_api.objects import Obj
from dra_conformance.cli import call
from dra_conformance.cli.kubectl_dra import cli

Change = Callable[[Obj], object]
_FOREIGN = "resource.example.com/v1"
_REQUEST = "spec.devices.requests[0]"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def cluster() -> dict[str, Obj]:
    """One object of each kind, by kind; the claim is allocated, and the pod waits for a claim of the template."""
    template = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ns"},
        "spec": {
            "containers": [{"name": "c"}],
            "resourceClaims": [{"name": "t", "resourceClaimTemplateName": "t"}],
        },
    }
    objects = [
        {**node("n1"), "status": {"allocatable": {"cpu": "1", "pods": "9"}}},
        resource_slice("s", [device("a0"), device("a1")], pool="n1", nodeName="n1"),
        device_class("gpu"),
        allocated(claim("held", exactly("r", "gpu")), result("a0")),
        {
            **template,
            "metadata": {"name": "t", "namespace": "ns"},
            "spec": {"spec": claim("t", exactly("r", "gpu"))["spec"]},
        },
        pod,
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "q", "namespace": "ns"},
            "spec": {"hard": {"count/resourceclaims.resource.k8s.io": "5"}},
        },
    ]
    return {one["kind"]: copy.deepcopy(one) for one in objects}


def write(folder: Path, objects: dict[str, Obj]) -> str:
    path = folder / "all.yaml"
    path.write_text(yaml.safe_dump_all(list(objects.values())))
    return str(path)


def first_device(one: Obj) -> Obj:
    found: Obj = one["spec"]["devices"][0]
    return found


def devices_of(one: Obj) -> Obj:
    found: Obj = one["status"]["allocation"]["devices"]
    return found


FOUND: list[tuple[str, Change, str]] = [
    ("ResourceSlice", lambda o: o["spec"].pop("driver"), "spec.driver"),
    ("ResourceSlice", lambda o: o["spec"].update(pool="p"), "spec.pool"),
    ("ResourceSlice", lambda o: o["spec"].update(devices=["d"]), "spec.devices[0]"),
    ("ResourceSlice", lambda o: first_device(o).update(attributes={"a": "x"}), "spec.devices[0].attributes[a]"),
    ("ResourceSlice", lambda o: first_device(o).update(attributes={"a": []}), "spec.devices[0].attributes[a]"),
    ("ResourceSlice", lambda o: first_device(o).update(capacity={"m": {}}), "spec.devices[0].capacity[m].value"),
    ("ResourceSlice", lambda o: first_device(o).update(taints=["x"]), "spec.devices[0].taints[0]"),
    ("DeviceClass", lambda o: o["spec"].update(selectors="s"), "spec.selectors"),
    ("DeviceClass", lambda o: o.update(spec="s"), "spec"),
    ("ResourceClaim", lambda o: o["status"]["allocation"].update(devices=[]), "status.allocation.devices"),
    ("ResourceClaim", lambda o: devices_of(o).update(results=[[]]), "status.allocation.devices.results[0]"),
    (
        "ResourceClaim",
        lambda o: devices_of(o)["results"][0].update(driver=[DRIVER]),
        "status.allocation.devices.results[0].driver",
    ),
    (
        "ResourceClaim",
        lambda o: devices_of(o)["results"][0].update(consumedCapacity={"m": "y"}, shareID="s"),
        "status.allocation.devices.results[0].consumedCapacity[m]",
    ),
]
"""What a fuzz campaign found: each was a traceback of `simulate` in an object of an unknown apiVersion."""

MORE: list[tuple[str, Change, str]] = [
    ("Node", lambda o: o["metadata"].update(labels={"a": 1}), "metadata.labels[a]"),
    ("Node", lambda o: o["metadata"].update(annotations=["a"]), "metadata.annotations"),
    ("Node", lambda o: o["status"].update(allocatable={"cpu": "lots"}), "status.allocatable[cpu]"),
    (
        "ResourceSlice",
        lambda o: o["spec"].update(sharedCounters=[{"name": "g"}, {"name": "g"}]),
        "spec.sharedCounters[1].name",
    ),
    (
        "ResourceSlice",
        lambda o: first_device(o).update(consumesCounters=[{"counterSet": "g"}, {"counterSet": "g"}]),
        "spec.devices[0].consumesCounters[1].counterSet",
    ),
    ("ResourceClaim", lambda o: o["metadata"].update(ownerReferences=["p"]), "metadata.ownerReferences[0]"),
    ("ResourceClaim", lambda o: o["metadata"].update(deletionTimestamp="now"), "metadata.deletionTimestamp"),
    (
        "ResourceClaim",
        lambda o: o["spec"]["devices"].update(requests=[{"name": "r", "firstAvailable": [{"deviceClassName": "gpu"}]}]),
        f"{_REQUEST}.firstAvailable[0].name",
    ),
    ("ResourceClaimTemplate", lambda o: o["spec"]["spec"].update(devices=5), "spec.spec.devices"),
    ("Pod", lambda o: o["spec"].update(containers=[{"image": "i"}]), "spec.containers[0].name"),
    ("Pod", lambda o: o["spec"].update(tolerations=["x"]), "spec.tolerations[0]"),
    ("Pod", lambda o: o["spec"].update(overhead={"cpu": "x"}), "spec.overhead[cpu]"),
    ("Pod", lambda o: o["spec"].update(schedulingGates=["x"]), "spec.schedulingGates[0]"),
    ("Pod", lambda o: o["spec"].update(resourceClaims=[{}]), "spec.resourceClaims[0].name"),
    ("Pod", lambda o: o.update(status={"resourceClaimStatuses": "x"}), "status.resourceClaimStatuses"),
    ("Pod", lambda o: o["spec"].update(affinity={"nodeAffinity": []}), "spec.affinity.nodeAffinity"),
    (
        "Pod",
        lambda o: o["spec"].update(affinity={"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": []}}}),
        f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms",
    ),
    ("ResourceQuota", lambda o: o["spec"].update(hard=["x"]), "spec.hard"),
    ("ResourceQuota", lambda o: o.update(status={"hard": {"pods": "many"}}), "status.hard[pods]"),
]


def _name(value: object) -> str:
    return value if isinstance(value, str) else ""


def each_command(path: str, capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[int, str]]:
    """Return exit code and standard error of every command that reads a dump."""
    found = {}
    for name, words, group in (
        ("check", ["check", path], None),
        ("simulate", ["simulate", path], None),
        ("why", ["why", "ns/p", "-f", path], cli),
        *((name, [name, "-f", path], cli) for name in ("users", "pools", "conflicts")),
    ):
        code = call(words) if group is None else call(words, group, name="kubectl dra")
        found[name] = (code, capsys.readouterr().err)
    return found


@pytest.mark.parametrize(("kind", "change", "field"), [*FOUND, *MORE], ids=_name)
def test_a_value_of_a_wrong_type_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, change: Change, field: str
) -> None:
    objects = cluster()
    change(objects[kind])
    for name, (code, error) in each_command(write(tmp_path, objects), capsys).items():
        assert code == 4, name
        assert error.startswith("error: ")
        assert f"{kind} " in error
        assert f", field {field}: " in error
        assert error.count("\n") == 1


@pytest.mark.parametrize(("kind", "change", "field"), FOUND, ids=_name)
def test_an_object_of_another_api_group_is_reported_and_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, change: Change, field: str
) -> None:
    objects = cluster()
    other = copy.deepcopy(objects[kind])
    change(other)
    other["apiVersion"] = _FOREIGN
    path = write(tmp_path, {**objects, "other": other})
    for name, (code, error) in each_command(path, capsys).items():
        assert code == 0, name
        assert error.startswith(f"not read: {path}, document 8: {kind} "), field
        assert f" of {_FOREIGN}, another API group\n" in error


@pytest.mark.parametrize(
    ("kind", "api_version", "problem"),
    [
        ("ResourceClaim", "v1", "v1 has no ResourceClaim; known are resource.k8s.io/v1, "),
        ("Node", "resource.k8s.io/v1", "resource.k8s.io/v1 has no Node; known are v1"),
        ("DeviceClass", "", "'' has no DeviceClass; known are resource.k8s.io/v1, "),
        ("Pod", "v2", "v2 is an unknown version; known are v1"),
    ],
)
def test_an_api_group_of_kubernetes_without_the_kind_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, api_version: str, problem: str
) -> None:
    objects = cluster()
    objects[kind]["apiVersion"] = api_version
    assert call(["simulate", write(tmp_path, objects)]) == 4
    assert f", field apiVersion: {problem}" in capsys.readouterr().err


def test_nulls_are_absent_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = cluster()
    first_device(objects["ResourceSlice"])["capacity"] = {"m": None}
    devices_of(objects["ResourceClaim"])["config"] = None
    objects["Pod"] |= {"status": None}
    for name, (code, error) in each_command(write(tmp_path, objects), capsys).items():
        assert (code, error) == (0, ""), name


def test_an_allocation_without_devices_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = cluster()
    devices_of(objects["ResourceClaim"]).pop("results")
    objects["Pod"]["spec"]["resourceClaims"] = [{"name": "x", "resourceClaimName": "held"}]
    found = each_command(write(tmp_path, objects), capsys)
    assert found["simulate"] == (0, "")
    assert found["why"] == (0, "")


CONTROL = "\x1b]0;owned\x07\x1b[2J"
"""Sets the title of a terminal and clears it."""


def test_control_characters_of_a_dump_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = cluster()
    objects["Node"]["metadata"]["name"] = objects["ResourceSlice"]["spec"]["nodeName"] = "n1" + CONTROL
    objects["ResourceClaim"]["status"]["reservedFor"] = [{"resource": "pods", "name": "gone" + CONTROL, "uid": "u"}]
    objects["Pod"]["spec"]["nodeSelector"] = {"zone": CONTROL}
    path = write(tmp_path, objects)
    for words in (["check", path], ["simulate", path], ["simulate", path + CONTROL]):
        call(words)
    for words in (["why", "ns/p"], ["users"], ["pools"], ["conflicts"], ["why", "ns/" + CONTROL]):
        call([*words, "-f", path], cli, name="kubectl dra")
    printed = capsys.readouterr()
    shown = printed.out + printed.err
    assert shown.count("\N{REPLACEMENT CHARACTER}]0;owned") > 4
    assert [c for c in shown if not c.isprintable() and c != "\n"] == []
