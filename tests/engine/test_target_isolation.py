"""Tests of which programs count as isolated, and of what that means for the verdict."""

from __future__ import annotations

import socket
from pathlib import Path

import msgspec
import pytest
from invented_runs import InventedRun

from dra_conformance.core.events import RunStarted
from dra_conformance.core.isolation import NONE, Isolation
from dra_conformance.core.options import RunOptions
from dra_conformance.engine import target_isolation
from dra_conformance.report import build
from dra_conformance.report.terminal import render

USER = Isolation(mode="user", uid=61184)
OFF = Isolation(reason="--isolation off")


@pytest.mark.parametrize(
    ("options", "chosen", "labels"),
    [
        (RunOptions(), NONE, {}),
        (RunOptions(driver="reference:process=yes", control_plane="binaries"), NONE, {}),
        (RunOptions(driver="exec:./driver"), USER, {"driver": "user"}),
        (RunOptions(driver="exec:./driver"), OFF, {"driver": "not isolated: --isolation off"}),
        (RunOptions(scheduler="kube-scheduler", webhook="cluster"), USER, {"scheduler": "user", "webhook": "cluster"}),
        (RunOptions(kubelet="kubelet"), USER, {"kubelet": "not isolated: a kubelet with containers needs root"}),
        (RunOptions(driver="none", binder="none"), NONE, {}),
    ],
)
def test_programs_under_test_are_listed(options: RunOptions, chosen: Isolation, labels: dict[str, str]) -> None:
    assert target_isolation.labels(options, chosen) == labels


def test_a_program_that_may_do_everything_in_the_cluster_is_not_isolated() -> None:
    options = RunOptions(driver="exec:./driver", scheduler="cluster", control_plane="kubeconfig:/config")
    found = target_isolation.labels(options, USER, as_administrator=True)
    assert found["driver"].startswith("not isolated: the kubeconfig's user has every permission")
    assert found["scheduler"] == "cluster"


def test_a_running_driver_of_the_same_user_is_not_isolated(tmp_path: Path) -> None:
    path = tmp_path / "r.sock"
    options = RunOptions(driver=f"socket:{path}", control_plane="kubeconfig")
    assert target_isolation.labels(options, NONE) == {"driver": "not isolated: its socket does not answer"}
    with socket.socket(socket.AF_UNIX) as served:
        served.bind(str(path))
        served.listen()
        assert target_isolation.labels(options, NONE)["driver"].startswith("not isolated: it runs as ")


def test_only_programs_that_a_run_starts_are_isolated() -> None:
    for options in (RunOptions(), RunOptions(driver="socket:/nowhere"), RunOptions(kubelet="kubelet")):
        assert target_isolation.choose(options, run_id="00000001") is NONE
    chosen = target_isolation.choose(RunOptions(driver="exec:/bin/sh", isolation="off"), run_id="00000001")
    assert chosen.label == "not isolated: --isolation off"


@pytest.mark.parametrize(
    ("label", "status", "verdict"),
    [
        ("user", "passed", "conformant"),
        ("cluster", "passed", "conformant"),
        ("not isolated: x", "passed", "partial"),
        ("not isolated: x", "failed", "not-conformant"),
    ],
)
def test_without_isolation_the_verdict_is_at_most_partial(label: str, status: str, verdict: str) -> None:
    events = InventedRun().scenario("a", status=status).events()
    started = events[0]
    assert isinstance(started, RunStarted)
    target = msgspec.structs.replace(started.target, isolation={"driver": label})
    report = build([msgspec.structs.replace(started, target=target), *events[1:]])
    assert report.verdict.value == verdict
    assert ("isolation  driver not isolated: x" in render(report)) == label.startswith("not")
