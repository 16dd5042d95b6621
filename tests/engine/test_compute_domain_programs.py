"""Tests of `--compute-domain-controller` and `--compute-domain-plugin`: each program is judged for its own rules.

The programs are the reference's in processes of their own, so they pass these rules.
"""

from __future__ import annotations

import base64
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import yaml
from command_line import CommandLine
from polling import wait_until

from deploy.images import components
from deploy.images.components import DAEMON_PROGRAM
from dra_api.clock import AdvanceableClock
from dra_conformance.components import pod_credentials
from dra_conformance.components.daemon_pods import CONTRACT, pod_spec
from dra_conformance.components.daemon_programs import ContainerFiles
from dra_conformance.control_plane.binaries import BinariesControlPlane
from dra_conformance.core import assets, features
from dra_conformance.core.component_spec import ComponentSpec
from dra_conformance.core.errors import ExitCode, UsageError
from dra_conformance.core.options import RunOptions
from dra_conformance.core.rules import Catalogue
from dra_conformance.doctor import components as doctor
from dra_conformance.engine import control_planes, preflight, supported_features
from dra_conformance.engine.world import World
from dra_conformance.pytest_plugin.dry_run import dry_run
from dra_conformance.steps import imex_daemons
from reference_impl.compute_domain.objects import DaemonSettings, daemon_set

REFERENCE = [sys.executable, "-m", "reference_impl"]
CONTROLLER = f"exec:{shlex.join([*REFERENCE, 'compute-domain'])} --kubeconfig {{kubeconfig}}"
PLUGIN = (
    f"exec:{shlex.join([*REFERENCE, 'compute-domain-plugin'])} --kubeconfig {{kubeconfig}} --node-name {{node}} "
    "--kubelet-plugins-directory-path {plugins} --kubelet-registrar-directory-path {registrar} --cdi-root {cdi} "
    "--container-driver-root {driver_root} --namespace {namespace}"
)


def test_a_users_controller_is_not_judged_by_the_references_kubelet_plugin(cli: CommandLine) -> None:
    """NV-145 to NV-147 and NV-153 bind the controller, NV-046 the kubelet plugin."""
    own = {"NV-145", "NV-146", "NV-147", "NV-153"}
    rules = [word for rule in (*sorted(own), "NV-046") for word in ("--rule", rule)]
    ended = cli.suite("--compute-domain-controller", CONTROLLER, "--profile", "imex", *rules)
    found = {row["id"]: row["status"] for row in ended.report["rules"]}
    assert {rule: found[rule] for rule in own} == dict.fromkeys(own, "passed"), ended.err
    assert not [row["id"] for row in ended.report["rules"] if row["binds"] and row["component"].endswith("plugin")]


def test_a_users_kubelet_plugin_is_judged(cli: CommandLine) -> None:
    """It is a process on the scenario's fake GPUs, beside the reference's controller."""
    own = {"NV-046", "NV-159"}
    rules = [word for rule in sorted(own) for word in ("--rule", rule)]
    ended = cli.suite("--compute-domain-plugin", PLUGIN, "--profile", "imex", *rules)
    found = {row["id"]: row["status"] for row in ended.report["rules"] if row["id"] in own}
    assert found == dict.fromkeys(own, "passed"), ended.err


@pytest.mark.parametrize("controller", ["reference", f"{CONTROLLER} --namespace {{namespace}}"])
def test_daemons_are_judged_in_the_namespace_of_the_driver(cli: CommandLine, controller: str) -> None:
    words = ("--compute-domain-namespace", "gpu-operator", "--compute-domain-controller", controller)
    ended = cli.suite(*words, "--rule", "NV-146")
    assert {row["id"]: row["status"] for row in ended.report["rules"]}["NV-146"] == "passed", ended.err


def test_a_controller_that_puts_the_daemons_elsewhere_fails(cli: CommandLine) -> None:
    ended = cli.suite("--compute-domain-controller", f"{CONTROLLER} --namespace kube-public", "--rule", "NV-146")
    assert {row["id"]: row["status"] for row in ended.report["rules"]}["NV-146"] == "failed", ended.err


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo no fabric here >&2; exit 3", "ended with exit code 3 before it registered; last output: no fabric here"),
        ("echo waiting; exec sleep 600", "last output: waiting"),
    ],
)
def test_a_kubelet_plugin_that_never_registers_ends_the_run(cli: CommandLine, script: str, said: str) -> None:
    """Every other scenario would wait for it in vain."""
    plugin = f"exec:/bin/sh -c '{script}'  {{driver_root}}"
    ended = cli.suite("--compute-domain-plugin", plugin, "--rule", "NV-046", "--rule", "NV-159")
    assert ended.code == ExitCode.TARGET_UNREACHABLE
    assert said in ended.out + ended.err


@pytest.mark.parametrize(("rule", "workers"), [("NV-016", "1"), ("NV-046", "2")])
def test_a_kubelet_plugin_that_does_not_start_has_one_cause(cli: CommandLine, rule: str, workers: str) -> None:
    """Without the check of its start, NV-016 passes for a driver that never starts, and NV-046 fails."""
    plugin = "exec:/bin/sh -c 'echo no fabric here >&2; exit 3'  {driver_root}"
    ended = cli.suite("--compute-domain-plugin", plugin, "--rule", rule, "-n", workers)
    assert ended.code == ExitCode.TARGET_UNREACHABLE
    assert "ended with exit code 3 before it registered; last output: no fabric here" in ended.out + ended.err


def test_a_controller_that_does_not_start_ends_the_run(cli: CommandLine) -> None:
    controller = "exec:/bin/sh -c 'echo unknown flag >&2; exit 2'"
    ended = cli.suite("--compute-domain-controller", controller, "--rule", "NV-145")
    assert ended.code == ExitCode.TARGET_UNREACHABLE
    assert "the compute-domain-controller ended with exit code 2 at its start" in ended.out + ended.err
    assert "unknown flag" in ended.out + ended.err


def test_scenarios_that_start_the_kubelet_plugin_have_its_tag() -> None:
    """The tag decides whether the scenario waits in real time, and which program the faults hit."""
    starts = [s for s in features.read_all() if any("ComputeDomain driver on" in step.text for step in s.steps)]
    assert len(starts) > 15
    assert [s.id for s in starts if "compute-domain-plugin" not in s.tags.components] == []
    flags = re.compile(r'the ComputeDomain driver on "\w+" (is started with:|with "--.*)')
    chosen = [s for s in starts if any(flags.match(step.text) for step in s.steps)]
    assert len(chosen) > 4
    assert [s.id for s in chosen if "compute-domain-plugin-flags" not in s.tags.needs] == []


# -- presets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("component", "program", "words"),
    [
        ("compute-domain-plugin", "compute-domain-kubelet-plugin", {"{driver_root}", "{flags}", "{namespace}"}),
        ("compute-domain-controller", "compute-domain-controller", {"{kubeconfig}", "{flags}", "{namespace}"}),
        ("compute-domain-daemon", "compute-domain-daemon", set()),
        ("webhook", "webhook", {"{port}", "{feature_gates}"}),
    ],
)
def test_a_preset_is_the_command_of_a_release(component: str, program: str, words: set[str]) -> None:
    spec = ComponentSpec.parse(component, "nvidia:v0.4.1")
    assert spec.command[0] == str(assets.third_party_programs() / "nvidia-v0.4.1" / program)
    assert words <= set(spec.command)
    assert ComponentSpec.parse(component, "nvidia") == ComponentSpec.parse(component, "nvidia:v0.5.0")


@pytest.mark.parametrize(
    "component", ["compute-domain-plugin", "compute-domain-controller", "compute-domain-daemon", "webhook"]
)
def test_a_preset_that_is_not_built_ends_with_the_build_command(
    component: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assets, "third_party_programs", lambda: tmp_path)
    options = RunOptions(**{component.replace("-", "_"): "nvidia:v0.4.1"})
    with pytest.raises(UsageError, match=f"--{component} nvidia:v0.4.1: not built: there is no ") as raised:
        preflight.check(options)
    assert raised.value.exit_code == ExitCode.USAGE
    assert "python -m verification build nvidia-driver-v0.4.1;" in raised.value.hint
    (found,) = [one for one in doctor.look(options) if one.name == component]
    assert "nvidia:v0.4.1 is not built" in found.cause


def test_the_checkpoint_of_another_plugin_is_not_read() -> None:
    """NV-167 reads NVIDIA's checkpoint, which another kubelet plugin does not have."""
    for plugin, known in (("reference", True), ("nvidia", True), ("exec:x", False)):
        found = supported_features.find(RunOptions(compute_domain_plugin=plugin))
        assert ("nvidia-checkpoint" in found.supported) is known, plugin


def test_conditions_need_a_crd_that_has_them() -> None:
    """NV-470: the ComputeDomains of a cluster may be NVIDIA's."""
    for options, known in (
        (RunOptions(), True),
        (RunOptions(control_plane="kubeconfig"), False),
        (RunOptions(compute_domain_controller="nvidia"), False),
    ):
        found = supported_features.find(options)
        assert ("domain-conditions" in found.supported) is known, options


# -- placeholders ------------------------------------------------------------------------------------------------------


def test_an_unknown_placeholder_of_the_controller_is_wrong_use() -> None:
    with pytest.raises(UsageError, match=r"unknown placeholder \{node\}"):
        preflight.check(RunOptions(compute_domain_controller="exec:/bin/sh {node}"))


def test_a_dry_run_counts_what_a_placeholder_gains() -> None:
    options = RunOptions(compute_domain_plugin="exec:/bin/sh", profile=("imex",))
    lines, _ = dry_run(options)
    gains = re.compile(r"the compute-domain-plugin's command has no word ({\w+}): (\d+) scenarios")
    found = {match[1]: int(match[2]) for line in lines if (match := gains.match(line))}
    assert found["{driver_root}"] > 20 > found["{flags}"] > 2


def test_doctor_names_the_words_of_each_command() -> None:
    options = RunOptions(compute_domain_plugin="exec:/bin/sh {driver_root}", compute_domain_controller="exec:/bin/sh")
    found = {one.name: one for one in doctor.look(options)}
    assert "channels and daemons" in found["compute-domain-plugin: {driver_root}"].found
    assert "without this word" in found["compute-domain-plugin: {flags}"].cause
    assert "without this word" in found["compute-domain-controller: {flags}"].cause


# -- the daemon --------------------------------------------------------------------------------------------------------

DAEMON = f"exec:{shlex.join([*REFERENCE, 'compute-domain-daemon'])} --kubeconfig {{kubeconfig}}"


def test_a_users_daemon_is_judged(cli: CommandLine) -> None:
    """It is a process with a hosts file of its own in each pod, beside the reference's controller."""
    own = {"NV-394", "NV-401"}
    rules = [word for rule in sorted(own) for word in ("--rule", rule)]
    ended = cli.suite("--compute-domain-daemon", DAEMON, "--profile", "imex", *rules)
    found = {row["id"]: row["status"] for row in ended.report["rules"] if row["id"] in own}
    assert found == dict.fromkeys(own, "passed"), ended.err


def test_the_reference_daemon_is_judged_as_a_process(cli: CommandLine) -> None:
    """Membership, files, restarts, readiness and its end, without a mount namespace."""
    own = {"NV-393", "NV-394", "NV-399", "NV-401", "NV-402", "NV-403", "NV-405"}
    rules = [word for rule in sorted(own) for word in ("--rule", rule)]
    ended = cli.suite("--compute-domain-daemon", "reference:process=yes", "--profile", "imex", "-n", "2", *rules)
    found = {row["id"]: row["status"] for row in ended.report["rules"] if row["id"] in own}
    assert found == dict.fromkeys(own, "passed"), ended.err
    # One process for each pod, with its own log.
    assert list((cli.folder / "dra-report" / "logs").glob("compute-domain-daemon-*n1*.log"))


def test_the_daemon_of_the_image_runs_in_its_pod(cli: CommandLine) -> None:
    """It gets no kubeconfig, and brings its own nvidia-imex."""
    program = cli.folder / "compute-domain-daemon"
    program.write_text(DAEMON_PROGRAM)
    daemon = f"exec:{sys.executable} {program}"
    rules = [word for rule in ("NV-394", "NV-401", "NV-405") for word in ("--rule", rule)]
    ended = cli.suite("--compute-domain-daemon", daemon, "--profile", "imex", *rules)
    found = {row["id"]: row["status"] for row in ended.report["rules"] if row["id"] in rules}
    assert found == dict.fromkeys(("NV-394", "NV-401", "NV-405"), "passed"), ended.err


@pytest.mark.parametrize(("daemon", "without"), [("reference", ("daemonset-controller",)), ("none", ())])
def test_one_component_makes_the_pods_of_the_daemon_sets(daemon: str, without: tuple[str, ...], tmp_path: Path) -> None:
    """Kubernetes' own controller deletes the pods of the harness."""
    options = RunOptions(control_plane="binaries", compute_domain_daemon=daemon)
    plane = control_planes.make(options, work=lambda: tmp_path, logs=tmp_path, clock=AdvanceableClock(), seed=1)
    assert isinstance(plane, BinariesControlPlane)
    assert plane._without == without


def test_a_daemon_that_does_nothing_fails(cli: CommandLine) -> None:
    prints = 'echo "server $KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT"; cd /run/secrets/kubernetes.io/*; wc -l *'
    daemon = f"exec:/bin/sh -c {shlex.quote(f'{prints}; exec sleep 60')} --"
    ended = cli.suite("--compute-domain-daemon", daemon, "--profile", "imex", "--rule", "NV-394")
    (found,) = [row["status"] for row in ended.report["rules"] if row["id"] == "NV-394"]
    assert found == "failed"
    # Yet it has what a pod has for client-go's in-cluster configuration.
    log = next((cli.folder / "dra-report" / "logs").glob("compute-domain-daemon-*n1*.log")).read_text()
    assert re.search(r"server 127\.0\.0\.1:\d+", log), log
    assert {"ca.crt", "namespace", "token"} <= set(log.split()), log


def test_a_pod_has_the_files_of_its_service_account_if_there_is_a_token(tmp_path: Path) -> None:
    """A client certificate is of no use to the in-cluster configuration of a program."""
    folder = tmp_path / "account"
    folder.mkdir()
    given: list[Path] = []
    authority = base64.b64encode(b"authority").decode()
    cluster = {"server": "https://127.0.0.1:6443", "certificate-authority-data": authority}
    config = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    for user, variables in (
        ({"client-certificate-data": "x"}, {}),
        (
            {"token": "secret"},
            {
                "KUBERNETES_SERVICE_HOST": "127.0.0.1",
                "KUBERNETES_SERVICE_PORT": "6443",
                "KUBERNETES_SERVICE_PORT_HTTPS": "6443",
            },
        ),
    ):
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump({**config, "users": [{"name": "u", "user": user}]}))
        found = pod_credentials.write(tmp_path / "kubeconfig", folder, namespace="ns", give=given.append)
        assert found == variables
        assert bool(given) is bool(variables)
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "token": "secret",
        "ca.crt": "authority",
        "namespace": "ns",
    }
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_rules_of_daemons_are_judged_by_scenarios_that_run_the_program() -> None:
    """A scenario that simulates the daemons must not judge them."""
    daemons = {rule.id for rule in Catalogue.load().values() if rule.component == "compute-domain-daemon"}
    judging = [scenario for scenario in features.read_all() if daemons & set(scenario.rules)]
    assert len(judging) > 20
    for scenario in judging:
        assert "imex-daemons" in scenario.tags.needs, scenario.id
        assert not [step for step in scenario.steps if "daemons of ComputeDomains are simulated" in step.text], (
            scenario.id
        )


def test_a_daemon_pod_has_the_spec_of_the_template() -> None:
    """Without the claim, which a scheduler and a kubelet plugin would have to provide, and the account."""
    domain = {"metadata": {"name": "job", "namespace": "ns", "uid": "1234"}, "spec": {}}
    settings = DaemonSettings(image="registry.example/daemon:1", pull_secrets=("pull",), verbosity=6)
    rendered = daemon_set(domain, "driver", settings=settings)["spec"]["template"]["spec"]
    (container,) = rendered["containers"]
    found = pod_spec(rendered, own_words=True)
    assert found["containers"] == [{**container, "resources": {}}]
    assert set(rendered) - set(found) == {"resourceClaims", "serviceAccountName", "imagePullSecrets"}
    assert {key: rendered[key] for key in found if key != "containers"} == {
        key: value for key, value in found.items() if key != "containers"
    }
    # The words of every daemon are those of the reference's template, and its image has the program.
    assert pod_spec(rendered, own_words=False) == {**found, "containers": [{**container, "resources": {}, **CONTRACT}]}
    assert {key: container.get(key, []) for key in CONTRACT} == CONTRACT
    assert Path(components.DAEMON).name == container["command"][0]


def test_a_process_of_another_program_is_not_that_of_a_container(tmp_path: Path) -> None:
    """The id is in an answer of the target: -1 would end every process."""
    ours, theirs = ContainerFiles(tmp_path / "ours"), ContainerFiles(tmp_path / "theirs")
    for each in (ours, theirs):
        each.root.mkdir()
        each.install(without=frozenset())
    words = [sys.executable, "-I", "-S", "-c", "input()", str(ours.bin / "simulated_imex.pyc"), "daemon"]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        wait_until(lambda: ours.imex_process(process.pid) == process.pid)
        assert theirs.imex_process(process.pid) is None
        for claimed in (os.getpid(), 1, 0, -1, -process.pid, True, None, str(process.pid), [process.pid], 1 << 80):
            assert ours.imex_process(claimed) is None
        process.communicate(b"\n")


@pytest.mark.parametrize("hostile", ["fifo", "device", "no text"])
def test_hosts_files_of_daemons_are_read_as_regular_files(
    hostile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ContainerFiles(tmp_path)
    match hostile:
        case "fifo":
            os.mkfifo(files.hosts)
        case "device":
            files.hosts.symlink_to("/dev/zero")
        case _:
            files.hosts.write_bytes(b"\xff")
    monkeypatch.setattr(imex_daemons, "container_of", lambda *_: SimpleNamespace(files=files))
    assert imex_daemons.hosts_of(cast(World, None), "n1", "domain") == ""
