"""On a cluster that is not its own a run labels what it makes and writes to nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.client import ApiError, Forbidden, KubeClient, NotFound
from dra_api.objects import (
    DEVICE_CLASSES,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Obj,
)
from dra_conformance.control_plane.own_objects import Ledger, OwnObjectsTransport
from dra_conformance.core import manifests
from dra_conformance.core.labels import RUN_LABEL

SHARED = "dra-driver-nvidia-gpu"
RUN = "0a1b2c3d"


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[tuple[KubeClient, KubeClient]]:
    """The cluster's administrator, and a run."""
    with ApiServerEmulator(directory=tmp_path / "plane", https=False) as plane:
        yield (
            KubeClient(plane.transport()),
            KubeClient(OwnObjectsTransport(plane.transport(), Ledger(RUN), shared=SHARED)),
        )


def named(name: str, **more: object) -> Obj:
    return {"metadata": {"name": name}, **more}


def slice_on(node: str, name: str) -> Obj:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return named(name, spec={"driver": "d.example.com", "nodeName": node, "pool": pool, "devices": [{"name": "d"}]})


def test_what_a_run_creates_carries_its_id(clients: tuple[KubeClient, KubeClient]) -> None:
    admin, run = clients
    run.create(DEVICE_CLASSES, {"metadata": {"name": "ours", "labels": {"mine": "too"}}, "spec": {}})
    assert admin.get(DEVICE_CLASSES, "ours")["metadata"]["labels"] == {"mine": "too", RUN_LABEL: RUN}


def test_an_update_from_scratch_does_not_lose_the_label(clients: tuple[KubeClient, KubeClient]) -> None:
    admin, run = clients
    made = run.create(DEVICE_CLASSES, named("ours", spec={}))
    fresh = {"metadata": {"name": "ours", "resourceVersion": made["metadata"]["resourceVersion"]}, "spec": {}}
    run.update(DEVICE_CLASSES, fresh)
    assert admin.get(DEVICE_CLASSES, "ours")["metadata"]["labels"] == {RUN_LABEL: RUN}


@pytest.mark.parametrize("verb", ["delete", "patch", "update", "status", "apply"])
def test_what_others_made_stays_as_it_is(clients: tuple[KubeClient, KubeClient], verb: str) -> None:
    admin, run = clients
    admin.create(NODES, named("theirs"))
    theirs = admin.get(NODES, "theirs")  # as the node controllers leave it
    change = {
        "delete": lambda: run.delete(NODES, "theirs"),
        "patch": lambda: run.patch(NODES, "theirs", {"metadata": {"labels": {"a": "b"}}}),
        "update": lambda: run.update(NODES, theirs),
        "status": lambda: run.update_status(NODES, theirs),
        "apply": lambda: run.apply(NODES, named("theirs")),
    }[verb]
    with pytest.raises(Forbidden, match=r"nodes 'theirs' was not made by run 0a1b2c3d"):
        change()
    assert admin.get(NODES, "theirs") == theirs


def test_pods_of_other_namespaces_are_not_bound(clients: tuple[KubeClient, KubeClient]) -> None:
    admin, run = clients
    spec = {"containers": [{"name": "c", "image": "i"}]}
    pod = admin.create(PODS, {"metadata": {"name": "p", "namespace": "default"}, "spec": spec})
    admin.create(NODES, named("n"))
    with pytest.raises(Forbidden):
        run.bind(pod, "n")
    assert "nodeName" not in admin.get(PODS, "p", "default")["spec"]


@pytest.mark.parametrize("verb", ["create", "apply"])
def test_nothing_is_created_in_namespaces_of_others(clients: tuple[KubeClient, KubeClient], verb: str) -> None:
    admin, run = clients
    admin.create(NAMESPACES, named("team"))
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "spec": {"devices": {}}}
    claim["metadata"] = {"name": "c", "namespace": "team"}
    with pytest.raises(Forbidden, match=r"'team' was not made by run|'c' was not made by run"):
        run.create(RESOURCE_CLAIMS, claim) if verb == "create" else run.apply(RESOURCE_CLAIMS, claim)
    assert not admin.list(RESOURCE_CLAIMS, "team").items


@pytest.mark.parametrize(("about", "created"), [({"kind": "Node", "name": "n"}, 1), ({"namespace": "default"}, 0)])
def test_of_events_in_the_namespace_default_only_those_of_the_cluster_are_created(
    clients: tuple[KubeClient, KubeClient], about: Obj, created: int
) -> None:
    admin, run = clients
    event = {"metadata": {"name": "e", "namespace": "default"}, "involvedObject": about, "reason": "Test"}
    with suppress(Forbidden):
        run.create(EVENTS, event)
    assert len(admin.list(EVENTS, "default").items) == created


def test_all_that_lies_in_a_namespace_of_the_run_is_its_own(clients: tuple[KubeClient, KubeClient]) -> None:
    admin, run = clients
    run.create(NAMESPACES, named("ours"))
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}
    admin.create(RESOURCE_CLAIMS, {"metadata": {"name": "by-a-controller", "namespace": "ours"}, "spec": spec})
    run.delete(RESOURCE_CLAIMS, "by-a-controller", "ours")
    assert admin.find(RESOURCE_CLAIMS, "by-a-controller", "ours") is None


def test_slices_of_its_nodes_are_its_own_whatever_their_writer(clients: tuple[KubeClient, KubeClient]) -> None:
    admin, run = clients
    run.create(NODES, named("ours"))
    admin.create(NODES, named("theirs"))
    for node in ("ours", "theirs"):
        admin.create(RESOURCE_SLICES, slice_on(node, f"on-{node}"))
    run.delete(RESOURCE_SLICES, "on-ours")
    with pytest.raises(Forbidden):
        run.delete(RESOURCE_SLICES, "on-theirs")


def test_another_process_of_the_same_run_may_go_on(clients: tuple[KubeClient, KubeClient]) -> None:
    admin, run = clients
    run.create(DEVICE_CLASSES, named("ours", spec={}))
    same = KubeClient(OwnObjectsTransport(admin.transport, Ledger(RUN), shared=SHARED))
    other = KubeClient(OwnObjectsTransport(admin.transport, Ledger("ffffffff"), shared=SHARED))
    with pytest.raises(Forbidden):
        other.delete(DEVICE_CLASSES, "ours")
    same.delete(DEVICE_CLASSES, "ours")


def test_an_object_that_was_replaced_is_not_the_runs_own(clients: tuple[KubeClient, KubeClient]) -> None:
    admin, run = clients
    run.create(DEVICE_CLASSES, named("name", spec={}))
    run.delete(DEVICE_CLASSES, "name")
    admin.create(DEVICE_CLASSES, named("name", spec={}))
    with pytest.raises(Forbidden):
        run.delete(DEVICE_CLASSES, "name")


def test_what_is_not_there_is_answered_by_the_server(clients: tuple[KubeClient, KubeClient]) -> None:
    _, run = clients
    with pytest.raises(NotFound):
        run.delete(NODES, "nobody")
    run.create(DEVICE_CLASSES, named("gone", spec={}))
    run.delete(DEVICE_CLASSES, "gone")
    run.delete_if_there(DEVICE_CLASSES, "gone")


def test_what_an_apply_creates_is_labelled_and_ours(clients: tuple[KubeClient, KubeClient]) -> None:
    admin, run = clients
    run.apply(DEVICE_CLASSES, named("ours", spec={}))
    assert admin.get(DEVICE_CLASSES, "ours")["metadata"]["labels"] == {RUN_LABEL: RUN}
    run.delete(DEVICE_CLASSES, "ours")


def test_a_dry_run_makes_nothing_ours(clients: tuple[KubeClient, KubeClient]) -> None:
    admin, run = clients
    run.create(NODES, named("later"), dry_run=True)
    admin.create(NODES, named("later"))
    with pytest.raises(Forbidden):
        run.delete(NODES, "later")


def test_a_node_that_the_user_lends_is_written_to_and_stays(tmp_path: Path) -> None:
    with ApiServerEmulator(directory=tmp_path / "plane", https=False) as plane:
        admin, ledger = KubeClient(plane.transport()), Ledger(RUN)
        run = KubeClient(OwnObjectsTransport(plane.transport(), ledger, shared=SHARED))
        admin.create(NODES, named("lent"))
        admin.create(RESOURCE_SLICES, slice_on("lent", "on-lent"))
        ledger.borrow("lent")
        run.patch(NODES, "lent", {"status": {"phase": "Running"}}, subresource="status")
        run.patch(NODES, "lent", {"metadata": {"annotations": {"a": "b"}}})
        assert "labels" not in admin.get(NODES, "lent")["metadata"]
        for resource, name in ((NODES, "lent"), (RESOURCE_SLICES, "on-lent")):
            with pytest.raises(Forbidden):
                run.delete(resource, name)


def test_a_field_that_is_there_twice_reaches_the_server(clients: tuple[KubeClient, KubeClient]) -> None:
    admin, run = clients
    body = b'{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"c"},"spec":{},"spec":{}}'
    with pytest.raises(ApiError, match="spec"):
        run.raw("POST", DEVICE_CLASSES.path(), query=[("fieldValidation", "Strict")], body=body)
    assert admin.find(DEVICE_CLASSES, "c") is None


def test_what_a_scenario_reads_is_without_the_label_of_the_run() -> None:
    made = {"metadata": {"labels": {RUN_LABEL: RUN}}}
    both = {"metadata": {"labels": {RUN_LABEL: RUN, "mine": "too"}}}
    assert manifests.look_up(made, "metadata.labels") is None
    assert manifests.look_up(both, "metadata.labels") == {"mine": "too"}
    assert manifests.look_up({"items": [both, made]}, "items[*].metadata.labels") == [{"mine": "too"}, None]
