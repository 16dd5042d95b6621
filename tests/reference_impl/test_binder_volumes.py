"""The binder and the volumes of pods: what it writes for a PersistentVolumeClaim, and for what it waits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_cluster import Cluster, emulated_cluster

from dra_api.client import KubeClient
from dra_api.objects import (
    BIND_REQUESTS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    STORAGE_CLASSES,
    Obj,
    name_of,
)
from reference_impl.binder import Binder, BinderOptions
from reference_impl.binder import volumes as binding

HOST = "kubernetes.io/hostname"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with emulated_cluster(tmp_path, nodes=("n1", "n2"), bind_requests=True) as found:
        for name, provisioner in (("local", "kubernetes.io/no-provisioner"), ("made", "volumes.example.com")):
            found.client.create(
                STORAGE_CLASSES,
                {
                    "metadata": {"name": name},
                    "provisioner": provisioner,
                    "volumeBindingMode": "WaitForFirstConsumer",
                },
            )
        found.run(Binder(KubeClient(found.transport, user_agent="binder"), clock=found.clock, options=BinderOptions()))
        yield found


def volume(name: str = "pv", *, node: str = "n1", size: str = "1Gi", phase: str = "Available", **spec: Any) -> Obj:
    term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [node]}]}
    return {
        "metadata": {"name": name, "labels": {"tier": "fast"}},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "local": {"path": "/mnt"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
            **spec,
        },
        "status": {"phase": phase},
    }


def claim(name: str = "data", storage: str = "local", **spec: Any) -> Obj:
    body = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage,
        "resources": {"requests": {"storage": "1Gi"}},
        **spec,
    }
    return {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"}, "spec": body}


def create_volume(cluster: Cluster, obj: Obj) -> None:
    cluster.client.create(PERSISTENT_VOLUMES, obj)
    cluster.client.patch(PERSISTENT_VOLUMES, name_of(obj), {"status": obj["status"]}, subresource="status")


def create_pod(cluster: Cluster, name: str, *claims: str) -> None:
    spec = {
        "containers": [{"name": "c", "image": "busybox"}],
        "volumes": [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims],
    }
    cluster.client.create(PODS, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})


def complete(cluster: Cluster, name: str, pv: str) -> None:
    """Complete a binding as the controller of volumes does."""
    change = {"metadata": {"annotations": {binding.BIND_COMPLETED: "yes"}}, "spec": {"volumeName": pv}}
    cluster.client.patch(PERSISTENT_VOLUME_CLAIMS, name, change, "default")


def bound_to(cluster: Cluster, pod: str) -> str:
    return str(cluster.wait(PODS, pod, lambda obj: obj["spec"].get("nodeName"))["spec"]["nodeName"])


def test_the_smallest_volume_of_the_node_is_reserved_and_the_pod_waits_for_it(cluster: Cluster) -> None:
    for one in (volume("far", node="n2"), volume("large", size="9Gi"), volume("small", size="2Gi")):
        create_volume(cluster, one)
    cluster.client.create(PERSISTENT_VOLUME_CLAIMS, claim())
    create_pod(cluster, "p", "data")
    cluster.bind_request("p")

    cluster.wait(PERSISTENT_VOLUMES, "small", lambda obj: obj["spec"].get("claimRef", {}).get("name") == "data")
    cluster.settle()
    assert not cluster.get(PODS, "p")["spec"].get("nodeName")
    assert not (cluster.get(BIND_REQUESTS, "p").get("status") or {}).get("phase")
    complete(cluster, "data", "small")
    assert bound_to(cluster, "p") == "n1"
    assert not cluster.get(PERSISTENT_VOLUMES, "large")["spec"].get("claimRef")


def test_the_provisioner_is_given_the_node(cluster: Cluster) -> None:
    cluster.client.create(PERSISTENT_VOLUME_CLAIMS, claim(storage="made"))
    create_pod(cluster, "p", "data")
    cluster.bind_request("p", "n2")

    selected = {binding.SELECTED_NODE: "n2"}
    cluster.wait(PERSISTENT_VOLUME_CLAIMS, "data", lambda obj: obj["metadata"].get("annotations") == selected)
    create_volume(cluster, volume(node="n2", storageClassName="made"))
    complete(cluster, "data", "pv")
    assert bound_to(cluster, "p") == "n2"


def test_a_wait_ends_after_its_time(cluster: Cluster) -> None:
    cluster.client.create(PERSISTENT_VOLUME_CLAIMS, claim(storage="made"))
    create_pod(cluster, "p", "data")
    cluster.bind_request("p")
    cluster.wait(PERSISTENT_VOLUME_CLAIMS, "data", lambda obj: obj["metadata"].get("annotations"))
    cluster.settle()
    cluster.clock.advance(119)
    cluster.settle()
    assert not (cluster.get(BIND_REQUESTS, "p").get("status") or {}).get("phase")
    cluster.clock.advance(2)
    assert "not bound within 120 s" in cluster.phase("p", "Failed")["status"]["reason"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("none", "does not exist"),
        ("old", "is being deleted"),
        ("now", "waits for no consumer"),
        ("lost", "StorageClass"),
    ],
)
def test_a_claim_that_cannot_be_bound_is_the_reason_of_the_failure(cluster: Cluster, name: str, reason: str) -> None:
    old, now = claim("old"), claim("now", storage="")
    old["metadata"]["finalizers"] = ["example.com/hold"]
    for one in (old, now, claim("lost", storage="missing")):
        cluster.client.create(PERSISTENT_VOLUME_CLAIMS, one)
    cluster.client.delete(PERSISTENT_VOLUME_CLAIMS, "old", "default")
    create_pod(cluster, "p", name)
    cluster.bind_request("p")
    assert reason in cluster.phase("p", "Failed")["status"]["reason"]
    assert not cluster.get(PODS, "p")["spec"].get("nodeName")


@pytest.mark.parametrize(
    ("change", "wanted", "good"),
    [
        ({}, {}, True),
        ({"storageClassName": "other"}, {}, False),
        ({"volumeMode": "Block"}, {}, False),
        ({"capacity": {"storage": "1023Mi"}}, {}, False),
        ({"accessModes": ["ReadOnlyMany"]}, {}, False),
        ({}, {"selector": {"matchLabels": {"tier": "fast"}}}, True),
        ({}, {"selector": {"matchLabels": {"tier": "slow"}}}, False),
    ],
)
def test_a_volume_fits_if_it_is_what_the_claim_requests(change: Obj, wanted: Obj, good: bool) -> None:
    assert binding.fits(volume(**change), claim(**wanted)) is good


def test_a_volume_of_another_claim_or_phase_is_not_free() -> None:
    assert binding.is_free(volume())
    assert not binding.is_free(volume(phase="Released"))
    taken = binding.reserved(
        {**volume(), "metadata": {"name": "pv"}},
        {**claim(), "metadata": {**claim()["metadata"], "resourceVersion": "1"}},
    )
    assert not binding.is_free(taken)
    assert binding.is_reserved(taken, claim())
    assert not binding.is_reserved(taken, claim("other"))


def test_the_topologies_of_a_class_limit_its_nodes() -> None:
    node = {"metadata": {"name": "n1", "labels": {"zone": "a"}}}
    term = {"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}
    other = {"matchLabelExpressions": [{"key": "zone", "values": ["c"]}]}
    assert binding.can_provision({}, node)
    assert binding.can_provision({"allowedTopologies": [other, term]}, node)
    assert not binding.can_provision({"allowedTopologies": [other]}, node)
