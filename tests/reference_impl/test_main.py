"""`python -m reference_impl`: the parts' shared command line, through its front door."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import types

import pytest

from dra_api.client import KubeClient
from dra_api.clock import Clock, RealClock
from reference_impl import runtime
from reference_impl.errors import ComponentError

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
"""


class FakePart:
    name = "fake"

    def __init__(self, *, fail: Exception | None = None, after_start: str = "") -> None:
        self.fail = fail
        self.after_start = after_start
        self.log: list[str] = []

    def start(self) -> None:
        self.log.append("start")
        if self.fail:
            raise self.fail
        if self.after_start == "signal":
            os.kill(os.getpid(), signal.SIGTERM)

    def stop(self) -> None:
        self.log.append("stop")


def install(monkeypatch: pytest.MonkeyPatch, part: FakePart, seen: list[argparse.Namespace] | None = None) -> None:
    module = types.ModuleType("fake_part_command", "A part for tests.")

    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--size", type=int, default=1)

    def build(args: argparse.Namespace, client: KubeClient, clock: Clock) -> FakePart:
        if seen is not None:
            seen.append(args)
        return part

    module.add_arguments = add_arguments  # type: ignore[attr-defined]
    module.build = build  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fake_part_command", module)
    monkeypatch.setattr(runtime, "COMMANDS", {"fake": "fake_part_command"})


@pytest.fixture
def kubeconfig(tmp_path, monkeypatch) -> str:
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    return str(path)


def test_a_signal_stops_the_component_and_exits_zero(monkeypatch, kubeconfig, capsys):
    part = FakePart(after_start="signal")
    seen: list[argparse.Namespace] = []
    install(monkeypatch, part, seen)
    gates = ["--feature-gates=DynamicResourceAllocation=true", "--feature-gates", "DRADeviceTaints=false"]
    assert runtime.main(["fake", "--kubeconfig", kubeconfig, "--size", "3", *gates]) == 0
    assert part.log == ["start", "stop"]
    assert capsys.readouterr().out == "fake ready\n"
    assert seen[0].size == 3
    assert seen[0].feature_gates == {"DynamicResourceAllocation": True, "DRADeviceTaints": False}


def test_a_component_that_cannot_start_prints_one_line_and_exits_one(monkeypatch, kubeconfig, capsys):
    part = FakePart(fail=ComponentError("the socket is taken;\nstop the other one"))
    install(monkeypatch, part)
    assert runtime.main(["fake", "--kubeconfig", kubeconfig]) == 1
    assert part.log == ["start", "stop"]
    assert capsys.readouterr().err == "reference_impl fake: the socket is taken; stop the other one\n"


def test_a_missing_kubeconfig_is_named(monkeypatch, tmp_path, capsys):
    install(monkeypatch, FakePart())
    missing = str(tmp_path / "none")
    assert runtime.main(["fake", "--kubeconfig", missing]) == 1
    error = capsys.readouterr().err
    assert missing in error
    assert error.count("\n") == 1


def test_an_unknown_component_lists_the_components(capsys):
    for words in (["sheduler"], []):
        with pytest.raises(SystemExit) as stop:
            runtime.main(words)
        assert stop.value.code == 2
        error = capsys.readouterr().err
        assert "component" in error
    with pytest.raises(SystemExit) as stop:
        runtime.main(["--help"])
    assert stop.value.code == 0
    assert "taint-eviction" in capsys.readouterr().out


@pytest.mark.parametrize("gates", ["DynamicResourceAllocation", "DynamicResourceAllocation=maybe", "NoSuchGate=true"])
def test_bad_feature_gates_are_usage_errors(monkeypatch, kubeconfig, capsys, gates):
    install(monkeypatch, FakePart())
    with pytest.raises(SystemExit) as stop:
        runtime.main(["fake", "--kubeconfig", kubeconfig, f"--feature-gates={gates}"])
    assert stop.value.code == 2
    assert gates.partition("=")[0] in capsys.readouterr().err


def test_run_until_stopped_stops_a_component_that_failed_to_start():
    part = FakePart(fail=OSError("no"))
    with pytest.raises(OSError, match="no"):
        runtime.run_until_stopped(part, stopped=threading.Event(), clock=RealClock())
    assert part.log == ["start", "stop"]
