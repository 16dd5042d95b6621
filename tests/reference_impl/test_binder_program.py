"""Binder and claim controller as programs of their own, over HTTPS, killed in the middle of their work."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_cluster import ROOT, Cluster

from apiserver_emulator import ApiServerEmulator
from dra_api.objects import BIND_REQUESTS, PODS, RESOURCE_CLAIMS


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ApiServerEmulator]:
    found = ApiServerEmulator(directory=tmp_path)
    found.start()
    yield found
    found.stop()


@pytest.fixture
def cluster(plane: ApiServerEmulator) -> Iterator[Cluster]:
    found = Cluster(plane.transport())
    try:
        found.install_bind_requests()
        found.node("n1")
        yield found
    finally:
        found.close()


def program(plane: ApiServerEmulator, part: str, *options: str) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-m", "reference_impl", part, "--kubeconfig", str(plane.kubeconfig), *options]
    process = subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == f"{part} ready"
    return process


def end(process: subprocess.Popen[str], how: signal.Signals) -> int:
    process.send_signal(how)
    try:
        process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode


def test_pods_are_bound_by_programs_one_of_which_is_killed(plane: ApiServerEmulator, cluster: Cluster) -> None:
    pods = 30
    controller = program(plane, "claim-controller")
    binder = program(plane, "binder", "--workers", "2")
    try:
        cluster.template("t")
        informer = cluster.informer(PODS)
        for number in range(pods):
            cluster.pod(f"p{number}", templates={"gpu": "t"})
        recorded = lambda: all(pod["status"].get("resourceClaimStatuses") for pod in informer.list())  # noqa: E731
        assert informer.wait_for(lambda: len(informer.list()) == pods and recorded(), 60)
        for number in range(pods):
            pod = informer.get(f"p{number}", "default")
            cluster.bind_request(f"p{number}", allocations={"gpu": cluster.allocation(f"gpu-{number}")}, owner=pod)
        requests = cluster.informer(BIND_REQUESTS)

        def succeeded() -> int:
            return sum((item.get("status") or {}).get("phase") == "Succeeded" for item in requests.list())

        assert requests.wait_for(lambda: succeeded() > 0, 60)
        end(binder, signal.SIGKILL)
        binder = program(plane, "binder")
        assert requests.wait_for(lambda: succeeded() == pods, 60)
        claims = cluster.client.list(RESOURCE_CLAIMS, "default").items
        assert len(claims) == pods
        assert all(len(claim["status"]["reservedFor"]) == 1 for claim in claims)
        assert all(pod["spec"]["nodeName"] == "n1" for pod in informer.list())
    finally:
        codes = [end(process, signal.SIGTERM) for process in (binder, controller)]
    assert codes == [0, 0]
