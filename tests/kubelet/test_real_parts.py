"""The parts of a node with a real kubelet, each without starting one."""

from __future__ import annotations

import hashlib
import io
import tarfile
import tomllib
from pathlib import Path
from typing import Any
from unittest import mock

import orjson
import pytest
from polling import wait_until

from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.events import KubeletEvent, KubeletRegistration
from dra_conformance.kubelet.errors import KubeletError
from dra_conformance.kubelet.real import (
    cgroups,
    container_probe,
    image,
    log_follower,
    numa,
    programs,
    requirements,
    settings,
)
from dra_conformance.kubelet.real.kubelet import RealKubelet
from dra_conformance.kubelet.record import silent
from dra_conformance.kubelet.topology import Topology

MOUNTS_1 = (
    "cgroup {root}/memory cgroup rw 0 0\ncgroup {root}/cpuset cgroup rw 0 0\ncgroup2 {root}/unified cgroup2 rw 0 0\n"
)
MOUNTS_2 = "proc /proc proc rw 0 0\ncgroup2 {root} cgroup2 rw 0 0\n"


def pretend(folder: Path, name: str, said: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{said}'\n")
    path.chmod(0o755)


def all_of_them(folder: Path, *, kubelet: str = "Kubernetes v1.36.2", containerd: str = "containerd x v2.3.7") -> Path:
    for name in programs.NEEDED:
        pretend(folder, name, {"kubelet": kubelet, "containerd": containerd}.get(name, ""))
    return folder


# -- programs and needs ------------------------------------------------------------------------------------------------


def find(folder: Path, release: str = "v1.36.2") -> programs.NodePrograms:
    environ = {"PATH": "", "HOME": str(folder), "XDG_CACHE_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    return programs.find(release, bin_dir=str(folder), environ=environ)


def test_the_programs_are_those_of_the_folder_that_was_named(tmp_path: Path) -> None:
    found = find(all_of_them(tmp_path))
    assert {path.parent for path in found.paths.values()} == {tmp_path}
    assert (found.kubelet, found.containerd, found.seccomp) == ("v1.36.2", "v2.3.7", False)


def test_paths_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node has its own mount namespace, in which programs start in another working directory."""
    monkeypatch.setattr("dra_conformance.control_plane.binaries.programs.assets.features", lambda: tmp_path / "x" / "f")
    all_of_them(tmp_path / "named")
    (tmp_path / "named" / "runc").rename(tmp_path / "runc")
    monkeypatch.chdir(tmp_path)
    environ = {"PATH": ".", "HOME": "home", "XDG_CACHE_HOME": "home", "XDG_DATA_HOME": "home"}
    found = programs.find("v1.36.2", bin_dir="named", environ=environ)
    assert found["kubelet"] == tmp_path / "named" / "kubelet"
    assert found["runc"] == tmp_path / "runc"


def test_runc_with_and_without_seccomp_are_distinguished(tmp_path: Path) -> None:
    all_of_them(tmp_path)
    pretend(tmp_path, "runc", "runc version 1.5.2\nlibseccomp: 2.5.5")
    assert find(tmp_path).seccomp is True


def test_what_is_there_in_the_wrong_release_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dra_conformance.control_plane.binaries.programs.assets.features", lambda: tmp_path / "x" / "f")
    all_of_them(tmp_path, kubelet="Kubernetes v1.35.0", containerd="containerd x 1.7.27")
    with pytest.raises(TargetUnreachable) as caught:
        find(tmp_path)
    assert "not found: kubelet v1.36.2, containerd 2.x (" in caught.value.message
    assert "kubelet is v1.35.0" in caught.value.message
    assert "containerd is v1.7.27" in caught.value.message
    assert "control-plane install" in caught.value.hint


def machine(root: Path, *, mounts: str = MOUNTS_1, capabilities: str = "1ffffffffff") -> Path:
    """A machine on which containers run."""
    cgroup = root / "sys/fs/cgroup"
    for folder in ("cpu", "cpuset", "memory", "pids"):
        (cgroup / folder).mkdir(parents=True)
    (root / "proc/self/ns").mkdir(parents=True)
    for name in ("mnt", "pid", "net", "ipc", "uts"):
        (root / "proc/self/ns" / name).touch()
    (root / "proc/self/status").write_text(f"CapEff:\t{capabilities}\n")
    (root / "proc/filesystems").write_text("nodev\toverlay\n")
    if mounts == MOUNTS_1:
        lines = [f"cgroup /sys/fs/cgroup/{name} cgroup rw 0 0" for name in ("cpu", "cpuset", "memory", "pids")]
        (root / "proc/mounts").write_text("\n".join(lines) + "\n")
    else:
        (root / "proc/mounts").write_text("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
        (cgroup / "cgroup.controllers").write_text("cpuset cpu memory pids\n")
    return root


@pytest.mark.parametrize("mounts", [MOUNTS_1, MOUNTS_2])
def test_a_machine_that_has_it_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mounts: str) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    found = list(requirements.look(root=machine(tmp_path, mounts=mounts), which=lambda name: f"/bin/{name}"))
    assert {need.name: need.lacks for need in found if need.lacks} == {}


def test_all_missing_programs_are_reported_in_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = machine(tmp_path, capabilities="0")
    (root / "proc/filesystems").write_text("nodev\ttmpfs\n")
    (root / "proc/mounts").write_text("cgroup /sys/fs/cgroup/cpu cgroup rw 0 0\n")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    found = list(requirements.look(root=root, which=lambda name: None))
    monkeypatch.setattr(requirements, "look", lambda: found)
    monkeypatch.setattr(
        programs, "find", lambda *_args, **_named: (_ for _ in ()).throw(TargetUnreachable("not found: runc", hint="x"))
    )
    with pytest.raises(TargetUnreachable) as caught:
        requirements.require("v1.36.2")
    told = caught.value.message
    assert told.startswith("--kubelet kubelet: this machine cannot run containers: ")
    for part in ("without SYS_ADMIN, NET_ADMIN", "v1 without cpuset, memory, pids", "overlayfs", "no unshare", "runc"):
        assert part in told
    assert "\n" not in told


def test_missing_root_rights_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    (first, *_) = requirements.look(root=machine(tmp_path))
    assert first.lacks == "a kubelet runs as root"


# -- cgroups -----------------------------------------------------------------------------------------------------------


def hierarchies(tmp_path: Path) -> tuple[Path, str]:
    root = tmp_path / "cgroup"
    for name in ("memory", "cpuset", "unified"):
        (root / name).mkdir(parents=True)
    (root / "cpuset" / "cpuset.cpus").write_text("0-1\n")
    return root, MOUNTS_1.format(root=root)


def test_of_mixed_versions_the_first_is_used_and_both_are_left_clean(tmp_path: Path) -> None:
    root, mounts = hierarchies(tmp_path)
    made = cgroups.NodeCgroups("dra-x", mounts=mounts)
    made.make()
    assert sorted(path.parent.name for path in root.glob("*/dra-x")) == ["cpuset", "memory"]
    (root / "memory/dra-x/kubepods/pod1").mkdir(parents=True)
    (root / "unified/dra-x/kubepods").mkdir(parents=True)  # runc's doing
    assert made.remove() == []
    assert not list(root.glob("*/dra-x"))


def test_version_2_is_used_where_it_stands_alone() -> None:
    assert cgroups.hierarchies(MOUNTS_2.format(root="/sys/fs/cgroup")) == [Path("/sys/fs/cgroup")]


def test_cgroups_that_are_still_held_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, mounts = hierarchies(tmp_path)
    monkeypatch.setattr(cgroups, "_REMOVE_TIMEOUT", 0.05)
    made = cgroups.NodeCgroups("dra-x", mounts=mounts)
    made.make()
    (root / "memory/dra-x/tasks").touch()  # stands for a process: rmdir refuses
    assert made.remove() == [str(root / "memory/dra-x")]


def test_only_cgroups_of_runs_whose_folder_is_gone_are_abandoned(tmp_path: Path) -> None:
    root, mounts = hierarchies(tmp_path)
    runs = tmp_path / "runs"
    (runs / "dra-alive").mkdir(parents=True)
    names = [cgroups.name_for(runs / run / "n1") for run in ("dra-alive", "dra-dead")]
    names.append(cgroups.name_for(tmp_path / "elsewhere" / "dra-dead" / "n1"))
    for name in [*names, "kubepods"]:
        (root / "memory" / name).mkdir()
    assert cgroups.remove_abandoned(runs, mounts=mounts) == [root / "memory" / names[1]]
    assert sorted(path.name for path in (root / "memory").iterdir()) == sorted([names[0], names[2], "kubepods"])


# -- files -------------------------------------------------------------------------------------------------------------


def test_containerd_s_configuration_is_toml_and_keeps_to_the_node_s_folders(tmp_path: Path) -> None:
    layout = settings.Layout(tmp_path, (tmp_path / "cdi",))
    read: Any = tomllib.loads(settings.containerd(layout, runc=tmp_path / "runc"))
    assert read["version"] == 3
    assert (read["root"], read["state"]) == (str(tmp_path / "containerd"), "/run/containerd")
    runtime = read["plugins"]["io.containerd.cri.v1.runtime"]
    assert runtime["cdi_spec_dirs"] == [str(tmp_path / "cdi")]
    assert runtime["containerd"]["runtimes"]["runc"]["options"]["BinaryName"] == str(tmp_path / "runc")
    assert read["plugins"]["io.containerd.cri.v1.images"]["pinned_images"]["sandbox"] == image.SANDBOX_IMAGE


def test_a_kubelet_opens_no_port_and_takes_the_run_s_gates(tmp_path: Path) -> None:
    layout = settings.Layout(tmp_path, (tmp_path / "cdi",))
    written = settings.kubelet(layout, cgroup_root="/x", feature_gates={"DRAThing": True})
    assert (written["enableServer"], written["healthzPort"], written["featureGates"]) == (False, 0, {"DRAThing": True})
    flags = settings.kubelet_flags(layout, node="n1", kubeconfig=tmp_path / "k")
    assert "--hostname-override=n1" in flags
    assert f"--root-dir={tmp_path}" in flags


def test_a_kubelet_takes_the_settings_of_the_topology_manager(tmp_path: Path) -> None:
    layout = settings.Layout(tmp_path, (tmp_path / "cdi",))
    aligned = Topology(policy="restricted", scope="pod", options={"prefer-closest-numa-nodes": "true"})
    written = settings.kubelet(layout, cgroup_root="/x", topology=aligned)
    assert written["topologyManagerPolicy"] == "restricted"
    assert written["topologyManagerScope"] == "pod"
    assert written["topologyManagerPolicyOptions"] == {"prefer-closest-numa-nodes": "true"}
    assert not any("topology" in name for name in settings.kubelet(layout, cgroup_root="/x", topology=Topology()))


def test_numa_nodes_are_written_as_the_kernel_shows_them(tmp_path: Path) -> None:
    for cpu in ("cpu0", "cpu1", "cpufreq"):
        (tmp_path / "cpu" / cpu).mkdir(parents=True)
    distances = {0: (10, 40, 30), 1: (40, 10, 20), 2: (30, 20, 10)}
    for topology in [Topology(policy="restricted", numa_nodes=(0, 1, 2), distances=distances)] * 2:  # after a reboot
        numa.write(tmp_path / "node", topology, cpus=tmp_path / "cpu")
    assert sorted(path.name for path in (tmp_path / "node").iterdir()) == ["node0", "node1", "node2"]
    assert (tmp_path / "node/node1/distance").read_text() == "40 10 20\n"
    assert "MemTotal: " in (tmp_path / "node/node2/meminfo").read_text()
    assert sorted(path.name for path in (tmp_path / "node").glob("node*/cpu*")) == ["cpu0", "cpu1"]
    numa.write(tmp_path / "other", Topology(policy="restricted", numa_nodes=(0, 1)), cpus=tmp_path / "cpu")
    assert (tmp_path / "other/node1/distance").read_text() == "20 10\n"


def test_the_image_is_an_oci_layout_whose_digests_are_true(tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(b"\x7fELF...")
    image.write_archive(tmp_path / "program", tmp_path / "image.tar")
    with tarfile.open(tmp_path / "image.tar") as archive:
        files = {name: archive.extractfile(name).read() for name in archive.getnames()}  # type: ignore[union-attr]
    index = orjson.loads(files["index.json"])
    assert [each["annotations"]["io.containerd.image.name"] for each in index["manifests"]] == [
        image.POD_IMAGE,
        image.SANDBOX_IMAGE,
    ]
    for name, blob in files.items():
        if name.startswith("blobs/"):
            assert name == f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}"
    manifest = orjson.loads(files[f"blobs/sha256/{index['manifests'][0]['digest'][7:]}"])
    layer = files[f"blobs/sha256/{manifest['layers'][0]['digest'][7:]}"]
    with tarfile.open(fileobj=io.BytesIO(layer)) as inside:
        (member,) = inside.getmembers()
    assert (member.name, member.mode) == ("dra-node", 0o755)


# -- what kubelet and containers tell ----------------------------------------------------------------------------------


def line(message: str, **more: object) -> bytes:
    return orjson.dumps({"ts": 1.0, "msg": message, **more}) + b"\n"


def follow(path: Path, *parts: bytes) -> tuple[log_follower.LogFollower, list[KubeletEvent]]:
    """Return a log follower that has read `parts`, written one after the other, and the events that it recorded."""
    records: list[KubeletEvent] = []
    made = log_follower.LogFollower(path, record=records.append, poke=lambda: None)
    for part in parts:
        with path.open("ab") as file:
            file.write(part)
        made._read()
    return made, records


def test_plugins_come_and_go_as_the_log_says(tmp_path: Path) -> None:
    first = line(log_follower.REGISTERED, driverName="d", endpoint="/1", chosenService="v1.DRAPlugin")
    second = line(log_follower.REGISTERED, driverName="d", endpoint="/2", chosenService="v1beta1.DRAPlugin")
    gone = line(log_follower.UNREGISTERED, driverName="d", endpoint="/1")
    made, records = follow(tmp_path / "log", first, second[:20], second[20:], gone, first)
    assert [(plugin.endpoint, plugin.service) for plugin in made.plugins("d")] == [
        ("/2", "v1beta1.DRAPlugin"),
        ("/1", "v1.DRAPlugin"),
    ]
    assert [event.step for event in records if isinstance(event, KubeletRegistration)] == [
        "registered",
        "registered",
        "removed",
        "registered",
    ]
    assert made.plugins("other") == []


def test_a_plugin_that_comes_back_is_another_one(tmp_path: Path) -> None:
    came = line(log_follower.REGISTERED, driverName="d", endpoint="/1", chosenService="v1.DRAPlugin")
    gone = line(log_follower.UNREGISTERED, driverName="d", endpoint="/1")
    path = tmp_path / "log"
    made, _ = follow(path, came)
    (before,) = made.plugins()
    with path.open("ab") as file:
        file.write(gone + came)
    made._read()
    (after,) = made.plugins()
    assert before != after


def test_what_an_earlier_life_said_is_not_read_again(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(
        line(log_follower.REGISTERED, driverName="old", endpoint="/1", chosenService="v1.DRAPlugin")
    )
    made, _ = follow(tmp_path / "log", b"not json\n", line("Starting Kubelet Plugin Manager"))
    assert made.plugins() == []
    assert made.serves


def cri(text: str, *, stream: str = "stdout", tag: str = "F") -> str:
    return f"2026-01-01T00:00:00Z {stream} {tag} {text}\n"


SIGHT = {
    "sight": "container",
    "env": {"A": "1", "GIVEN": "yes"},
    "devices": [
        {"path": "/dev/x", "type": "c", "major": 1, "minor": 3, "mode": 438, "uid": 0, "gid": 0, "allowed": True},
        {"path": "/dev/shut", "type": "c", "major": 9, "minor": 9, "mode": 438, "uid": 0, "gid": 0, "allowed": False},
    ],
    "mounts": [{"path": "/given", "source": "/host", "type": "ext4", "options": ["ro"]}],
    "groups": [0],
}


def test_the_last_life_of_a_container_counts(tmp_path: Path) -> None:
    folder = tmp_path / "ns_pod_uid" / "main"
    folder.mkdir(parents=True)
    (folder / "2.log").write_text(cri("noise") + cri(orjson.dumps({**SIGHT, "env": {"A": "2"}}).decode()))
    (folder / "10.log").write_text(cri(orjson.dumps(SIGHT).decode()))
    seen = container_probe.read(tmp_path, namespace="ns", pod="pod", uid="uid", container="main")
    assert seen["env"]["A"] == "1"
    with pytest.raises(KubeletError, match="has printed nothing yet"):
        container_probe.read(tmp_path, namespace="ns", pod="pod", uid="other", container="main")


def test_a_device_is_given_when_all_that_it_would_edit_is_seen(tmp_path: Path) -> None:
    edits = {
        "given": {"env": ["GIVEN=yes"], "deviceNodes": [{"path": "/dev/x"}], "mounts": [mount("/given")]},
        "half": {"env": ["GIVEN=yes", "OTHER=yes"]},
        "shut": {"deviceNodes": [{"path": "/dev/shut"}]},
        "elsewhere": {"mounts": [mount("/elsewhere")]},
    }
    devices = [{"name": name, "containerEdits": one} for name, one in edits.items()]
    (tmp_path / "x.json").write_bytes(orjson.dumps({"cdiVersion": "0.5.0", "kind": "v/c", "devices": devices}))
    view = container_probe.view(SIGHT, [tmp_path])
    assert view.cdi_devices == ("v/c=given",)
    assert view.env["A"] == "1"
    assert {node.path: node.permissions for node in view.device_nodes} == {"/dev/x": "rw", "/dev/shut": ""}


def test_sources_and_options_of_mounts_and_annotations_are_read_from_the_configuration(tmp_path: Path) -> None:
    cri = "io.kubernetes.cri"
    annotations = {f"{cri}.container-name": "main", f"{cri}.sandbox-uid": "u", "dra.test/gpu": "gpu-0"}
    configs = {
        "main": {
            "annotations": annotations,
            "mounts": [{"destination": "/given", "source": "/var/lib/x", "options": ["ro", "bind"]}],
        },
        "sandbox": {"annotations": {f"{cri}.sandbox-uid": "u"}},
    }
    for name, config in configs.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_bytes(orjson.dumps(config))
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "config.json").write_bytes(b"{")
    (found,) = container_probe.bundles(tmp_path)
    assert (found.id, found.pod_uid, found.container) == ("main", "u", "main")
    view = container_probe.view(SIGHT, [], found)
    assert [(one.container_path, one.host_path) for one in view.mounts] == [("/given", "/var/lib/x")]
    assert view.mounts[0].options == ("ro", "bind")
    assert view.annotations == {"dra.test/gpu": "gpu-0"}
    # A container that has ended has no configuration.
    assert container_probe.view(SIGHT, []).mounts[0].host_path == "/host"


def test_what_every_container_has_is_left_out() -> None:
    (device, _), (given,) = SIGHT["devices"], SIGHT["mounts"]  # type: ignore[misc]
    own = [{**device, "path": path} for path in ("/dev/null", "/dev/pts/0", "/dev/x")]  # type: ignore[dict-item]
    mounts = [{**given, "path": path} for path in ("/", "/proc/acpi", "/etc/hosts", "/dev/pts", "/given")]  # type: ignore[dict-item]
    view = container_probe.view({**SIGHT, "devices": own, "mounts": mounts}, [])
    assert view.device_paths() == ("/dev/x",)
    assert [one.container_path for one in view.mounts] == ["/given"]


def mount(place: str) -> dict[str, str]:
    return {"containerPath": place, "hostPath": "/host"}


# -- the environment of the programs -----------------------------------------------------------------------------------


def without_namespace(words: list[str]) -> list[str]:
    return words


def test_kubelet_and_containerd_get_no_secret_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_of_them(tmp_path / "bin")
    versions = {"kubelet": "Kubernetes v1.36.2", "containerd": "containerd x v2.3.7"}
    for name, version in versions.items():
        (tmp_path / "bin" / name).write_text(f'#!/bin/sh\n[ "$1" = --version ] || exec env\necho {version}\n')
    found = find(tmp_path / "bin")
    for name in ("AWS_SECRET_ACCESS_KEY", "WANTED"):
        monkeypatch.setenv(name, "hunter2")
    (tmp_path / "logs").mkdir()
    node: Any = RealKubelet(
        found,
        mock.Mock(),
        kubeconfig=tmp_path / "kubeconfig",
        node_name="n",
        root=tmp_path / "n",
        logs=tmp_path / "logs",
        log=silent,
        poke=lambda: None,
        wait=lambda look, _seconds: wait_until(look) is None,
        pass_env=["WANTED"],
    )
    (tmp_path / "n").mkdir()
    node._namespace = mock.Mock(command=without_namespace)
    with pytest.raises(KubeletError, match="ended with exit code 0"):
        node._launch()
    node._follower.stop()
    with pytest.raises(KubeletError, match="does not serve"):
        node._containerd.start(node._namespace)
    for name in ("kubelet", "containerd"):
        variables = dict(
            line.split("=", 1) for line in (tmp_path / "logs" / f"{name}-n.log").read_text().splitlines() if "=" in line
        )
        assert "PATH" in variables
        assert [key for key, value in variables.items() if value == "hunter2"] == ["WANTED"]
