"""A server with one version of resource.k8s.io: v1 objects go through every verb and come back whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.client import Conflict, KubeClient, NotFound
from dra_api.clock import RealClock
from dra_api.informer import Informer
from dra_api.objects import DEVICE_CLASSES, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS, RESOURCE_SLICES, Obj

SPEC = {
    "devices": {
        "requests": [
            {
                "name": "one",
                "exactly": {
                    "deviceClassName": "gpu",
                    "allocationMode": "ExactCount",
                    "count": 2,
                    "selectors": [{"cel": {"expression": "device.driver == 'd.test'"}}],
                    "tolerations": [{"key": "k.test/k", "operator": "Exists"}],
                    "capacity": {"requests": {"memory": "1Gi"}},
                },
            },
            {
                "name": "either",
                "firstAvailable": [
                    {"name": "s", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
                ],
            },
        ]
    }
}
DEVICE = {
    "name": "d0",
    "attributes": {"model": {"string": "x"}, "n": {"int": 3}},
    "capacity": {"memory": {"value": "4Gi"}},
    "taints": [{"key": "k.test/k", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}],
    "consumesCounters": [{"counterSet": "set", "counters": {"c": {"value": "1"}}}],
    "nodeName": "n1",
    "allowMultipleAllocations": True,
}
# Devices with taints or which consume counters, and the counters, come in slices of their own kind.
POOL = {"name": "p", "generation": 1, "resourceSliceCount": 2}
SLICE = {"driver": "d.test", "pool": POOL, "perDeviceNodeSelection": True, "devices": [DEVICE]}


@pytest.fixture(params=["v1", "v1beta2", "v1beta1"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(tmp_path: Path, version: str) -> Iterator[KubeClient]:
    switched = {f"resource.k8s.io/{each}": each == version for each in ("v1", "v1beta2", "v1beta1", "v1alpha3")}
    with ApiServerEmulator(
        directory=tmp_path, https=False, seed=1, runtime_config=switched, feature_gates={"DRAConsumableCapacity": True}
    ) as plane:
        yield KubeClient(plane.transport(), user_agent="tester", namespace="default")


def slice_of(**more: object) -> Obj:
    return {"metadata": {"name": "s"}, "spec": {**SLICE, **more}}


def test_nothing_but_this_version_is_served(client: KubeClient, version: str) -> None:
    assert list(client.served("resource.k8s.io")) == [version]
    assert client.wire(RESOURCE_CLAIMS) == RESOURCE_CLAIMS.at(version)
    for other in {"v1", "v1beta2", "v1beta1"} - {version, "v1"}:
        with pytest.raises(NotFound):
            client.list(RESOURCE_CLAIMS.at(other))


def test_no_field_is_lost(client: KubeClient, version: str) -> None:
    claim = client.create(RESOURCE_CLAIMS, {"metadata": {"name": "c"}, "spec": SPEC})
    assert claim["spec"] == SPEC
    template = client.create(RESOURCE_CLAIM_TEMPLATES, {"metadata": {"name": "t"}, "spec": {"spec": SPEC}})
    assert template["spec"]["spec"] == SPEC
    found = client.create(RESOURCE_SLICES, slice_of())
    assert found["spec"] == SLICE
    assert {found["apiVersion"], claim["apiVersion"], template["apiVersion"]} == {"resource.k8s.io/v1"}
    assert found["metadata"]["managedFields"][0]["apiVersion"] == f"resource.k8s.io/{version}", "the wire's own word"
    assert client.list(RESOURCE_SLICES).items == [found]
    assert client.get(RESOURCE_CLAIMS, "c") == claim


def test_fields_without_an_owner_have_no_list_of_owners(client: KubeClient) -> None:
    made = client.create(RESOURCE_CLAIMS, {"metadata": {"name": "c"}, "spec": SPEC})
    made["metadata"]["managedFields"] = []
    assert "managedFields" not in client.update(RESOURCE_CLAIMS, made)["metadata"]


def test_every_verb_that_writes(client: KubeClient) -> None:
    made = client.create(RESOURCE_SLICES, slice_of())
    made["spec"]["devices"][0]["attributes"]["n"] = {"int": 4}
    updated = client.update(RESOURCE_SLICES, made)
    assert updated["spec"]["devices"][0]["attributes"]["n"] == {"int": 4}
    with pytest.raises(Conflict):
        client.update(RESOURCE_SLICES, made)
    for kind in ("merge", "strategic"):
        changed = {**DEVICE, "attributes": {"model": {"string": kind}}}
        patched = client.patch(RESOURCE_SLICES, "s", {"spec": {"devices": [changed]}}, kind=kind)  # type: ignore[arg-type]
        assert patched["spec"] == {**SLICE, "devices": [changed]}
    operations = [
        {"op": "test", "path": "/spec/devices/0/attributes/model/string", "value": "strategic"},
        {"op": "replace", "path": "/spec/devices/0/attributes/model/string", "value": "json"},
        {"op": "add", "path": "/spec/devices/-", "value": {"name": "d1", "nodeName": "n2"}},
    ]
    patched = client.patch(RESOURCE_SLICES, "s", operations, kind="json")
    assert [device["name"] for device in patched["spec"]["devices"]] == ["d0", "d1"]
    assert patched["spec"]["devices"][0]["attributes"] == {"model": {"string": "json"}}
    applied = client.apply(
        DEVICE_CLASSES, {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "e.test/gpu"}}
    )
    assert applied["spec"]["extendedResourceName"] == "e.test/gpu"
    wanted = {"metadata": {"name": "by-apply", "namespace": "default"}, "spec": SPEC}
    assert client.apply(RESOURCE_CLAIMS, wanted)["spec"] == SPEC


def test_status_is_written_and_the_spec_stays(client: KubeClient) -> None:
    claim = client.create(RESOURCE_CLAIMS, {"metadata": {"name": "c"}, "spec": SPEC})
    result = {"request": "one", "driver": "d.test", "pool": "p", "device": "d0"}
    claim["status"] = {"allocation": {"devices": {"results": [result]}}}
    stored = client.update_status(RESOURCE_CLAIMS, claim)
    assert stored["status"]["allocation"]["devices"]["results"] == [result]
    pod = {"resource": "pods", "name": "p", "uid": "u"}
    reserved = client.patch(RESOURCE_CLAIMS, "c", {"status": {"reservedFor": [pod]}}, subresource="status")
    assert (reserved["status"]["reservedFor"], reserved["spec"]) == ([pod], SPEC)


def test_an_informer_stores_v1(client: KubeClient) -> None:
    client.create(RESOURCE_SLICES, slice_of())
    informer = Informer(client, RESOURCE_SLICES, clock=RealClock(), field_selector="spec.driver=d.test")
    informer.start()
    try:
        assert informer.wait_synced(60)
        held = informer.get("s")
        assert held is not None
        assert held["spec"] == SLICE
        seen = informer.wait_for(lambda: (informer.get("s") or held)["spec"]["devices"][0]["name"] == "d9", 0)
        assert not seen
        client.update(RESOURCE_SLICES, {**held, "spec": {**SLICE, "devices": [{**DEVICE, "name": "d9"}]}})
        assert informer.wait_for(
            lambda: (informer.get("s") or held)["spec"]["devices"] == [{**DEVICE, "name": "d9"}], 10
        )
    finally:
        informer.stop()
