"""The real control plane: how it starts and ends, who may do what on it, and what is said when a program dies."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import urllib3

from dra_api.client import ApiError, Forbidden, KubeClient
from dra_api.clock import RealClock
from dra_api.feature_gates import default_gates
from dra_api.objects import NODES, RESOURCE_CLAIMS, RESOURCE_SLICES, SERVICE_ACCOUNTS, Obj
from dra_conformance.control_plane.binaries import BinariesControlPlane, flags
from dra_conformance.control_plane.binaries.programs import NEEDED
from dra_conformance.control_plane.server_facts import differing, gates_of
from dra_conformance.core.errors import TargetUnreachable
from tests.control_plane.conftest import Pretend
from verification.third_party.catalogue import KUBERNETES


def pretended(pretend: Pretend, folder: Path, **bodies: str) -> BinariesControlPlane:
    for name in NEEDED:
        pretend(folder / "bin", name, "v1.37.2", body=bodies.get(name.replace("-", "_"), "exec sleep 60"))
    return BinariesControlPlane(directory=folder / "api", logs=folder / "logs", bin_dir=str(folder / "bin"))


def slice_of(node: str) -> Obj:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"slice-{node}"},
        "spec": {
            "driver": "d.example.com",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "d"}],
        },
    }


@pytest.mark.parametrize("program", ["etcd", "kube-apiserver"])
def test_a_program_that_dies_is_named_with_its_last_words(pretend: Pretend, tmp_path: Path, program: str) -> None:
    plane = pretended(pretend, tmp_path, **{program.replace("-", "_"): "echo 'the disk is full'\nexit 3"})
    with pytest.raises(TargetUnreachable, match=rf"{program} ended with exit code 3; last output:\nthe disk is full"):
        plane.start()
    assert not (tmp_path / "api").exists()
    assert plane.dead() == ""


def test_a_start_is_retried_if_its_port_was_taken_meanwhile(pretend: Pretend, tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    body = f"echo x >> {tries}\necho 'listen tcp 127.0.0.1: bind: address already in use'\nexit 1"
    plane = pretended(pretend, tmp_path, etcd=body)
    with pytest.raises(TargetUnreachable, match="address already in use"):
        plane.start()
    assert tries.read_text().count("x") == 3


def test_a_gate_that_the_release_does_not_know_is_refused_before_anything_starts(
    pretend: Pretend, tmp_path: Path
) -> None:
    pretended(pretend, tmp_path)
    plane = BinariesControlPlane(
        directory=tmp_path / "api",
        logs=tmp_path / "logs",
        bin_dir=str(tmp_path / "bin"),
        feature_gates={"DRANoSuchThing": True},
    )
    with pytest.raises(TargetUnreachable, match="does not know the feature gate DRANoSuchThing"):
        plane.start()
    assert not (tmp_path / "api").exists()


def test_every_version_of_the_api_is_served(real: BinariesControlPlane) -> None:
    client = KubeClient(real.transport())
    assert set(client.served("resource.k8s.io")) == {"v1", "v1beta2", "v1beta1", "v1alpha3"}
    assert client.version()["gitVersion"] == real.version()
    assert real.feature_gates["DRAConsumableCapacity"] is True
    assert real.dead() == ""


def test_the_gates_of_its_help_text_are_those_that_it_reports(real: BinariesControlPlane) -> None:
    """Locked gates are not in the help text."""
    assert differing(real.feature_gates, gates_of(real.transport())) == []
    assert default_gates("1.37").items() <= gates_of(real.transport()).items()


def test_reports_can_quote_the_programs_that_answer_before_the_database(real: BinariesControlPlane) -> None:
    names = [process.name for process in real.processes]
    assert (names[0], names[-1]) == ("kube-apiserver", "etcd")
    assert all(process.log_path.is_file() for process in real.processes)


def test_controllers_without_a_component_run(real: BinariesControlPlane) -> None:
    client = KubeClient(real.transport())
    assert client.get(SERVICE_ACCOUNTS, "default", "default")["metadata"]["name"] == "default"


def test_secrets_are_for_this_user_only_and_in_no_command_line(real: BinariesControlPlane) -> None:
    folder = real.kubeconfig.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    private = [path for path in folder.iterdir() if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o600}
    token = (folder / "tokens.csv").read_text().split(",")[0]
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if token.encode() in _bytes(path)]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_token_or_certificate_is_required(real: BinariesControlPlane) -> None:
    with urllib3.PoolManager(ca_certs=str(real.kubeconfig.parent / "ca.crt")) as http:
        answer = http.request("GET", f"{real.url}/api/v1/nodes")
    assert answer.status in (401, 403)


def test_rbac_and_the_node_authorizer_are_on(real: BinariesControlPlane) -> None:
    nobody = KubeClient(real.transport_for("nobody", ["system:authenticated"]))
    with pytest.raises(Forbidden):
        nobody.list(RESOURCE_CLAIMS, "default")
    admin = KubeClient(real.transport())
    for name in ("n1", "n2"):
        admin.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    node = KubeClient(real.transport_for("system:node:n1", ["system:nodes"]))
    node.create(RESOURCE_SLICES, slice_of("n1"))
    with pytest.raises(Forbidden, match="same NodeName"):
        node.create(RESOURCE_SLICES, slice_of("n2"))
    _delete_when_known_as_the_nodes_own(node, "slice-n1")


def _delete_when_known_as_the_nodes_own(node: KubeClient, name: str) -> None:
    """Delete a slice; the node authorizer hears whose it is by a watch of its own, some time after the create."""
    never = threading.Event()
    for _ in range(600):
        try:
            node.delete(RESOURCE_SLICES, name)
        except Forbidden as error:
            if "no relationship found between node" not in str(error):
                raise
            never.wait(0.05)
        else:
            return
    raise AssertionError(f"the node authorizer never heard of {name}")


def test_an_api_server_that_died_is_noticed_and_comes_back_with_its_data(real: BinariesControlPlane) -> None:
    client = KubeClient(real.transport())
    client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "keeps"}})
    real.kill("kube-apiserver")
    assert "kube-apiserver ended with exit code -9" in real.dead()
    real.restart("kube-apiserver")
    assert real.dead() == ""
    assert client.get(NODES, "keeps")["metadata"]["name"] == "keeps"


def test_stop_leaves_no_process_and_no_folder(real: BinariesControlPlane, tmp_path: Path) -> None:
    plane = BinariesControlPlane(kubernetes_version=KUBERNETES, directory=tmp_path / "api", logs=tmp_path / "logs")
    plane.start()
    assert _processes(tmp_path)
    plane.stop()
    plane.stop()
    assert not _processes(tmp_path)
    assert not (tmp_path / "api").exists()
    assert (tmp_path / "logs" / "kube-apiserver.log").is_file()


def test_a_harness_that_is_killed_takes_its_control_plane_along(real: BinariesControlPlane, tmp_path: Path) -> None:
    program = (
        "import sys, signal, os; from pathlib import Path\n"
        "from dra_conformance.control_plane.binaries import BinariesControlPlane\n"
        f"p = BinariesControlPlane(kubernetes_version={KUBERNETES!r},"
        f" directory=Path({str(tmp_path / 'api')!r}), logs=Path({str(tmp_path / 'logs')!r}))\n"
        "p.start(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=120, env={**os.environ})
    assert done.returncode == -9
    clock, never = RealClock(), threading.Event()
    deadline = clock.monotonic() + 60
    while (left := _processes(tmp_path)) and clock.monotonic() < deadline:  # the kernel ends them, after our child
        clock.wait(never, 0.05)
    assert not left


def test_the_programs_get_no_secret_of_the_environment(
    real: BinariesControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "WANTED"):
        monkeypatch.setenv(name, "hunter2")
    plane = BinariesControlPlane(
        kubernetes_version=KUBERNETES, directory=tmp_path / "api", logs=tmp_path / "logs", pass_env=["WANTED"]
    )
    with plane:
        found = {name: _variables(process.pid) for name, process in plane._processes.items()}
    assert {"etcd", "kube-apiserver"} <= set(found)
    for name, variables in found.items():
        assert variables["PATH"] == os.environ["PATH"], name
        assert [key for key, value in variables.items() if value == "hunter2"] == ["WANTED"], name


def _variables(pid: int | None) -> dict[str, str]:
    words = _bytes(Path(f"/proc/{pid}/environ")).decode(errors="replace").split("\0")
    return dict(word.split("=", 1) for word in words if word)


def _processes(folder: Path) -> list[str]:
    found = [_bytes(path).decode(errors="replace") for path in Path("/proc").glob("[0-9]*/cmdline")]
    return [line for line in found if str(folder) in line and "python" not in line.split("\0")[0]]


def test_the_scheduler_and_controllers_in_components_have_their_own_identity(real: BinariesControlPlane) -> None:
    words = real.component_command("kube-scheduler", "scheduler")
    assert words[0].endswith("kube-scheduler")
    kubeconfig = next(word.partition("=")[2] for word in words if word.startswith("--kubeconfig="))
    from dra_api.transport import HttpTransport

    client = KubeClient(HttpTransport.from_kubeconfig(kubeconfig))
    client.list(RESOURCE_CLAIMS, "default")
    with pytest.raises(ApiError):
        client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "not-mine"}})
    assert "--controllers=resourceclaim-controller" in real.component_command(
        "kube-controller-manager", "claim-controller"
    )


def test_arguments_of_a_plugin_go_into_a_file_that_only_we_can_read(real: BinariesControlPlane) -> None:
    words = real.component_command("kube-scheduler", "scheduler", {}, arguments={"filterTimeout": "50ms"})
    assert not [word for word in words if word.startswith(("--kubeconfig", "--kube-api"))], "the file says it"
    file = Path(next(word.partition("=")[2] for word in words if word.startswith("--config=")))
    assert file.stat().st_mode & 0o777 == 0o600
    told = json.loads(file.read_text())
    assert Path(told["clientConnection"]["kubeconfig"]).is_file()
    (plugin,) = told["profiles"][0]["pluginConfig"]
    assert (plugin["name"], plugin["args"]["filterTimeout"]) == ("DynamicResources", "50ms")


def test_a_server_without_v1_runs_without_the_node_authorizer(tmp_path: Path) -> None:
    words = flags.api_server(flags.Layout(tmp_path, 1, 2, 3), {}, {"resource.k8s.io/v1": False})
    assert "--authorization-mode=RBAC" in words
    assert any(
        word.startswith("--runtime-config=") and "resource.k8s.io/v1=false" in word and "v1beta1=true" in word
        for word in words
    )
    assert "--authorization-mode=Node,RBAC" in flags.api_server(flags.Layout(tmp_path, 1, 2, 3), {})
