"""Containers as processes: their variables, their command, their probes and their end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from polling import wait_until

from dra_api.objects import Obj
from dra_conformance.core.isolation import NONE
from dra_conformance.kubelet.container_env import command_line, environment, expand, probe_command
from dra_conformance.kubelet.container_process import ContainerProcess, grace_of, variables, words_on_machine
from dra_conformance.kubelet.errors import KubeletError
from dra_conformance.kubelet.probes import Probes

POD: Obj = {
    "metadata": {
        "name": "daemon-1",
        "namespace": "driver",
        "uid": "1234",
        "labels": {"resource.nvidia.com/computeDomain": "5678"},
    },
    "spec": {"nodeName": "n1", "containers": []},
    "status": {"podIP": "127.64.0.1", "podIPs": [{"ip": "127.64.0.1"}, {"ip": "::1"}]},
}


def _field(name: str, path: str) -> Obj:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


# -- variables ---------------------------------------------------------------------------------------------------------


def test_variables_have_fields_of_the_pod_and_values_of_earlier_ones() -> None:
    container = {
        "env": [
            _field("NODE", "spec.nodeName"),
            _field("IP", "status.podIP"),
            _field("IPS", "status.podIPs"),
            _field("DOMAIN", "metadata.labels['resource.nvidia.com/computeDomain']"),
            _field("NONE", "metadata.annotations['none']"),
            {"name": "WHO", "value": "$(NODE)/$(LATER)/$$(NODE)"},
            {"name": "LATER"},
        ]
    }
    assert environment(POD, container) == {
        "NODE": "n1",
        "IP": "127.64.0.1",
        "IPS": "127.64.0.1,::1",
        "DOMAIN": "5678",
        "NONE": "",
        # Only earlier variables are known (expansion.go: an unknown reference stays).
        "WHO": "n1/$(LATER)/$(NODE)",
        "LATER": "",
    }


def test_edits_of_devices_win_over_the_pod_and_the_pod_over_what_is_there_in_any_case() -> None:
    container = {"env": [{"name": "A", "value": "pod"}, {"name": "B", "value": "pod"}]}
    found = variables(POD, container, own={"A": "own", "B": "own", "C": "own"}, edits={"B": "edits"})
    assert found == {"A": "pod", "B": "edits", "C": "own"}


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        _field("A", "spec.hostname"),
    ],
)
def test_a_source_that_is_not_emulated_is_refused(entry: Obj) -> None:
    with pytest.raises(KubeletError):
        environment(POD, {"env": [entry]})


def test_words_have_the_values_of_variables() -> None:
    container = {"command": ["run", "-v", "$(LEVEL)"], "args": ["$$(LEVEL)", "$(OTHER)"]}
    assert command_line(container, {"LEVEL": "6"}) == ["run", "-v", "6", "$(LEVEL)", "$(OTHER)"]
    assert expand("$$$(A)$", {"A": "b"}) == "$b$"


def test_probes_know_literal_variables_only() -> None:
    container = {"env": [{"name": "A", "value": "1"}, _field("B", "spec.nodeName")]}
    assert probe_command(container, ["check", "$(A)", "$(B)"]) == ["check", "1", "$(B)"]


# -- processes ---------------------------------------------------------------------------------------------------------


def test_only_commands_of_the_list_run() -> None:
    points = {"daemon": ["/opt/daemon", "--config", "x"]}
    assert words_on_machine(["daemon", "run"], points) == ["/opt/daemon", "--config", "x", "run"]
    for words in ([], ["/bin/sh", "-c", "true"]):
        with pytest.raises(KubeletError):
            words_on_machine(words, points)


def _process(folder: Path, script: str, *words: str, spec: Obj | None = None) -> ContainerProcess:
    return ContainerProcess(
        "daemon",
        {"spec": spec or {}},
        {"command": ["daemon"], "args": list(words)},
        entry_points={"daemon": [sys.executable, "-c", script]},
        environment={"NAME": "n1"},
        log_path=folder / "log",
        isolation=NONE,
    )


WAITS = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("ends in order", flush=True), sys.exit(0)))
print("started", *sys.argv[1:], flush=True)
signal.pause()
"""


def test_a_container_runs_its_command_and_ends_on_sigterm(tmp_path: Path) -> None:
    process = _process(tmp_path, WAITS, "run", "$(NAME)")
    process.start()
    wait_until(lambda: "started run n1" in (tmp_path / "log").read_text())
    assert process.ended() is None
    process.stop()
    assert process.ended() == "exit code 0: started run n1\nends in order"
    process.kill()


def test_a_container_that_ignores_sigterm_has_its_grace_period(tmp_path: Path) -> None:
    script = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); signal.pause()"
    process = _process(tmp_path, script, spec={"terminationGracePeriodSeconds": 0.2})
    process.start()
    wait_until(lambda: "up" in (tmp_path / "log").read_text())
    process.stop()
    assert process.ended() is None
    process.kill()
    assert (process.ended() or "").startswith("exit code -9")


@pytest.mark.parametrize(("spec", "seconds"), [({}, 30.0), ({"terminationGracePeriodSeconds": 0}, 0.0)])
def test_the_grace_period_is_that_of_the_pod(spec: Obj, seconds: float) -> None:
    assert grace_of({"spec": spec}) == seconds


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("print('fine')", ""),
        ("print('no peers'); raise SystemExit(3)", "exit code 3: no peers"),
        ("import signal; signal.pause()", "it takes more than 1 s"),
    ],
)
def test_a_probe_runs_in_the_container(script: str, why: str, tmp_path: Path) -> None:
    seconds = 1.0 if "more than" in why else 30.0
    assert _process(tmp_path, script).execute(["daemon", "check"], seconds) == why


def test_only_the_end_of_a_probe_s_output_is_kept(tmp_path: Path) -> None:
    script = "for _ in range(64): print('x' * 2**20)\nraise SystemExit('no peers')"
    why = _process(tmp_path, script).execute(["daemon", "check"], 30.0)
    assert why.startswith("exit code 1: ")
    assert why.endswith("no peers")
    assert len(why) < 400


def test_a_probe_with_another_command_fails(tmp_path: Path) -> None:
    assert "takes the place of '/bin/true'" in _process(tmp_path, "").execute(["/bin/true"], 1.0)


# -- probes ------------------------------------------------------------------------------------------------------------


class Probed:
    """Probes with a clock and answers of the test."""

    def __init__(self, **container: Any) -> None:
        self.now = 0.0
        self.answers: dict[str, str] = {}
        self.ran: list[str] = []
        self.probes = Probes.of(container, started_at=0.0)

    def at(self, seconds: float, **answers: str) -> str:
        """Run what is due then; return why the container is not ready."""
        self.now = seconds
        self.answers |= answers
        self.ran.clear()
        self.probes.run_due(lambda: self.now, self._run)
        return self.probes.problem

    def _run(self, words: Sequence[str], seconds: float) -> str:
        self.ran.append(words[0])
        return self.answers.get(words[0], "")


def _probe(word: str, **fields: Any) -> Obj:
    return {"exec": {"command": [word]}, **fields}


def test_a_container_without_probes_is_ready() -> None:
    assert Probed().probes.problem == ""
    assert Probed().probes.next_due() is None


def test_other_probes_wait_for_the_startup_probe() -> None:
    probed = Probed(startupProbe=_probe("s", periodSeconds=1, failureThreshold=9), readinessProbe=_probe("r"))
    assert probed.at(0, s="not yet") == "not yet"
    assert probed.ran == ["s"]
    assert probed.at(0.5) == "not yet"
    assert probed.ran == []
    # Both in one look: the readiness probe is due since the start.
    assert probed.at(1, s="") == ""
    assert probed.ran == ["s", "r"]
    assert probed.at(11, r="lost a peer") == ""  # one of three
    assert probed.ran == ["r"]
    assert probed.probes.next_due() == 21


def test_readiness_follows_the_thresholds() -> None:
    probed = Probed(readinessProbe=_probe("r", periodSeconds=1, failureThreshold=2, successThreshold=2))
    assert probed.probes.problem == "it has not been probed yet"
    assert probed.at(0) == "its readiness probe has not succeeded yet"
    assert probed.at(1) == ""
    assert probed.at(2, r="lost a peer") == ""
    assert probed.at(3) == "lost a peer"
    assert not probed.probes.failed


def test_a_liveness_probe_that_fails_too_often_ends_the_container() -> None:
    probed = Probed(livenessProbe=_probe("l", periodSeconds=1, failureThreshold=2))
    assert probed.at(0) == ""
    probed.at(1, l="hangs")
    probed.at(2, l="")
    probed.at(3, l="hangs")
    assert not probed.probes.failed
    probed.at(4)
    assert probed.probes.failed == "its liveness probe failed 2 times: hangs"


def test_a_startup_probe_that_never_succeeds_ends_the_container() -> None:
    probed = Probed(startupProbe=_probe("s", periodSeconds=1, failureThreshold=1, initialDelaySeconds=5))
    probed.at(4, s="not yet")
    assert probed.ran == []
    probed.at(5)
    assert probed.probes.failed == "its startup probe failed 1 times: not yet"


def test_a_probe_that_is_not_emulated_is_refused() -> None:
    with pytest.raises(KubeletError, match="readiness probe: only exec probes"):
        Probed(readinessProbe={"httpGet": {"port": 80}})
