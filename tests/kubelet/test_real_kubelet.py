"""A real kubelet that runs a container, reboots and leaves nothing; and what a killed harness leaves."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_api.client import KubeClient
from dra_api.objects import PODS
from dra_conformance.control_plane.binaries import BinariesControlPlane
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.events.log import EventLog
from dra_conformance.core.process import ManagedProcess
from dra_conformance.kubelet.errors import KubeletError
from dra_conformance.kubelet.real import cgroups, programs, requirements
from dra_conformance.kubelet.real.kubelet import RealKubelet
from dra_conformance.kubelet.real.namespace import NodeNamespace
from dra_conformance.kubelet.real.settings import DEVICE_PLUGINS
from dra_conformance.kubelet.record import silent

SETTINGS = ("/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/panic", "/proc/sys/kernel/panic_on_oops")


@pytest.fixture
def found() -> programs.NodePrograms:
    """The programs; where containers cannot run the test is skipped, with everything that lacks."""
    try:
        requirements.require("")
        return programs.find("")
    except TargetUnreachable as error:
        pytest.skip(error.message)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: sockets lie below it."""
    path = Path(tempfile.mkdtemp(prefix="dra-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def traces(folder: Path) -> dict[str, list[str]]:
    """What is left of a node below `folder`: processes, mounts, cgroups."""
    processes = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in words and path.parent.name != str(os.getpid()):
            processes.append(words)
    mounts = [each for each in Path("/proc/self/mounts").read_text().splitlines() if str(folder) in each]
    name = cgroups.name_for(folder / "n1")
    left = [str(each / name) for each in cgroups.mounted(Path("/proc/mounts").read_text()) if (each / name).exists()]
    return {"processes": processes, "mounts": mounts, "cgroups": left}


NOTHING: dict[str, list[str]] = {"processes": [], "mounts": [], "cgroups": []}


def test_a_node_runs_a_pod_reboots_and_leaves_nothing(found: programs.NodePrograms, folder: Path) -> None:
    before = [Path(path).read_text() for path in SETTINGS if Path(path).exists()]
    there = {path: path.exists() for path in map(Path, ("/var/lib/kubelet", "/run/containerd", "/var/log/containers"))}
    log = EventLog()
    with BinariesControlPlane(
        kubernetes_version=found.kubelet.removeprefix("v"), directory=folder / "api", logs=folder / "logs"
    ) as plane:
        client = KubeClient(plane.transport())
        kubelet = RealKubelet(
            found,
            client,
            kubeconfig=plane.kubeconfig_for("system:node:n1", ["system:nodes"]),
            node_name="n1",
            root=folder / "n1",
            logs=folder / "logs",
            log=silent,
            poke=log.poke,
            wait=log.wait_for,
        )
        try:
            kubelet.start()
            container = {"name": "main", "image": "registry.k8s.io/pause:3.10", "env": [{"name": "A", "value": "1"}]}
            pod = {
                "metadata": {"name": "p", "namespace": "default"},
                "spec": {"nodeName": "n1", "containers": [container]},
            }
            client.create(PODS, pod)
            view = kubelet.wait_running("default", "p", 60.0)["main"]
            assert view.env["A"] == "1"
            assert view.device_paths() == ()
            kubelet.reboot()
            assert log.wait_for(lambda: restarts(client) > 0, 60.0)
            assert [Path(path).read_text() for path in SETTINGS if Path(path).exists()] == before
        finally:
            kubelet.end()
    assert traces(folder) == NOTHING
    assert {path: path.exists() for path in there} == there


def restarts(client: KubeClient) -> int:
    statuses = client.get(PODS, "p", "default")["status"].get("containerStatuses") or ()
    return sum(int(status["restartCount"]) for status in statuses)


CHILD = """
    import os, signal, sys
    from pathlib import Path
    from dra_conformance.kubelet.real.cgroups import NodeCgroups, name_for
    from dra_conformance.kubelet.real.namespace import NodeNamespace
    from dra_conformance.core.process import ManagedProcess
    folder, init = Path(sys.argv[1]), Path(sys.argv[2])
    NodeCgroups(name_for(folder / "n1")).make()
    inside = NodeNamespace(init, keep=[folder], log=folder / "log")
    inside.start()
    inner = ManagedProcess("sleep", inside.command(["sh", "-c", f"sleep 600; : {folder}"]), log_path=folder / "log")
    inner.start()
    print("up", flush=True)
    signal.pause()
"""


def test_a_killed_harness_takes_its_nodes_along(found: programs.NodePrograms, folder: Path) -> None:
    words = [sys.executable, "-c", textwrap.dedent(CHILD), str(folder), str(found["dra-node"])]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "up\n"
        child.send_signal(signal.SIGKILL)
    log = EventLog()
    log.wait_for(lambda: not traces(folder)["processes"], 60.0)
    left = traces(folder)
    assert (left["processes"], left["mounts"]) == ([], [])
    shutil.rmtree(folder)
    cgroups.remove_abandoned(folder.parent)  # as the next node does
    assert traces(folder) == NOTHING


@pytest.mark.parametrize(
    "said", ["flag provided but not defined: -interface", "init: interface 2 is needed, this program has 1"]
)
def test_a_node_program_of_another_version_is_reported(found: programs.NodePrograms, folder: Path, said: str) -> None:
    other = folder / "dra-node"
    other.write_text(f"#!/bin/sh\necho '{said}'\nexit 1\n")
    other.chmod(0o755)
    with pytest.raises(KubeletError, match="dra-node is of another version"):
        NodeNamespace(other, keep=[folder], log=folder / "log").start()


def test_a_node_ends_at_once_although_this_process_adopts_its_programs(
    found: programs.NodePrograms, folder: Path
) -> None:
    inside = NodeNamespace(found["dra-node"], keep=[folder], log=folder / "log")
    inside.start()
    inner = ManagedProcess("sleep", inside.command(["sleep", "600"]), log_path=folder / "log")
    inner.start()
    # nsenter has started the program in the namespaces.
    children = Path(f"/proc/{inner.pid}/task/{inner.pid}/children")
    assert EventLog().wait_for(lambda: bool(children.read_text()), 20.0)
    inner.kill()
    began = time.monotonic()
    inside.end()
    assert time.monotonic() - began < 10.0  # else the time-out of 20 seconds


def test_a_folder_is_shown_at_a_path_that_a_program_has_built_in(found: programs.NodePrograms, folder: Path) -> None:
    shown = folder / "shown"
    shown.mkdir()
    inside = NodeNamespace(found["dra-node"], keep=[folder], binds={DEVICE_PLUGINS: shown}, log=folder / "log")
    inside.start()
    try:
        subprocess.run(inside.command(["touch", str(DEVICE_PLUGINS / "x")]), check=True)
        assert (inside.root / DEVICE_PLUGINS.relative_to("/") / "x").exists()
    finally:
        inside.end()
    assert (shown / "x").exists()
    assert not (DEVICE_PLUGINS / "x").exists()


def test_inside_the_machine_s_folders_are_hidden_but_for_those_that_are_kept(
    found: programs.NodePrograms, folder: Path
) -> None:
    inside = NodeNamespace(found["dra-node"], keep=[folder], log=folder / "log")
    inside.start()
    try:
        script = f"ls /var/lib | wc -l; cat /proc/sys/vm/overcommit_memory; ls -d {folder}; echo $$"
        done = subprocess.run(inside.command(["sh", "-c", script]), capture_output=True, text=True, check=True)
    finally:
        inside.end()
    hidden, overcommit, kept, pid = done.stdout.split()
    assert (hidden, overcommit, kept) == ("0", "1", str(folder))
    assert re.fullmatch(r"\d{1,2}", pid), "a PID namespace of its own"
