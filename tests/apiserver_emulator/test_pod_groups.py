"""PodGroups of scheduling.k8s.io: served by gate, and validated as kube-apiserver 1.37.2 does (observed)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.client import ApiError, KubeClient, NotFound
from dra_api.objects import PODS, SCHEDULING_POD_GROUPS

Obj = dict[str, Any]

GATES = {"GenericWorkload": True, "DRAWorkloadResourceClaims": True}
ENTRY = {"name": "x", "resourceClaimTemplateName": "t"}


@contextmanager
def serving(folder: Path, gates: dict[str, bool], release: str = "1.37") -> Iterator[KubeClient]:
    with ApiServerEmulator(directory=folder, kubernetes_version=release, feature_gates=gates, https=False) as plane:
        yield KubeClient(plane.transport())


@pytest.fixture
def client(tmp_path: Path) -> Iterator[KubeClient]:
    with serving(tmp_path, GATES) as made:
        yield made


def group(*claims: Obj, name: str = "a", **spec: Any) -> Obj:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": {"basic": {}}, "resourceClaims": list(claims), **spec},
    }


def refused(client: KubeClient, obj: Obj) -> str:
    with pytest.raises(ApiError) as caught:
        client.create(SCHEDULING_POD_GROUPS, obj)
    return caught.value.message.partition(" is invalid: ")[2]


@pytest.mark.parametrize(("gates", "release"), [({}, "1.37"), ({"GenericWorkload": True}, "1.36")])
def test_other_releases_and_a_gate_that_is_off_serve_none(tmp_path: Path, gates: dict[str, bool], release: str) -> None:
    with serving(tmp_path, gates, release) as client, pytest.raises(NotFound):
        client.list(SCHEDULING_POD_GROUPS, "default")


def test_a_new_group_has_defaults_and_no_status(client: KubeClient) -> None:
    made = client.create(SCHEDULING_POD_GROUPS, {**group(ENTRY), "status": {"resourceClaimStatuses": [{"name": "x"}]}})
    assert made["spec"]["disruptionMode"] == {"single": {}}
    assert made["spec"]["priority"] == 0
    assert made["status"] == {}


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        (
            [{"name": n, "resourceClaimName": n} for n in "abcde"],
            "resourceClaims: Too many: 5: must have at most 4 items",
        ),
        (
            [{"name": "x"}],
            'resourceClaims[0]: Invalid value: "": must specify one of: `resourceClaimName`, '
            "`resourceClaimTemplateName`",
        ),
        (
            [{**ENTRY, "resourceClaimName": "c"}],
            'resourceClaims[0]: Invalid value: "{resourceClaimName, resourceClaimTemplateName}": must specify exactly '
            "one of: `resourceClaimName`, `resourceClaimTemplateName`",
        ),
        ([{**ENTRY, "name": ""}], "resourceClaims[0].name: Required value"),
        (
            [ENTRY, {"name": "x", "resourceClaimName": "c"}],
            'resourceClaims[1]: Duplicate value: {"name":"x","resourceClaimName":"c"}',
        ),
        (
            [{**ENTRY, "name": "x" * 64}],
            f'resourceClaims[0].name: Invalid value: "{"x" * 64}": must be no more than 63 bytes',
        ),
    ],
)
def test_claims_of_a_group(client: KubeClient, claims: list[Obj], expected: str) -> None:
    assert refused(client, group(*claims)) == f"spec.{expected}"
    assert client.create(SCHEDULING_POD_GROUPS, group(*[{"name": n, "resourceClaimName": n} for n in "abcd"]))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"schedulingPolicy": {}}, 'schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`'),
        ({"schedulingPolicy": {"gang": {"minCount": 0}}}, "schedulingPolicy.gang.minCount: Required value"),
        ({"disruptionMode": {}}, 'disruptionMode: Invalid value: "": must specify one of: `single`, `all`'),
    ],
)
def test_policies_of_a_group(client: KubeClient, spec: Obj, expected: str) -> None:
    assert refused(client, group(**spec)) == f"spec.{expected}"


def test_the_spec_never_changes_and_the_status_names_entries(client: KubeClient) -> None:
    made = client.create(SCHEDULING_POD_GROUPS, group(ENTRY))
    with pytest.raises(ApiError, match=r"spec\.resourceClaims: Invalid value: null: field is immutable"):
        client.update(SCHEDULING_POD_GROUPS, {**made, "spec": {**made["spec"], "resourceClaims": []}})
    status = {"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "c"}]}
    written = client.update_status(SCHEDULING_POD_GROUPS, {**made, "status": status})
    assert written["status"] == status
    wrong = {"resourceClaimStatuses": [{"name": "y", "resourceClaimName": "c"}]}
    with pytest.raises(ApiError, match=r"must match the name of an entry in `spec\.resourceClaims`"):
        client.update_status(SCHEDULING_POD_GROUPS, {**written, "status": wrong})


def test_claims_of_a_group_are_dropped_while_their_gate_is_off(tmp_path: Path) -> None:
    with serving(tmp_path, {"GenericWorkload": True}) as client:
        made = client.create(SCHEDULING_POD_GROUPS, group(ENTRY))
        assert "resourceClaims" not in made["spec"]
        status = {"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "c"}]}
        assert client.update_status(SCHEDULING_POD_GROUPS, {**made, "status": status})["status"] == {}


def test_the_group_of_a_pod_is_validated_and_needs_the_gate(client: KubeClient, tmp_path: Path) -> None:
    def create(client: KubeClient, group: Obj, name: str) -> Obj:
        spec = {"containers": [{"name": "c", "image": "i"}], "schedulingGroup": group}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}
        return client.create(PODS, body)

    assert create(client, {"podGroupName": "none-yet"}, "one")["spec"]["schedulingGroup"] == {
        "podGroupName": "none-yet"
    }
    with pytest.raises(ApiError, match="must specify one of: `podGroupName`"):
        create(client, {}, "two")
    with pytest.raises(ApiError, match="a lowercase RFC 1123 subdomain"):
        create(client, {"podGroupName": ""}, "three")
    with serving(tmp_path / "off", {}) as other:
        assert "schedulingGroup" not in create(other, {"podGroupName": "a"}, "one")["spec"]
