"""Drivers of other people on the GPUs of a scenario's fake node: placeholders, mounts, and the preset for NVIDIA's."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from dra_conformance.components import fake_root
from dra_conformance.core import assets, driver_placeholders, isolation
from dra_conformance.core.component_spec import ComponentSpec
from dra_conformance.core.configuration import from_mapping
from dra_conformance.core.errors import ExitCode, SuiteError, UsageError
from dra_conformance.core.features import read_all
from dra_conformance.core.isolation import Isolation
from dra_conformance.core.options import RunOptions
from dra_conformance.core.rules import Catalogue, Version
from dra_conformance.engine import plan, preflight
from dra_conformance.engine.target import Target
from dra_conformance.pytest_plugin.dry_run import dry_run
from fake_nvml import Node, bind_files, pci_kernel

_UID = 61999
_TARGET = "/dra-conformance-test/below"  # neither directory exists
USER = Isolation(mode="user", uid=_UID)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start programs as other users")
PYTHON = f"{sys.executable} -m reference_impl kubelet-plugin --kubeconfig {{kubeconfig}} --node-name {{node}}"


@pytest.fixture
def folders() -> Iterator[tuple[Path, Path]]:
    """Return a source and an empty directory that other users can read: pytest's own are private."""
    with tempfile.TemporaryDirectory(prefix="dra-view-", dir="/tmp") as made:
        Path(made).chmod(0o755)
        source, view = Path(made, "source"), Path(made, "view")
        source.mkdir()
        view.mkdir()
        (source / "file").write_text("fake")
        yield source, view


def output(isolated: Isolation, script: str) -> str:
    done = subprocess.run(isolated.command(["/bin/sh", "-c", script]), check=False, capture_output=True, text=True)
    return done.stdout + done.stderr


# -- mounts ------------------------------------------------------------------------------------------------------------


@needs_root
@pytest.mark.parametrize("mode", [Isolation(), USER], ids=["not isolated", "another user"])
def test_a_program_sees_sources_at_their_targets(mode: Isolation, folders: tuple[Path, Path]) -> None:
    source, view = folders
    targets = [(source, Path("/sys")), (source / "file", Path("/proc/devices")), (source, Path(_TARGET))]
    shown = mode.with_mounts(targets, view=view)
    assert output(shown, f"cat /sys/file /proc/devices {_TARGET}/file; ls /usr >/dev/null && pwd") == (
        f"fakefakefake{os.getcwd()}\n"
    )
    assert not Path(_TARGET).exists()
    assert not Path("/sys/file").exists()


@needs_root
@pytest.mark.parametrize("mode", [Isolation(), USER], ids=["not isolated", "another user"])
def test_the_source_of_the_root_is_the_root_that_the_program_sees(mode: Isolation, folders: tuple[Path, Path]) -> None:
    source, view = folders
    shown = mode.with_mounts([(Path("/"), Path(_TARGET)), (source, Path("/sys"))], view=view)
    assert output(shown, f"cat {_TARGET}/sys/file; test -d {_TARGET}/usr && echo") == "fake\n"
    assert not Path(_TARGET).exists()


@needs_root
def test_other_entries_of_the_parent_of_a_missing_target_stay(folders: tuple[Path, Path]) -> None:
    source, view = folders
    (source / "parent").mkdir()
    (source / "parent" / "old").write_text("old")
    (source / "parent" / "link").symlink_to("old")
    shown = Isolation().with_mounts([(source / "file", source / "parent" / "new" / "file")], view=view)
    assert output(shown, f"cd {source}/parent; cat link new/file; ls") == "oldfakelink\nnew\nold\n"
    assert sorted(os.listdir(source / "parent")) == ["link", "old"]


@needs_root
def test_a_program_that_is_root_in_its_namespace_has_no_other_files(folders: tuple[Path, Path]) -> None:
    source, view = folders
    os.chown(source, _UID, _UID)
    shown = USER.with_mounts([(source, Path(_TARGET))], view=view, root=True)
    if not shown.root:
        # Some kernels permit user namespaces to root only; the driver keeps its user there, as `doctor` reports.
        pytest.skip("the kernel permits no user namespace")
    private = source.parent / "private"
    private.write_text("secret")
    private.chmod(0o600)
    script = f"id -u; mkdir {_TARGET}/m; mount -t tmpfs x {_TARGET}/m && touch {_TARGET}/m/a; umount {_TARGET}"
    said = output(shown, f"{script} 2>&1; cat {private}; cat /proc/{os.getpid()}/environ")
    assert said.startswith("0\n")
    assert "secret" not in said
    assert said.count("Permission denied") == 2
    assert not list((source / "m").iterdir()), "its mounts are its own"


@needs_root
def test_this_machine_can_show_a_program_other_files() -> None:
    assert isolation.no_mounts(USER) == isolation.no_mounts(Isolation()) == ""


@needs_root
def test_a_missing_source_ends_the_program(folders: tuple[Path, Path]) -> None:
    source, view = folders
    shown = Isolation().with_mounts([(source / "nothing", Path("/sys"))], view=view)
    assert "No such file" in output(shown, "echo started")


# -- the fake node -----------------------------------------------------------------------------------------------------


def test_a_driver_root_gets_what_programs_of_other_people_need() -> None:
    with Node.create("dgx-h100") as node:
        root = Path(node.driver_root)
        fake_root.complete(root)
        fake_root.complete(root)
        assert all((root / path).exists() for path in fake_root.SHOWN)
        assert os.access(root / "usr/bin/nvidia-smi", os.X_OK)
        assert list((root / "lib/modules").glob("*/modules.alias"))
        for device in (root / "sys/bus/pci/devices").iterdir():
            assert len((device / "resource").read_text().splitlines()) == 7


def test_a_fake_program_of_the_scenario_is_kept() -> None:
    with Node.create("dgx-h100") as node:
        smi = Path(node.driver_root) / "usr/bin/nvidia-smi"
        smi.parent.mkdir()
        smi.write_text("the scenario's")
        fake_root.complete(Path(node.driver_root))
        assert smi.read_text() == "the scenario's"


# Without them the harness offers no such files: the scenarios that need them are untestable then.
@pytest.mark.skipif(not bind_files.available(), reason="needs root and /dev/fuse")
@pytest.mark.parametrize("mode", [Isolation(), USER], ids=["not isolated", "another user"])
def test_writes_to_bind_and_unbind_take_effect_at_once(mode: Isolation, folders: tuple[Path, Path]) -> None:
    address, bus = "0000:53:00.0", "/sys/bus/pci"
    with Node.create("dgx-h100", folders[0] / "node") as node:
        root = Path(node.driver_root)
        pci_kernel.add_iommu(root)
        fake_root.complete(root)
        fake_root.give(mode, node.directory)
        mode.reach(node.directory, folders[0])
        with contextlib.closing(bind_files.BindFiles(root / "sys")) as served:
            files = [(one, Path("/sys") / path.relative_to(root / "sys")) for one, path in served.connections.items()]
            shown = mode.with_mounts(fake_root.shown_mounts(root), view=folders[1], root=True)
            script = f"""
                echo {address} > {bus}/drivers/vfio-pci/bind || echo refused
                echo {address} > {bus}/devices/{address}/driver/unbind
                ls {bus}/devices/{address}/driver 2>&1
                echo vfio-pci > {bus}/devices/{address}/driver_override
                echo {address} > {bus}/drivers/vfio-pci/bind
                readlink {bus}/devices/{address}/driver; ls /dev/vfio
            """
            isolated = shown.with_fuse(files, bind_files.OPTIONS)
            done = subprocess.run(
                isolated.command(["/bin/sh", "-c", script]),
                pass_fds=isolated.descriptors,
                check=True,
                capture_output=True,
                text=True,
            )
        refused, gone, link, *devices = done.stdout.splitlines()
        assert (refused, link.rpartition("/")[2], devices) == ("refused", "vfio-pci", ["0", "vfio"])
        assert "No such file" in gone
        assert done.stderr.count("error") == 1


# -- placeholders ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("driver", "words"),
    [
        ("exec:x", ["{driver_root}", "{flags}"]),
        ("exec:x {driver_root} {flags}", []),
        ("exec:x --root={driver_root}", ["{flags}"]),
        ("reference", []),
        ("nvidia", []),
    ],
)
def test_absent_placeholders(driver: str, words: list[str]) -> None:
    spec = ComponentSpec.parse("driver", driver)
    assert [one.word for one in driver_placeholders.absent(spec, "gpu.nvidia.com")] == words
    assert driver_placeholders.absent(spec, "gpu.example.com") == []


@pytest.mark.parametrize(
    ("driver", "problem", "status", "reason"),
    [
        ("exec:x {driver_root}", "", None, ""),
        ("exec:x {driver_root}", "no namespaces", "untestable", "no namespaces"),
        ("exec:x", "", "untestable", "the driver's command has no word {driver_root}"),
        ("socket:/s", "", "untestable", "the driver is socket"),
        ("reference", "", None, ""),
    ],
)
def test_a_driver_with_the_root_of_the_fake_node_is_judged(
    driver: str, problem: str, status: str | None, reason: str
) -> None:
    options = RunOptions(driver=driver, profile=("driver-gpu",))
    scenarios = [each for each in read_all([assets.features()]) if {"fake-nvml", "seen-nvml"} & set(each.tags.needs)]
    target = Target(kubernetes_version=Version.parse("1.36"), components=options.components(), no_driver_view=problem)
    made = plan.make(scenarios, Catalogue.load(), options, target)
    chosen = [each for each in made.decisions if each.scenario.name == "Devices match what NVML reports"]
    assert [(each.status and each.status.value) for each in chosen] == [status]
    assert reason in chosen[0].reason


def test_a_dry_run_counts_what_a_placeholder_gains() -> None:
    lines, _ = dry_run(RunOptions(driver="exec:/bin/sh {flags}", profile=("driver-gpu",)))
    assert lines[-2].startswith("the driver's command has no word {driver_root}: ")
    assert int(lines[-2].split()[7]) > 10
    assert not [line for line in lines if "no word {flags}:" in line]


@pytest.mark.parametrize("text", ["./templates", "a:b", ":/b", "a:"])
def test_a_mount_has_a_source_and_an_absolute_target(text: str) -> None:
    with pytest.raises(UsageError, match="must be SOURCE:TARGET"):
        from_mapping({"driver": "exec:x", "driver-mount": [text]}, where="options")


def test_a_mount_needs_a_program() -> None:
    with pytest.raises(UsageError, match="requires a driver that the run starts"):
        preflight.check(RunOptions(driver_mount=("a:/b",)))


def test_a_missing_source_is_reported_before_the_run(tmp_path: Path) -> None:
    options = RunOptions(driver="exec:/bin/sh", driver_mount=(f"{tmp_path}/nothing:/templates",))
    with pytest.raises(UsageError, match="nothing: no such file or directory"):
        preflight.check(options)


def test_a_missing_library_is_reported_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NVML_LIB", str(tmp_path))
    with pytest.raises(UsageError, match="needs the fake NVML"):
        preflight.check(RunOptions(driver="exec:/bin/sh {driver_root}"))


# -- the preset --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["v0.5.0", "v0.4.1"])
def test_a_preset_is_the_command_of_a_release(release: str) -> None:
    spec = ComponentSpec.parse("driver", f"nvidia:{release}")
    assert spec.kind == "exec"
    assert spec.command[0] == str(assets.third_party_programs() / f"nvidia-{release}/gpu-kubelet-plugin")
    assert ("--host-root" in spec.command) == (release == "v0.5.0")
    assert str(spec).startswith(f"nvidia:{release}")
    assert ("go-nvfm" in str(spec)) == (release == "v0.5.0"), "a program that is not built as published says so"


def test_the_default_release_is_the_newest() -> None:
    assert ComponentSpec.parse("driver", "nvidia") == ComponentSpec.parse("driver", "nvidia:v0.5.0")


def test_another_release_is_wrong_use() -> None:
    with pytest.raises(UsageError, match=r"unknown release of NVIDIA's driver 'v1' \(choose from v0.5.0, v0.4.1\)"):
        ComponentSpec.parse("driver", "nvidia:v1")


def test_a_preset_that_is_not_built_ends_with_the_build_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assets, "third_party_programs", lambda: tmp_path)
    with pytest.raises(SuiteError, match=r"--driver nvidia:v0.5.0: not built: there is no ") as raised:
        preflight.check(RunOptions(driver="nvidia"))
    assert raised.value.exit_code == ExitCode.USAGE
    assert "python -m verification build nvidia-driver-v0.5.0;" in raised.value.hint


# -- a run -------------------------------------------------------------------------------------------------------------


@needs_root
def test_a_program_is_judged_on_the_fake_node(tmp_path: Path) -> None:
    directories = "--kubelet-plugins-directory-path {plugins} --kubelet-registrar-directory-path {registrar}"
    # Its driver root is `/`: /proc/devices and /sys are those of the fake node, in its mount namespace.
    script = "ls /sys/bus/pci/devices/ | head -1; grep nvidia-caps /proc/devices; ls /shown"
    driver = f"{PYTHON} {directories} --cdi-root {{cdi}} --container-driver-root {{driver_root}}"
    command = f'exec:sh -c "{script}; exec {driver}"'
    words = ["run", "--driver", command, "--focus", "Devices match what NVML reports", "--progress", "none"]
    words += ["--report", "json"]
    # Not as another user, who may not be able to execute the Python of a virtual environment.
    words += ["--isolation", "off", "--driver-mount", f"{tmp_path}:/shown/below", "--out", str(tmp_path / "report")]
    environment = {**os.environ, "PYTHONPATH": str(assets.features().parent)}
    done = subprocess.run(
        [sys.executable, "-m", "dra_conformance", *words], env=environment, capture_output=True, text=True, check=False
    )
    report = orjson.loads((tmp_path / "report" / "report.json").read_bytes())
    (judged,) = [row for row in report["scenarios"] if row["status"] != "filtered"]
    assert judged["status"] == "passed", (judged["reason"], done.stdout, done.stderr)
    (log,) = (tmp_path / "report" / "logs").glob("driver-n1-*.log")
    assert log.read_text().splitlines()[:4] == [
        "0000:53:00.0",
        "509 nvidia-caps-imex-channels",
        "511 nvidia-caps",
        "below",
    ]


def test_a_program_with_the_folders_of_a_kubelet_built_in_is_judged(tmp_path: Path) -> None:
    """It announces the endpoint that it sees; the emulated kubelet calls the node's folder."""
    words = [sys.executable, "-m", "reference_impl", "inventory-plugin", "--inventory", "nic"]
    words += ["--driver-name", "nic.dra.test", "--kubeconfig", "{kubeconfig}", "--node-name", "{node}"]
    words += ["--kubelet-plugins-directory-path", "/var/lib/kubelet/plugins", "--cdi-root", "/var/run/cdi"]
    words += ["--kubelet-registrar-directory-path", "/var/lib/kubelet/plugins_registry"]
    places = {"plugins": "/var/lib/kubelet/plugins", "registrar": "/var/lib/kubelet/plugins_registry"}
    mounts = {**places, "cdi": "/var/run/cdi"}.items()
    more = [word for name, place in mounts for word in ("--driver-mount", f"{{{name}}}:{place}")]
    more += ["--driver-name", "nic.dra.test", "--isolation", "off", "--out", str(tmp_path / "report")]
    more += ["--report", "json"]
    more += ["--focus", "^driver/(registration#a-started|prepare#the-response-for-a-claim-has)"]
    command = [sys.executable, "-m", "dra_conformance", "run", "--driver", f"exec:{' '.join(words)}", *more]
    environment = {**os.environ, "PYTHONPATH": str(assets.features().parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    report = orjson.loads((tmp_path / "report" / "report.json").read_bytes())
    judged = [row["status"] for row in report["scenarios"] if row["status"] != "filtered"]
    assert judged == ["passed", "passed"], done.stdout + done.stderr
