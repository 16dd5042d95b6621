"""`--control-plane k3s` against a stand-in of Docker (`fake_docker`): no image is pulled, no container started.

`python -m verification docker` tries the same class on a real engine. What that taught has its test here.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from testcontainers.core.config import ConnectionMode

from dra_api.client import Forbidden, KubeClient
from dra_api.clock import RealClock
from dra_api.objects import NAMESPACES
from dra_api.transport import HttpTransport
from dra_conformance.control_plane.embedded import EmbeddedControlPlane
from dra_conformance.control_plane.k3s import DEFAULT_IMAGE, K3sControlPlane, flags
from dra_conformance.control_plane.k3s.container import REAPER
from dra_conformance.core.configuration import from_mapping
from dra_conformance.core.errors import ExitCode, TargetUnreachable, UsageError
from dra_conformance.rbac import target_roles
from tests.control_plane.fake_docker import FakeDocker


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose path leaves room for a socket's name."""
    with tempfile.TemporaryDirectory(prefix="k3s-") as folder:
        yield Path(folder)


@pytest.fixture
def docker(short: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDocker]:
    """A Docker that runs k3s, behind whose door the embedded control plane answers."""
    plane = EmbeddedControlPlane(kubernetes_version="1.36", directory=short / "api", clock=RealClock(), seed=0)
    plane.start()
    port = int(plane.url.rpartition(":")[2])
    inside = plane.kubeconfig.read_text().replace(plane.url, "https://127.0.0.1:6443")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{short}/docker.sock")
    monkeypatch.setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
    monkeypatch.setenv("TESTCONTAINERS_CONNECTION_MODE", "docker_host")
    config = "testcontainers.core.config.testcontainers_config"
    monkeypatch.setattr(f"{config}.ryuk_disabled", True)
    monkeypatch.setattr(f"{config}.connection_mode_override", ConnectionMode.docker_host)
    try:
        with FakeDocker(short / "docker.sock", kubeconfig=inside, port=port) as fake:
            yield fake
    finally:
        plane.stop()


def test_a_cluster_is_started_used_and_removed(docker: FakeDocker, short: Path) -> None:
    plane = K3sControlPlane(directory=short / "k3s", feature_gates={"DRADeviceTaintRules": True})
    assert plane.version() == "v1.36.2"  # the image's tag, before anything runs
    plane.start()
    try:
        assert stat.S_IMODE(plane.kubeconfig.stat().st_mode) == 0o600
        assert "https://127.0.0.1:6443" not in plane.kubeconfig.read_text()
        assert plane.version().startswith("v1.36")
        assert KubeClient(plane.transport()).get(NAMESPACES, "default")["metadata"]["name"] == "default"
    finally:
        plane.stop()
    assert docker.removed
    assert not (short / "k3s").exists()


def test_a_program_under_test_is_a_service_account_with_the_role_of_its_component(
    docker: FakeDocker, short: Path
) -> None:
    plane = K3sControlPlane(directory=short / "k3s")
    plane.start()
    try:
        admin, user = KubeClient(plane.transport()), target_roles.user_of("driver")
        paths = [plane.kubeconfig_for(user) for _ in range(2)]
        target_roles.grant(admin, "driver", user=plane.known_as(user))
        for path in paths:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert "client-key" not in path.read_text()
            client = KubeClient(HttpTransport.from_kubeconfig(path))
            assert client.list(NAMESPACES).items
            with pytest.raises(Forbidden):
                client.create(NAMESPACES, {"metadata": {"name": "more"}})
    finally:
        plane.stop()


@pytest.mark.parametrize("mode", [ConnectionMode.docker_host, ConnectionMode.gateway_ip])
def test_the_server_s_certificate_is_for_the_name_that_it_is_reached_by(
    mode: ConnectionMode, docker: FakeDocker, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("testcontainers.core.config.testcontainers_config.connection_mode_override", mode)
    plane = K3sControlPlane(directory=short / "k3s")
    plane.start()
    try:
        (named,) = [word for word in docker.created["Cmd"] if word.startswith("--tls-san=")]
        host = named.partition("=")[2]
        assert f"https://{host}:{docker.port}" in plane.kubeconfig.read_text()
    finally:
        plane.stop()


def test_the_container_is_created_as_k3s_and_drivers_need_it(docker: FakeDocker, short: Path) -> None:
    plane = K3sControlPlane(
        directory=short / "k3s",
        feature_gates={"DRADeviceTaintRules": True},
        runtime_config={"resource.k8s.io/v1beta2": False},
        foreign_components=["scheduler", "taint-eviction"],
    )
    plane.start()
    try:
        asked = docker.created
    finally:
        plane.stop()
    assert asked["Image"] == DEFAULT_IMAGE
    assert asked["HostConfig"]["Privileged"] is True
    assert set(asked["HostConfig"]["Tmpfs"]) == {"/run", "/var/run"}
    root = short / "k3s" / "kubelet"
    assert f"{root}:{root}:rw,rshared" in asked["HostConfig"]["Binds"]
    assert f"{short}/k3s/cdi:/etc/cdi:rw" in asked["HostConfig"]["Binds"]
    words = asked["Cmd"]
    assert words[0] == "server"
    assert f"--kubelet-arg=root-dir={root}" in words
    assert "--disable-scheduler" in words
    assert "--kube-controller-manager-arg=controllers=*,-device-taint-eviction-controller" in words
    for program in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"):
        assert f"--{program}-arg=feature-gates=DRADeviceTaintRules=true" in words
    (versions,) = [word for word in words if "runtime-config" in word]
    assert "resource.k8s.io/v1beta2=false" in versions
    assert "resource.k8s.io/v1beta1=true" in versions
    assert not [word for word in asked.get("Env") or () if word.startswith("K3S_URL")]


def test_a_cluster_that_does_not_come_up_is_reported_with_its_last_output(
    docker: FakeDocker, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker.says = b'level=fatal msg="no cgroups"\n'
    monkeypatch.setattr("dra_conformance.control_plane.k3s.control_plane._TIMEOUT", 0.5)
    with pytest.raises(TargetUnreachable, match=r"did not come up .*it is running; last output: .*no cgroups"):
        K3sControlPlane(directory=short / "k3s").start()
    assert docker.removed
    assert not (short / "k3s").exists()


def test_an_image_that_is_not_to_be_had_is_named(docker: FakeDocker, short: Path) -> None:
    with pytest.raises(TargetUnreachable, match=r"does not start example/k3s:v1\.35\.0: .*pull access denied"):
        K3sControlPlane(image="example/k3s:v1.35.0", directory=short / "k3s").start()


def test_unset_gates_have_the_defaults_of_the_release(short: Path) -> None:
    # Without them, scenarios of gates that are off were run and failed.
    gates = K3sControlPlane(directory=short / "k3s", feature_gates={"DRADeviceTaintRules": True}).feature_gates
    assert gates["DRAListTypeAttributes"] is False
    assert gates["DRADeviceTaintRules"] is True


def test_a_server_of_another_release_than_the_tag_s_is_refused(docker: FakeDocker, short: Path) -> None:
    docker.images = ("example/k3s:v1.35.0",)
    plane = K3sControlPlane(image="example/k3s:v1.35.0", directory=short / "k3s")
    with pytest.raises(TargetUnreachable, match=r"is Kubernetes v1\.36\.\d.*, not v1\.35\.0 as its tag says"):
        plane.start()
    assert docker.removed


def test_a_server_with_other_gates_than_the_plan_was_made_for_is_refused(
    docker: FakeDocker, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = HttpTransport.request

    def with_metrics(self: HttpTransport, method: str, path: str, **options: Any) -> Any:
        if path == "/metrics":  # as a real server has it; the one behind the stand-in has none
            return SimpleNamespace(status=200, body=b'kubernetes_feature_enabled{name="DRAAdminAccess",stage=""} 0\n')
        return ask(self, method, path, **options)

    monkeypatch.setattr(HttpTransport, "request", with_metrics)
    with pytest.raises(TargetUnreachable, match=r"does not have the gates .* planned for: DRAAdminAccess is off"):
        K3sControlPlane(directory=short / "k3s").start()
    assert docker.removed


@pytest.mark.parametrize(
    ("image", "name"),
    [
        (DEFAULT_IMAGE, f"k3s ({DEFAULT_IMAGE})"),
        ("mirror/of/k3s:v1.36.2", "k3s (mirror/of/k3s:v1.36.2)"),
        ("no-k3s:v1.36.2", "container in the place of k3s (no-k3s:v1.36.2)"),
    ],
)
def test_what_is_not_k3s_by_its_name_is_not_called_so(image: str, name: str, short: Path) -> None:
    assert K3sControlPlane(image=image, directory=short / "k3s").name == name


def test_v1_cannot_be_switched_off_because_the_cluster_would_never_be_ready(docker: FakeDocker, short: Path) -> None:
    plane = K3sControlPlane(directory=short / "k3s", runtime_config={"resource.k8s.io/v1": False})
    with pytest.raises(UsageError, match=r"never becomes ready without resource\.k8s\.io/v1"):
        plane.start()
    assert not docker.requests


def test_an_ended_container_is_reported_with_its_exit_code(docker: FakeDocker, short: Path) -> None:
    docker.says, docker.exit_code = b'level=fatal msg="no cgroups"\n', 1
    with pytest.raises(TargetUnreachable, match=r"it is exited with exit code 1; last output: .*no cgroups"):
        K3sControlPlane(directory=short / "k3s").start()
    assert docker.removed


@pytest.mark.parametrize(
    ("refusal", "told", "way_out"),
    [
        (f"pull access denied for {REAPER}", "which removes containers of killed harnesses", "RYUK_DISABLED=true"),
        ("path /x is mounted on / but it is not a shared mount", "not a shared mount", "mount --make-rshared /"),
        ("no space left on device", "no space left", "docker info"),
    ],
)
def test_an_error_of_docker_is_reported_with_its_hint(
    docker: FakeDocker, short: Path, refusal: str, told: str, way_out: str
) -> None:
    docker.refuses = refusal
    with pytest.raises(TargetUnreachable, match=told) as caught:
        K3sControlPlane(directory=short / "k3s").start()
    assert way_out in caught.value.hint
    assert docker.removed  # it was made before it was not started


def test_a_container_that_was_removed_meanwhile_is_no_error(docker: FakeDocker, short: Path) -> None:
    plane = K3sControlPlane(directory=short / "k3s")
    plane.start()
    docker.removed = True
    plane.stop()
    assert not (short / "k3s").exists()


def test_a_lost_engine_is_reported_and_the_folder_removed(docker: FakeDocker, short: Path) -> None:
    plane = K3sControlPlane(directory=short / "k3s")
    plane.start()
    docker.socket.unlink()
    with pytest.raises(TargetUnreachable, match="does not remove the container") as caught:
        plane.stop()
    assert "docker rm --force" in caught.value.hint
    assert not (short / "k3s").exists()


def test_what_root_left_in_the_shared_folder_is_removed_by_the_image_s_own_tools(
    docker: FakeDocker, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane = K3sControlPlane(directory=short / "k3s")
    plane.start()
    (plane.kubelet_root / "pods").mkdir()
    kept = [plane.kubelet_root]
    real = shutil.rmtree

    def not_ours(path: Path, **options: bool) -> None:
        if not kept or path != short / "k3s":
            real(path, **options)

    monkeypatch.setattr("shutil.rmtree", not_ours)
    docker.on_tool = kept.clear  # from then on nothing is root's any more
    plane.stop()
    (tool,) = docker.tools
    assert tool["Entrypoint"] == ["rm"]
    assert tool["Cmd"][0] == "-rf"
    assert str(short / "k3s" / "kubelet") in tool["Cmd"]
    assert tool["HostConfig"]["Privileged"] is True
    assert f"{short}/k3s:{short}/k3s:rw,rshared" in tool["HostConfig"]["Binds"]
    assert not (short / "k3s").exists()


def test_a_tag_without_a_release_is_refused_before_docker_is_called(short: Path) -> None:
    with pytest.raises(UsageError, match="the tag names no release"):
        K3sControlPlane(image="rancher/k3s:latest", directory=short / "k3s").start()


def test_a_package_that_is_missing_is_named(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] in ("docker", "testcontainers")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "dra_conformance.control_plane.k3s.container", raising=False)
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(TargetUnreachable, match="docker is not installed") as caught:
        K3sControlPlane(directory=short / "k3s").start()
    assert "testcontainers" in caught.value.hint


def test_testcontainers_is_imported_only_when_it_is_used() -> None:
    program = (
        "import sys, dra_conformance.cli, dra_conformance.control_plane.k3s, dra_conformance.pytest_plugin.runner; "
        "print([name for name in sys.modules if name.split('.')[0] in ('docker', 'testcontainers')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def run(tmp_path: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A run of the command line with an environment of its own."""
    command = [sys.executable, "-m", "dra_conformance", "run", "--out", str(tmp_path / "out")]
    return subprocess.run(
        [*command, "--control-plane", "k3s", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **env},
    )


def test_without_docker_there_is_one_line_and_exit_code_10(tmp_path: Path) -> None:
    done = run(tmp_path, "--rule", "DRA-100", DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    assert done.returncode == ExitCode.TARGET_UNREACHABLE, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "no Docker daemon answers" in line]
    assert len(lines) == 1, done.stdout + done.stderr
    assert lines[0].endswith("no Docker daemon answers: No such file or directory"), lines[0]
    assert "docker info" in done.stdout + done.stderr


def test_a_run_judges_the_cluster_behind_the_fake_docker(docker: FakeDocker, tmp_path: Path) -> None:
    # The emulation has no kube-controller-manager, so `--claim-controller` provides the claim controller.
    done = run(tmp_path, "--profile", "api", "--rule", "DRA-001", "--patience", "10")
    report = orjson.loads((tmp_path / "out" / "report.json").read_bytes())
    assert done.returncode == ExitCode.OK, done.stdout + done.stderr
    assert report["target"]["controlPlane"] == f"k3s ({DEFAULT_IMAGE}), started by the run"
    assert docker.removed


def test_the_cluster_s_own_parts_stay_in_their_components() -> None:
    options = from_mapping({"control-plane": "k3s"}, where="test")
    kinds = {name: spec.kind for name, spec in options.components().items()}
    assert kinds["scheduler"] == kinds["claim-controller"] == kinds["taint-eviction"] == "cluster"
    assert kinds["kubelet"] == kinds["driver"] == kinds["binder"] == "reference"
    with pytest.raises(UsageError, match="has no binder"):
        from_mapping({"control-plane": "k3s", "binder": "cluster"}, where="test")
    with pytest.raises(UsageError, match="--k3s-image"):
        from_mapping({"k3s-image": "rancher/k3s:v1.36.2-k3s1"}, where="test")


def test_words_have_no_spaces_that_a_shell_would_be_needed_for() -> None:
    words = flags.server(
        host="h", kubelet_root="/r", feature_gates={}, runtime_config={}, foreign_components=["claim-controller"]
    )
    assert all(re.fullmatch(r"\S+", word) for word in words)
    assert not [word for word in words if "feature-gates" in word]
