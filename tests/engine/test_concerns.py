"""Tests of the objects of an existing cluster whose changes count as work of the system under test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from polling import wait_until

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.objects import DEVICE_CLASSES, NODES, PODS, RESOURCE_SLICES, Resource
from dra_api.transport import HttpTransport
from dra_conformance.core.events import EventLog, ObjectChanged
from dra_conformance.core.events.observer import Observer
from dra_conformance.core.labels import RUN_LABEL
from dra_conformance.engine.concerns import Concerns

RUN = "083ef913"
CONCERNS = Concerns(
    suffix="083ew0-1",
    run_id=RUN,
    made=lambda name: name.startswith("made"),
    nodes=lambda: {"lent"},
    shared="dra-driver-nvidia-gpu",
)


def obj(name: str, namespace: str = "", *, run: str = "", **spec: Any) -> dict[str, Any]:
    labels = {RUN_LABEL: run} if run else {}
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": spec}


@pytest.mark.parametrize(
    ("resource", "found", "counts"),
    [
        (PODS, obj("p", "dra-083ew0-1"), True),
        (PODS, obj("p", "dra-083ew0-12"), False),
        (PODS, obj("p", "dra-083ew1-1", run=RUN), False),
        (PODS, obj("p", "dra-driver-nvidia-gpu"), True),
        (PODS, obj("p", "made-with-a-fixed-name"), True),
        (PODS, obj("p", "kube-system"), False),
        (NODES, obj("n1-083ew0-1"), True),
        (NODES, obj("n1-083ew1-1", run=RUN), False),
        (NODES, obj("lent"), True),
        (NODES, obj("worker"), False),
        (RESOURCE_SLICES, obj("a", nodeName="lent"), True),
        (RESOURCE_SLICES, obj("a", nodeName="worker", driver="gpu.example.com"), False),
        (RESOURCE_SLICES, obj("a", driver="sim-083ew0-1.dra.test"), True),
        (RESOURCE_SLICES, obj("a", pool={"name": "rack-083ew0-1"}), True),
        (DEVICE_CLASSES, obj("gpu", run=RUN), True),
        (DEVICE_CLASSES, obj("gpu", run="0000ffff"), False),
    ],
)
def test_changes_of_other_users_do_not_count(resource: Resource, found: dict[str, Any], counts: bool) -> None:
    assert CONCERNS(resource, found) is counts


def test_the_observer_logs_changes_of_other_users_as_no_work(tmp_path: Path) -> None:
    log = EventLog(keep_all=True)
    with ApiServerEmulator(directory=tmp_path / "plane") as plane:
        client = KubeClient(HttpTransport.from_kubeconfig(plane.kubeconfig))
        observer = Observer(client, [NODES], clock=RealClock(), log=log)
        observer.concerns = CONCERNS
        observer.start()
        try:
            for name in ("worker", "n1-083ew0-1"):
                client.create(NODES, {"metadata": {"name": name}})
                wait_until(lambda wanted=name: wanted in [event.name for event in log.kept(ObjectChanged)])
                assert bool(log.activity) is (name != "worker")
        finally:
            observer.stop()
