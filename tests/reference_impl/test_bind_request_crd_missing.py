"""Binder and scheduler without the BindRequest CRD, or with that of another release of KAI."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Unpack

import pytest
import yaml
from scheduling_builders import device_class, gpus
from scheduling_cluster import NAMESPACE, running, scheduling_cluster
from small_cluster import ROOT, Cluster, emulated_cluster

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.component import Component
from dra_api.objects import BIND_REQUESTS, CRDS, PODS, Obj
from dra_api.transport import RequestOptions, Response, Stream, StreamOptions, TransportAround
from reference_impl.binder import Binder
from reference_impl.errors import ComponentError
from reference_impl.scheduler import Scheduler

CRD = "bindrequests.scheduling.run.ai"
NEWER = ("spec.extendedResourceClaimAllocation", "spec.predictedNUMAZones")
"""The fields that the CRD of KAI 0.12 does not have."""
KINDS: tuple[type[Binder | Scheduler], ...] = (Binder, Scheduler)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with emulated_cluster(tmp_path, nodes=["n1"]) as found:
        yield found


def crd(*, without: tuple[str, ...] = ()) -> Obj:
    found: Obj = yaml.safe_load((ROOT / "fixtures/crds/bindrequests.yaml").read_text())
    properties = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    for field in without:
        part, _, name = field.partition(".")
        del properties[part]["properties"][name]
    return found


def install(cluster: Cluster, *, without: tuple[str, ...] = ()) -> None:
    cluster.client.create(CRDS, crd(without=without))
    assert cluster.eventually(lambda: cluster.client.serves(BIND_REQUESTS))


def made(kind: Callable[..., Component], cluster: Cluster) -> Component:
    return kind(KubeClient(cluster.transport, user_agent="target"), clock=cluster.clock)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_crd_the_component_ends_at_once_and_names_the_way_out(
    kind: Callable[..., Component], cluster: Cluster
) -> None:
    message = f"does not serve {CRD} in v1alpha2: install the BindRequest CRD"
    with pytest.raises(ComponentError, match=message):
        made(kind, cluster).start()


def test_without_the_crd_the_program_ends_with_one_line(tmp_path: Path) -> None:
    plane = ApiServerEmulator(directory=tmp_path)
    plane.start()
    try:
        words = [sys.executable, "-m", "reference_impl", "binder", "--kubeconfig", str(plane.kubeconfig)]
        ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=50)
    finally:
        plane.stop()
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.splitlines() == [
        f"reference_impl binder: the API server does not serve {CRD} in v1alpha2: install the BindRequest CRD of "
        "KAI-Scheduler, then start the binder again"
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("field", ["status.failedAttempts", "status.phase", "spec.backoffLimit"])
def test_a_crd_that_drops_a_field_which_every_release_has_ends_the_component(
    kind: Callable[..., Component], cluster: Cluster, field: str
) -> None:
    install(cluster, without=(field, *NEWER))
    cluster.pod("plain")
    message = f"the CRD {CRD} has no {field}, and the API server drops these fields; install the CRD of KAI-Scheduler"
    with pytest.raises(ComponentError, match=message):
        made(kind, cluster).start()
    assert not cluster.get(PODS, "plain")["spec"].get("nodeName")


@pytest.mark.parametrize("kind", KINDS)
def test_the_crd_of_kai_0_12_is_reported_once(
    kind: Callable[..., Component], cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    install(cluster, without=NEWER)
    with cluster.running(made(kind, cluster)):
        assert warnings(caplog) == [
            f"the CRD {CRD} has no {', '.join(NEWER)}, and the API server drops these fields; install the CRD of "
            "KAI-Scheduler 0.17 if BindRequests need them"
        ]


def test_the_binder_works_with_the_crd_of_kai_0_12(cluster: Cluster) -> None:
    install(cluster, without=NEWER)
    cluster.run(made(Binder, cluster))
    cluster.pod("train", claims={"gpu": "c"})
    cluster.claim("c")
    cluster.bind_request("train", allocations={"gpu": cluster.allocation()})
    cluster.phase("train", "Succeeded")
    assert cluster.get(PODS, "train")["spec"]["nodeName"] == "n1"


def test_a_crd_that_is_removed_is_reported_once_and_used_again(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    install(cluster)
    calls: list[str] = []

    class Counting(TransportAround):
        def request(self, method: str, path: str, **options: Unpack[RequestOptions]) -> Response:
            calls.append(path)
            return super().request(method, path, **options)

        def stream(self, path: str, **options: Unpack[StreamOptions]) -> Stream | Response:
            calls.append(path)
            return super().stream(path, **options)

    cluster.run(Binder(KubeClient(Counting(cluster.transport)), clock=cluster.clock))
    cluster.client.delete(CRDS, CRD)
    assert cluster.eventually(lambda: bool(warnings(caplog)))
    before = len(calls)
    for _ in range(60):
        cluster.clock.advance(10)
        cluster.settle(0.01)
    of_the_crd = [path for path in calls[before:] if BIND_REQUESTS.plural in path]
    # The longest back-off is 10 seconds.
    assert 10 < len(of_the_crd) < 130
    (line,) = warnings(caplog)
    assert f"no longer serves {CRD}" in line
    assert "install its CRD again" in line
    install(cluster)
    cluster.clock.advance(20)
    cluster.pod("plain")
    cluster.bind_request("plain")
    cluster.phase("plain", "Succeeded")
    assert len(warnings(caplog)) == 1


def test_a_pod_is_not_bound_without_the_devices_of_its_extended_resources() -> None:
    with scheduling_cluster(bind_requests=False) as cluster:
        cluster.client.create(CRDS, crd(without=NEWER))
        extended = device_class()
        extended["spec"]["extendedResourceName"] = "example.com/gpu"
        cluster.create(extended, gpus(1))
        cluster.nodes("node-a")
        amount = {"example.com/gpu": "1"}
        cluster.pod("train", containers=[{"name": "c", "image": "i", "resources": {"limits": amount}}])
        cluster.pod("plain")
        with running(cluster):
            message = cluster.condition("train", reason="BindingError")
            cluster.bind_request_of("plain")
        assert f"has no {NEWER[0]}, which the extended resources of the pod need; install the CRD" in message
        (request,) = cluster.client.list(BIND_REQUESTS, NAMESPACE).items
        assert request["spec"]["podName"] == "plain"
