"""`--control-plane kind` with programs in the place of kind and Docker (`fake_kind`): no container is started.

`python -m verification kind` tries the same class with the real ones.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from dra_api.client import KubeClient
from dra_api.clock import AdvanceableClock, RealClock
from dra_api.objects import NAMESPACES
from dra_api.transport import HttpTransport
from dra_conformance.control_plane.base import NotOurs
from dra_conformance.control_plane.embedded import EmbeddedControlPlane
from dra_conformance.control_plane.kind import DEFAULT_IMAGE, KindControlPlane, configuration, requirements
from dra_conformance.control_plane.kind import programs as kind_programs
from dra_conformance.control_plane.kind.programs import advice, inotify_hint
from dra_conformance.core.configuration import from_mapping
from dra_conformance.core.errors import ExitCode, TargetUnreachable, UsageError
from dra_conformance.core.options import RunOptions
from dra_conformance.engine import control_planes
from dra_conformance.rbac import target_roles
from tests.control_plane import fake_kind

IMAGE = "example.test/node:v1.37.2"


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedControlPlane]:
    with tempfile.TemporaryDirectory(prefix="kind-") as folder:
        plane = EmbeddedControlPlane(kubernetes_version="1.37", directory=Path(folder), clock=RealClock(), seed=0)
        plane.start()
        try:
            yield plane
        finally:
            plane.stop()


@pytest.fixture
def programs(tmp_path: Path, server: EmbeddedControlPlane, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the fake programs, with their log and settings."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "kubeconfig").write_bytes(server.kubeconfig.read_bytes())
    for name in ("kind", "docker"):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} -I {fake_kind.__file__} {folder} {name} "$@"\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def plane_in(tmp_path: Path, **options: object) -> KindControlPlane:
    given = {"image": IMAGE, "directory": tmp_path / "kind", "logs": tmp_path / "logs", **options}
    return KindControlPlane(**given)  # type: ignore[arg-type]


def calls(programs: Path, program: str) -> list[list[str]]:
    lines = (programs / "calls").read_text().splitlines()
    return [words[1:] for words in map(json.loads, lines) if words[0] == program]


def calls_in_nodes(programs: Path) -> list[list[str]]:
    """Return the `docker exec` calls besides the wait for the nodes, which every start has."""
    return [words for words in calls(programs, "docker") if words[0] == "exec" and words[2:4] != ["kubectl", "wait"]]


def test_a_cluster_is_created_used_and_deleted_with_its_logs_and_its_network(tmp_path: Path, programs: Path) -> None:
    plane = plane_in(tmp_path)
    assert plane.version() == "v1.37.2"  # the image's tag, before anything runs
    plane.start()
    try:
        assert (programs / "cluster").read_text() == plane.cluster
        assert stat.S_IMODE(plane.kubeconfig.stat().st_mode) == 0o600
        assert KubeClient(plane.transport()).get(NAMESPACES, "default")["metadata"]["name"] == "default"
        user = target_roles.user_of("driver")
        assert stat.S_IMODE(plane.kubeconfig_for(user).stat().st_mode) == 0o600
        assert plane.known_as(user).startswith("system:serviceaccount:kube-system:")
    finally:
        plane.stop()
    plane.stop()
    assert not (programs / "cluster").exists()
    assert not (programs / "network").exists()
    assert not (tmp_path / "kind").exists()
    assert (tmp_path / "logs/kubelet.log").exists()
    assert calls(programs, "kind")[-1][:2] == ["delete", "cluster"]


def test_a_network_that_was_there_before_stays(tmp_path: Path, programs: Path) -> None:
    (programs / "network").touch()
    plane = plane_in(tmp_path)
    plane.start()
    plane.stop()
    assert (programs / "network").exists()


def test_a_network_is_removed_once_its_containers_are_detached(tmp_path: Path, programs: Path) -> None:
    plane = plane_in(tmp_path)
    plane.start()
    (programs / "attached").write_text(f"{plane.cluster}-worker\n" * 2)
    plane.stop()
    assert not (programs / "network").exists()


def test_a_network_that_another_cluster_uses_stays(tmp_path: Path, programs: Path) -> None:
    plane = plane_in(tmp_path)
    plane.start()
    (programs / "attached").write_text("other-control-plane\n" * 9)
    plane.stop()
    assert (programs / "network").exists()
    assert sum(words[:2] == ["network", "rm"] for words in calls(programs, "docker")) == 1


def test_the_user_s_kubeconfig_is_not_touched(tmp_path: Path, programs: Path) -> None:
    plane = plane_in(tmp_path)
    plane.start()
    plane.stop()
    for words in calls(programs, "kind"):
        if words[0] in ("create", "delete"):
            assert words[words.index("--kubeconfig") + 1] == str(plane.kubeconfig)


def test_two_runs_have_clusters_of_different_names(tmp_path: Path) -> None:
    assert plane_in(tmp_path).cluster != plane_in(tmp_path).cluster


def test_components_of_others_are_off_in_the_cluster(tmp_path: Path, programs: Path) -> None:
    plane = plane_in(tmp_path, foreign_components=["scheduler", "taint-eviction"])
    plane.start()
    plane.stop()
    (moved,) = calls_in_nodes(programs)
    assert moved[1:4] == [f"{plane.cluster}-control-plane", "mv", configuration.SCHEDULER_MANIFEST]
    patches = yaml.safe_load((programs / "config").read_text())["kubeadmConfigPatches"]
    arguments = yaml.safe_load(patches[0])["controllerManager"]["extraArgs"]
    (controllers,) = [row["value"] for row in arguments if row["name"] == "controllers"]
    assert controllers.startswith("*,")
    assert controllers.endswith(",-device-taint-eviction-controller")


@pytest.mark.parametrize(("reserve", "tainted"), [(True, 1), (False, 0)])
def test_pods_of_scenarios_are_kept_off_the_workers(
    tmp_path: Path, programs: Path, reserve: bool, tainted: int
) -> None:
    plane = plane_in(tmp_path, reserve_workers=reserve)
    plane.start()
    plane.stop()
    found = calls_in_nodes(programs)
    assert len(found) == tainted
    for words in found:
        assert words[1:5] == [f"{plane.cluster}-control-plane", "kubectl", "taint", "nodes"]
        assert words[-1].endswith(":NoSchedule")


def test_a_command_in_a_node_that_fails_ends_the_start(tmp_path: Path, programs: Path) -> None:
    (programs / "fail.docker.kubectl.taint").write_text("no such container")
    with pytest.raises(TargetUnreachable, match="no such container"):
        plane_in(tmp_path, reserve_workers=True).start()
    assert not (programs / "cluster").exists()


def test_the_configuration_has_gates_versions_and_nodes() -> None:
    text = configuration.cluster(
        image=IMAGE,
        workers=2,
        feature_gates={"DRADeviceTaints": False},
        runtime_config={"resource.k8s.io/v1beta1": False},
        foreign_components=(),
    )
    assert "&id" not in text
    document = yaml.safe_load(text)
    assert [(node["role"], node["image"]) for node in document["nodes"]] == [
        ("control-plane", IMAGE),
        ("worker", IMAGE),
        ("worker", IMAGE),
    ]
    assert document["featureGates"] == {"DRADeviceTaints": False}
    assert document["runtimeConfig"]["resource.k8s.io/v1beta1"] == "false"
    assert document["runtimeConfig"]["resource.k8s.io/v1beta2"] == "true"
    patched = {one["kind"]: one for one in map(yaml.safe_load, document["kubeadmConfigPatches"])}
    assert patched["KubeletConfiguration"]["failCgroupV1"] is False
    for program in ("controllerManager", "scheduler"):
        assert {"name": "feature-gates", "value": "DRADeviceTaints=false"} in patched["ClusterConfiguration"][program][
            "extraArgs"
        ]
        names = [row["name"] for row in patched["ClusterConfiguration"][program]["extraArgs"]]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("OCI runtime create failed: unable to apply caps: operation not permitted", "privileged"),
        ("write /var/lib/docker: no space left on device", "docker system df"),
        ("Bind for 127.0.0.1:40000 failed: port is already allocated", "start the run again"),
        ("failed to pull image: lookup registry: no such host", "--kind-image"),
        ("something else", "logs of its nodes"),
    ],
)
def test_a_cluster_that_is_not_created_is_reported_and_deleted(
    tmp_path: Path, programs: Path, said: str, hint: str
) -> None:
    (programs / "fail.kind.create").write_text(said)
    plane = plane_in(tmp_path)
    with pytest.raises(TargetUnreachable) as error:
        plane.start()
    assert said in error.value.message
    assert hint in error.value.hint
    assert error.value.exit_code == ExitCode.TARGET_UNREACHABLE
    assert calls(programs, "kind")[-1][:2] == ["delete", "cluster"]
    assert not (tmp_path / "kind").exists()


def test_nodes_that_do_not_become_ready_end_the_run(tmp_path: Path, programs: Path) -> None:
    (programs / "fail.docker.kubectl.wait").write_text("timed out waiting for the condition on nodes/kind-worker")
    with pytest.raises(TargetUnreachable, match="the nodes are not ready after 240 s"):
        plane_in(tmp_path).start()
    assert not (programs / "cluster").exists()


@pytest.mark.parametrize(("allowed", "hint"), [("128\n", "max_user_instances is 128"), ("512\n", ""), ("x", "")])
def test_few_inotify_instances_are_a_reason_why_nodes_are_not_ready(tmp_path: Path, allowed: str, hint: str) -> None:
    limit = tmp_path / "limit"
    limit.write_text(allowed)
    found = inotify_hint(limit)
    assert hint in found
    assert bool(found) == bool(hint)
    assert not inotify_hint(tmp_path / "missing")


@pytest.mark.parametrize(
    ("allowed", "free", "lacks"),
    [
        ("512", 9 * 2**30, []),
        ("128", 9 * 2**30, ["fs.inotify.max_user_instances is 128; kind recommends 512"]),
        ("512", 2**30, ["1 GiB free for Docker; image and cluster take up to 8 GiB"]),
        ("x", None, []),
    ],
)
def test_what_a_cluster_may_lack_is_found_before_it_starts(
    tmp_path: Path, allowed: str, free: int | None, lacks: list[str]
) -> None:
    limit = tmp_path / "limit"
    limit.write_text(allowed)
    found = advice("missing", limit=limit, free=lambda: free)
    assert [one.lacks for one in found if one.lacks] == lacks
    assert all(one.way_out for one in found)


MANIFEST = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: driver, namespace: gpus}
---
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}
  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: controller}}
"""


def test_images_and_manifests_of_the_user_are_in_the_cluster_before_the_run(tmp_path: Path, programs: Path) -> None:
    archive, folder = tmp_path / "driver.tar", tmp_path / "manifests"
    archive.write_bytes(b"image")
    folder.mkdir()
    (folder / "driver.yaml").write_text(MANIFEST)
    (folder / "README.md").write_text("no manifest")
    plane = plane_in(tmp_path, archives=[archive], manifests=[folder], reserve_workers=True)
    assert plane.name == f"kind ({IMAGE}, 3 nodes, manifests)"
    plane.start()
    plane.stop()
    assert ["load", "image-archive", str(archive), "--name", plane.cluster] in calls(programs, "kind")
    inside = [words[2:] for words in calls_in_nodes(programs)]
    assert [words[:4] for words in inside] == [
        ["kubectl", "apply", "--filename", "/kind/applied"],
        ["rm", "-rf", "/kind/applied"],
        ["kubectl", "rollout", "status", "daemonset/driver"],
        ["kubectl", "rollout", "status", "deployment/controller"],
        ["kubectl", "taint", "nodes", "--selector"],
    ]
    assert inside[2][4:6] == ["--namespace", "gpus"]
    assert inside[3][4:6] == ["--namespace", "default"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [", "not valid YAML"),
        ("a: 1", "has no kind"),
        (None, "cannot read"),
    ],
)
def test_manifests_are_read_before_a_cluster_is_made(
    tmp_path: Path, programs: Path, content: str | None, message: str
) -> None:
    file = tmp_path / "driver.yaml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError, match=message):
        plane_in(tmp_path, manifests=[file]).start()
    with pytest.raises(UsageError, match="no such file"):
        plane_in(tmp_path, archives=[tmp_path / "missing.tar"]).start()
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="the folder has no manifest"):
        plane_in(tmp_path, manifests=[tmp_path / "empty"]).start()
    assert not (programs / "calls").exists()


@pytest.mark.parametrize("failing", ["kind.load", "docker.cp", "docker.kubectl.apply"])
def test_contents_that_cannot_be_installed_end_the_start_without_a_cluster(
    tmp_path: Path, programs: Path, failing: str
) -> None:
    archive, file = tmp_path / "driver.tar", tmp_path / "driver.yaml"
    archive.write_bytes(b"image")
    file.write_text(MANIFEST)
    (programs / f"fail.{failing}").write_text("ImagePullBackOff")
    with pytest.raises(TargetUnreachable, match=r"(?s)--kind-(load|apply) .*ImagePullBackOff"):
        plane_in(tmp_path, archives=[archive], manifests=[file]).start()
    assert not (programs / "cluster").exists()


def test_a_component_of_manifests_may_be_the_cluster_s() -> None:
    words = {"control-plane": "kind", "driver": "cluster", "kubelet": "cluster"}
    options = from_mapping({**words, "kind-apply": ["driver.yaml"]}, where="test")
    assert options.component("driver").kind == "cluster"
    with pytest.raises(UsageError, match="the kind cluster has no driver") as caught:
        from_mapping(words, where="test")
    assert "--kind-apply" in (caught.value.hint or "")


def test_a_docker_that_runs_no_privileged_containers_is_found(programs: Path) -> None:
    def found() -> list[tuple[str, str]]:
        there = advice(IMAGE, free=lambda: None)
        return [(one.found, one.lacks) for one in there if one.name == "privileged containers"]

    assert found() == [("Docker runs them", "")]
    assert calls(programs, "docker")[-1][-3:] == ["--entrypoint", "/bin/true", IMAGE]
    (programs / "fail.docker.run").write_text("unable to apply caps: operation not permitted")
    assert found() == [("", "Docker runs none: unable to apply caps: operation not permitted")]
    (programs / "fail.docker.image").write_text("No such image")
    assert found() == []


def test_the_option_sets_the_number_of_workers(tmp_path: Path) -> None:
    options = RunOptions(control_plane="kind", kind_workers=3)
    plane = control_planes.make(options, work=lambda: tmp_path, logs=tmp_path, clock=AdvanceableClock(), seed=1)
    assert plane.name.endswith(", 4 nodes)")


def test_an_interrupted_start_deletes_the_cluster(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane = plane_in(tmp_path)

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(plane, "_check_server", interrupted)
    with pytest.raises(KeyboardInterrupt):
        plane.start()
    assert not (programs / "cluster").exists()


def test_a_deletion_that_does_not_end_in_time_is_repeated(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane = plane_in(tmp_path)
    plane.start()
    run, late = kind_programs.run, [["kind", "delete"], ["kind", "export"]]

    def run_late(words: Sequence[str], *, timeout: float) -> subprocess.CompletedProcess[str]:
        if list(words[:2]) in late:
            late.remove(list(words[:2]))
            raise TargetUnreachable("it did not end within 120 s")
        return run(words, timeout=timeout)

    monkeypatch.setattr(kind_programs, "run", run_late)
    plane.stop()
    assert not late
    assert not (programs / "cluster").exists()
    assert not (programs / "network").exists()


def test_a_cluster_that_is_not_deleted_is_named_with_the_command(tmp_path: Path, programs: Path) -> None:
    plane = plane_in(tmp_path)
    plane.start()
    (programs / "fail.kind.delete").write_text("the daemon is gone")
    with pytest.raises(TargetUnreachable) as error:
        plane.stop()
    assert error.value.hint == f"`kind delete cluster --name {plane.cluster}`"
    assert not (tmp_path / "kind").exists()


def test_another_release_than_the_tag_s_is_refused(tmp_path: Path, programs: Path) -> None:
    with pytest.raises(
        TargetUnreachable, match=r"node:v1\.35\.0 is Kubernetes v1\.37.*, not v1\.35\.0 as its tag says"
    ):
        plane_in(tmp_path, image="example.test/node:v1.35.0").start()
    assert not (programs / "cluster").exists()


def test_gates_that_the_server_does_not_have_are_refused(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = HttpTransport.request

    def with_metrics(self: HttpTransport, method: str, path: str, **options: Any) -> Any:
        if path == "/metrics":  # the emulation has none
            return SimpleNamespace(status=200, body=b'kubernetes_feature_enabled{name="DRAAdminAccess",stage=""} 0\n')
        return request(self, method, path, **options)

    monkeypatch.setattr(HttpTransport, "request", with_metrics)
    with pytest.raises(TargetUnreachable, match="does not have the gates that were planned for: DRAAdminAccess is off"):
        plane_in(tmp_path).start()
    assert not (programs / "cluster").exists()


def test_a_tag_without_a_release_is_wrong_use_before_anything_starts(tmp_path: Path, programs: Path) -> None:
    with pytest.raises(UsageError, match="--kind-image node:latest: the tag names no release"):
        plane_in(tmp_path, image="node:latest").start()
    assert not (programs / "calls").exists()


def test_its_programs_cannot_be_killed(tmp_path: Path) -> None:
    with pytest.raises(NotOurs):
        plane_in(tmp_path).kill("kube-apiserver")
    with pytest.raises(NotOurs):
        plane_in(tmp_path).restart("kube-apiserver")


@pytest.mark.parametrize("name", ["kind", "docker"])
def test_a_missing_program_is_reported_with_a_next_step(name: str, programs: Path) -> None:
    found = requirements(IMAGE, which=lambda program: None if program == name else program)
    (missing,) = [need for need in found if need.lacks]
    assert missing.lacks == f"the program {name} is not in PATH"
    assert missing.way_out


def test_a_docker_without_daemon_is_reported(programs: Path) -> None:
    (programs / "fail.docker.info").write_text("Cannot connect to the Docker daemon")
    assert requirements(IMAGE)[-1].lacks == "no Docker daemon answers: Cannot connect to the Docker daemon"


def test_an_image_that_only_a_checkout_makes_must_be_loaded(programs: Path) -> None:
    (programs / "fail.docker.image").write_text("No such image")
    assert requirements(IMAGE)[-1].lacks == f"Docker has no image {IMAGE}"
    assert "make images-node" in requirements(IMAGE)[-1].way_out
    assert not requirements(DEFAULT_IMAGE)[-1].lacks  # kind pulls its own
    assert not requirements("")[-1].lacks


def test_the_cluster_s_own_components_are_the_default() -> None:
    options = from_mapping({"control-plane": "kind"}, where="test")
    for name in ("scheduler", "claim-controller", "taint-eviction"):
        assert options.component(name).kind == "cluster"
    assert options.component("kubelet").kind == "reference"
    with pytest.raises(UsageError, match="--binder cluster: the kind cluster has no binder"):
        from_mapping({"control-plane": "kind", "binder": "cluster"}, where="test")


def test_a_message_of_kubeadm_has_no_stack() -> None:
    said = (
        "error: error execution phase kubelet-start: timed out\n"
        "github.com/spf13/cobra.(*Command).execute\n\tgithub.com/spf13/cobra@v1.10.1/command.go:1015\n"
        "main.main\n\tdra-conformance/kind_node/main.go:43\nruntime.goexit\n\truntime/asm_amd64.s:1771\n"
    )
    done = subprocess.CompletedProcess([], 1, "Creating cluster\n", said)
    assert kind_programs.last_lines(done) == "Creating cluster\nerror: error execution phase kubelet-start: timed out"


def test_without_a_display_the_command_says_why_no_cluster_was_created(tmp_path: Path, programs: Path) -> None:
    (programs / "fail.kind.create").write_text("ERROR: no space left on device\nStack Trace:\nmain.main\n main.go:1")
    words = ["run", "--control-plane", "kind", "--kind-image", IMAGE, "--rule", "DRA-001", "--progress", "none"]
    done = subprocess.run(
        [sys.executable, "-m", "dra_conformance", *words, "--out", str(tmp_path / "report")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == ExitCode.TARGET_UNREACHABLE
    assert done.stderr.splitlines()[0].startswith("error: --control-plane kind: the cluster was not created:")
    assert "ERROR: no space left on device" in done.stderr
    assert "Docker's disk is full" in done.stderr
    assert "main.go" not in done.stderr
    assert not done.stdout
