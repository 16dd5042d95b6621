"""Tests of an externally started driver on a served control plane: judged, and left running."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest
from command_line import CommandLine
from polling import wait_until

import fake_nvml
from dra_api.client import KubeClient
from dra_api.objects import NAMESPACES, NODES, RESOURCE_SLICES, name_of, uid_of
from dra_api.transport import HttpTransport
from dra_conformance.components import external_driver
from dra_conformance.core.errors import ExitCode, TargetUnreachable

DRIVER = "gpu.nvidia.com"


@contextmanager
def served(cli: CommandLine, *more: str) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    folder = cli.temp / "s"
    process = cli.start("control-plane", "serve", "--dir", str(folder), "--driver-name", DRIVER, *more)
    try:
        assert process.stdout is not None
        assert any(line.startswith("Ctrl-C") for line in process.stdout)
        yield folder, process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The reference driver, in a process that the suite knows nothing of."""
    node = fake_nvml.Node.create(fake_nvml.Inventory.load("dgx-h100"), folder / "nvml")
    command = [
        *(sys.executable, "-m", "reference_impl", "kubelet-plugin", "--until-stdin-closes"),
        f"--kubeconfig={folder / 'driver.kubeconfig'}",
        "--node-name=n1",
        f"--kubelet-plugins-directory-path={folder / 'plugins'}",
        f"--kubelet-registrar-directory-path={folder / 'plugins_registry'}",
        f"--cdi-root={folder / 'cdi'}",
        f"--container-driver-root={node.driver_root}",
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **node.env()}
    ) as process:
        try:
            assert process.stdout is not None
            assert b"ready" in process.stdout.readline()
            yield process
        finally:
            process.terminate()
            process.communicate()
            node.close()


def judge(cli: CommandLine, folder: Path, *more: str) -> tuple[int, dict[str, object]]:
    options = [
        *("--control-plane", f"kubeconfig:{folder / 'kubeconfig'}"),
        *("--driver", f"socket:{folder / 'plugins_registry' / f'{DRIVER}-reg.sock'}"),
        *("--profile", "driver-core", "--patience", "20", "--progress", "none"),
    ]
    process = cli.start("run", *options, *more)
    out, err = process.communicate(timeout=200)
    assert "Traceback" not in out + err
    return process.returncode, orjson.loads((cli.folder / "dra-report" / "report.json").read_bytes())


def test_a_running_driver_is_judged_and_left_as_it_was(cli: CommandLine) -> None:
    with served(cli) as (folder, plane):
        assert stat.S_IMODE((folder / "kubeconfig").stat().st_mode) == 0o600
        transport = HttpTransport.from_kubeconfig(folder / "kubeconfig")
        client = KubeClient(transport)
        with running(folder) as driver:
            wait_until(lambda: bool(client.list(RESOURCE_SLICES).items))
            before = {uid_of(obj) for obj in client.list(RESOURCE_SLICES).items}
            specs = set((folder / "cdi").iterdir())
            for _ in range(2):  # the second run finds what the first one found
                code, report = judge(cli, folder, "--focus", "^driver/(registration|unprepare|restarts)")
                # The run cannot restart a driver that it did not start, so the rules about restarts are untestable.
                assert code == ExitCode.FAILURES
                statuses = {row["status"] for row in report["scenarios"]}  # type: ignore[attr-defined]
                assert statuses == {"passed", "filtered", "untestable", "not-supported"}
                assert report["evidenceClass"] == "rehearsal", "an emulation is one wherever it is served"
                assert driver.poll() is None
                assert {uid_of(obj) for obj in client.list(RESOURCE_SLICES).items} == before
                assert set((folder / "cdi").iterdir()) == specs, "every claim was unprepared"
                assert [name_of(obj) for obj in client.list(NODES).items] == ["n1"]
                assert not [obj for obj in client.list(NAMESPACES).items if name_of(obj).startswith("dra-")]
        transport.close()
        plane.send_signal(signal.SIGINT)
        assert plane.wait(30) == ExitCode.OK
        assert not (folder / "kubeconfig").exists()
        assert not (folder / "control-plane").exists()


def test_one_version_can_be_served(cli: CommandLine) -> None:
    only = "resource.k8s.io/v1=false,resource.k8s.io/v1beta2=false,resource.k8s.io/v1alpha3=false"
    with served(cli, "--runtime-config", only) as (folder, _):
        transport = HttpTransport.from_kubeconfig(folder / "kubeconfig")
        assert KubeClient(transport).served("resource.k8s.io") == ["v1beta1"]
        transport.close()


def test_a_folder_that_is_too_long_or_taken_is_named(cli: CommandLine) -> None:
    code, _, err = cli.run("control-plane", "serve", "--dir", str(cli.temp / ("x" * 100)))
    assert code == ExitCode.USAGE
    assert "too long for a Unix socket" in err
    with served(cli) as (folder, _):
        second = cli.start("control-plane", "serve", "--dir", str(folder))
        assert "a control plane is served there" in second.communicate(timeout=60)[1]
        assert second.returncode == ExitCode.USAGE
        assert (folder / "kubeconfig").exists(), "the first one's"


def test_a_socket_needs_the_api_server_that_its_driver_talks_to(cli: CommandLine) -> None:
    import socket

    path = cli.temp / "x.sock"
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
        code = cli.start("run", "--driver", f"socket:{path}")
        _, err = code.communicate(timeout=60)
        assert code.returncode == ExitCode.USAGE
        assert "--control-plane kubeconfig:FILE" in err


def test_one_driver_does_not_serve_several_workers(cli: CommandLine) -> None:
    import socket

    path = cli.temp / "x.sock"
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
        kubeconfig = cli.folder / "kubeconfig"
        kubeconfig.write_text("{}")
        plane = f"kubeconfig:{kubeconfig}"
        process = cli.start("run", "--control-plane", plane, "--driver", f"socket:{path}", "-n", "2")
        assert "a running driver cannot serve several workers" in process.communicate(timeout=60)[1]
        assert process.returncode == ExitCode.USAGE


# -- where a running driver is -----------------------------------------------------------------------------------------


def slice_for(node: str, driver: str = "d") -> dict[str, object]:
    return {"spec": {"driver": driver, "nodeName": node}}


@pytest.fixture
def path(cli: CommandLine) -> Iterator[str]:
    import socket

    folder = cli.temp / "reg"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / "d.sock"))
        yield str(folder / "d.sock")


def test_the_node_comes_from_the_slices_or_from_the_option(cli: CommandLine, path: str) -> None:
    (cli.temp / "cdi").mkdir()
    found = external_driver.find(path, [slice_for("a"), slice_for("b", "other"), slice_for("a")], driver="d")
    assert (found.node, found.registrar, found.cdi_roots) == ("a", cli.temp / "reg", (cli.temp / "cdi",))
    assert external_driver.find(path, [], driver="d", node_name="n", cdi_root=str(cli.temp)).cdi_roots == (cli.temp,)


def test_an_ambiguous_node_needs_an_option(path: str) -> None:
    with pytest.raises(TargetUnreachable, match="no ResourceSlice with a nodeName"):
        external_driver.find(path, [slice_for("a", "other")], driver="d", cdi_root=str(Path(path).parent))
    with pytest.raises(TargetUnreachable, match="publishes for the nodes a, b"):
        external_driver.find(path, [slice_for("a"), slice_for("b")], driver="d", cdi_root=str(Path(path).parent))
    with pytest.raises(TargetUnreachable, match="no such directory"):
        external_driver.find(path, [slice_for("a")], driver="d", cdi_root="/nowhere")
