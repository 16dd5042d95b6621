"""Inventories and the command: errors with their location and advice."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import fake_nvml
from fake_nvml import inventory as inventories
from fake_nvml.cli import main
from fake_nvml.layout import RING_SIZE, Event, Gpu, State

Make = Callable[..., fake_nvml.Node]

HEAD = 'driver_version: "580.105.08"\ncuda_version: "13.0"\ngpus:\n'
GPU = '  - {board: h100-sxm5-80gb, bus: "00000000:53:00.0"%s}\n'
SAME = "GPU-00000000-0000-0000-0000-000000000001"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + GPU % ", colour: red", r"bad\.yaml:4: gpus\[0\]\.colour: unknown key"),
        (HEAD + GPU % ", seriel: x", r"Did you mean 'serial'"),
        (HEAD + GPU % ", values: {temprature_gpu: 3}", r"Did you mean 'temperature_gpu'"),
        (HEAD + GPU % ", values: {memory_total: -1}", r"bad\.yaml:4: gpus\[0\]\.values\.memory_total: must be a whole"),
        (
            HEAD + GPU % ", values: {memory_total: 80 GW}",
            r"with one of the units B, KiB, MiB, GiB or N/A",
        ),
        (
            HEAD + GPU % ", values: {power_limit: 700 MHz}",
            r"units mW, W, kW or N/A; it is '700 MHz'",
        ),
        (HEAD + GPU % ", values: {temperature_gpu: 30 F}", r"one of the units C or N/A; it is '30 F'"),
        (
            HEAD + GPU % ", values: {gpu_cores: 5 B}",
            r"not negative \(count\) or N/A; it is '5 B'",
        ),
        (HEAD + GPU % ", values: {temperature_gpu: 4294967296}", r"at most 4294967295 \(C\).*it is 4294967296"),
        (HEAD + GPU % ", values: {utilization_gpu: 101 %}", r"at most 100 \(percent\).*it is '101 %'"),
        (HEAD + GPU % ", values: {numa_node: -5}", r"at least -1, .*it is -5"),
        (HEAD + GPU % ", values: {fabric_state: 4}", r"at most 3 \(0 not supported, .*it is 4"),
        (HEAD + GPU % ", values: {ecc_mode_current: 2}", r"at most 1 \(0 or 1\).*it is 2"),
        (HEAD + GPU % ", values: {power_limit: 0.0001 W}", r"it is '0\.0001 W'"),
        (
            HEAD + GPU % ", values: {memory_used: 99999999999999}",
            r"\.memory_used: 1\d+ bytes of a GPU that has 85520809984",
        ),
        (HEAD + GPU % ", values: {memory_reserved: 80 GiB}", r"\.memory_reserved: \d+ bytes of a GPU that has"),
        (HEAD + GPU % ", values: {power_limit: 9 kW}", r"power_limit 9000000 is above power_limit_max 700000"),
        (HEAD + GPU % ", values: {power_limit: 1 W}", r"power_limit_min 200000 is above power_limit 1000"),
        (
            HEAD + GPU % ", values: {uuid: hello}",
            r"values\.uuid: must be GPU- and a lower-case UUID or N/A; it is 'hello'",
        ),
        (
            HEAD + GPU % f", values: {{uuid: {SAME}}}" + (GPU % f", uuid: {SAME}").replace(":53:", ":54:"),
            r"bad\.yaml:5: gpus\[1\]\.uuid: the same as GPU 0",
        ),
        (HEAD + GPU % ', cpus: "31-0"', r"the range 31-0 ends before it begins"),
        (
            HEAD + GPU % ", mig: [1g.10gb], values: {mig_mode_current: 0}",
            r"in MIG mode only, and mig_mode_current is 0",
        ),
        (HEAD + GPU % "" + GPU % "", r"bad\.yaml:5: gpus\[1\]\.bus: the same as GPU 0"),
        (
            HEAD + GPU % f", uuid: {SAME}" + (GPU % f", uuid: {SAME}").replace(":53:", ":54:"),
            r"bad\.yaml:5: gpus\[1\]\.uuid: the same as GPU 0",
        ),
        (HEAD + GPU % ", uuid: gpu-1", r"must be `auto` or GPU- and a lower-case UUID"),
        (HEAD + (GPU % "").replace("53:00.0", "53"), r"must be a PCI address"),
        (HEAD + (GPU % "").replace("h100-sxm5-80gb", "h100-sxm5-80g"), r"Did you mean 'h100-sxm5-80gb'"),
        (HEAD + GPU % ", mig: [3g.20gb]", r"has no MIG profile '3g.20gb'\. Did you mean '\dg\.[24]0gb'"),
        (HEAD + GPU % ", mig: [{profile: 3g.40gb, start: 2}]", r"3g.40gb can start at \[0, 4\], not at 2"),
        (HEAD + GPU % ", mig: [7g.80gb, 1g.10gb]", r"mig\[1\]: 1g.10gb cannot be placed: its memory slices are taken"),
        (
            HEAD + GPU % ", mig: [{profile: 3g.40gb, start: 0}, {profile: 4g.40gb}]",
            r"mig\[1\]: 4g.40gb cannot be placed",
        ),
        (HEAD + GPU % ', cpus: "0-5000"', r"CPU 5000 is beyond"),
        (HEAD + GPU % ", cluster_uuid: abc", r"must be a UUID"),
        ("driver_version: 580\n", r"driver_version: must be a text"),
        ("gpus: []\ngpus: []\n", r"bad\.yaml:2: gpus: written twice"),
        ("a: [\n", r"bad\.yaml:2: not valid YAML"),
        ("- 1\n", r"must be a mapping of names to values, not a list"),
    ],
)
def test_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(fake_nvml.InventoryError, match=message):
        fake_nvml.Inventory.load(path)


def test_numbers_may_carry_the_unit_that_a_person_thinks_in(make_node: Make, tmp_path: Path) -> None:
    path = tmp_path / "units.yaml"
    path.write_text(HEAD + GPU % ", values: {memory_used: 1.5 GiB, power_limit: 650 W, utilization_gpu: 7 %}")
    node = make_node(path)
    assert (node.get(0, "memory_used"), node.get(0, "power_limit")) == (3 << 29, 650_000)
    assert node.get(0, "utilization_gpu") == 7
    node.set(0, "power_limit", "700 W")
    assert node.get(0, "power_limit") == 700_000


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (
            "memory_used",
            "900 GiB",
            r"memory_used of GPU 1 cannot be '900 GiB': \d+ bytes of a GPU that has 85520809984",
        ),
        ("memory_total", 1, r"bytes of a GPU that has 1 "),
        ("uuid", "{other}", r"GPU 0 has it; each GPU of a node has its own"),
        ("uuid", "hello", r"uuid must be GPU- and a lower-case UUID or N/A"),
        ("minor_number", 0, r"GPU 0 has it; each GPU of a node has its own"),
        ("power_limit", "9 kW", r"power_limit 9000000 is above power_limit_max 700000"),
        ("pcie_width", 32, r"pcie_width 32 is above pcie_width_max 16"),
        ("mig_mode_current", 0, r"it has GPU instances; destroy them first, or reset the GPU"),
    ],
)
def test_what_a_gpu_cannot_be_is_refused_and_changes_nothing(
    make_node: Make, tmp_path: Path, field: str, value: int | str, message: str
) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(HEAD + GPU % "" + (GPU % ", mig: [1g.10gb]").replace(":53:", ":54:"))
    node = make_node(path)
    before, generation = node.get(1, field), node.generation
    if isinstance(value, str):
        value = value.format(other=node.gpus[0].uuid)
    with pytest.raises(fake_nvml.FakeNvmlError, match=message):
        node.set(1, field, value)
    assert (node.get(1, field), node.generation) == (before, generation)
    with pytest.raises(
        fake_nvml.FakeNvmlError, match=r"process 5 cannot hold .* of GPU 1: \d+ bytes of a GPU that has"
    ):
        node.set_process(1, 5, memory=900 << 30)
    assert not any(row.used for row in node.read().gpus[1].processes)


def test_a_node_that_cannot_be_written_says_so_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = CliRunner().invoke(main, ["create", "/proc/nowhere/node", "-i", "t4"])
    assert (result.exit_code, "no node can be made in /proc/nowhere/node" in result.output) == (2, True), result.output

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with fake_nvml.Node.create("t4", tmp_path / "node") as node:
        monkeypatch.setattr("fake_nvml.cli.load_pynvml", full)
        result = CliRunner().invoke(main, ["smi", "--node", str(node.directory), "-L"])
        assert (result.exit_code, result.output) == (1, "Error: [Errno 28] No space left on device\n")
    monkeypatch.setattr("fake_nvml.driver_root.create", full)
    with pytest.raises(fake_nvml.FakeNvmlError, match=r"no node can be made in .*: No space left on device"):
        fake_nvml.Node.create("t4", tmp_path / "node")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("library", ["libnvidia-ml.so.1", "libfakenvml-control.so"])
def test_a_node_without_a_library_leaves_no_folder(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some, folders = tmp_path / "some", tmp_path / "folders"
    shutil.copytree(fake_nvml.library_path().parent, some)
    (some / library).unlink()
    folders.mkdir()
    monkeypatch.setenv("FAKE_NVML_LIB", str(some))
    monkeypatch.setattr(tempfile, "tempdir", str(folders))
    with pytest.raises(fake_nvml.LibraryMissingError, match=library):
        fake_nvml.Node.create("dgx-h100")
    assert not list(folders.iterdir())


def test_the_environment_of_a_node_is_words_of_a_shell_whatever_its_folder_is_called(tmp_path: Path) -> None:
    folder = tmp_path / "it's; echo broken $HOME"
    result = CliRunner().invoke(main, ["create", str(folder), "-i", "t4"])
    assert result.exit_code == 0, result.output
    shell = f"{result.output}\nprintf '%s' \"$FAKE_NVML_STATE\""
    assert subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True).stdout == f"{folder}/state"
    assert CliRunner().invoke(main, ["remove", str(folder)]).exit_code == 0


def test_a_disk_that_fills_up_later_takes_nothing_from_a_node(make_node: Make) -> None:
    """Programs write through a mapping: without room for it they would end with SIGBUS in the middle of a call."""
    node = make_node("dgx-h200")
    used = State.gpus.offset + 8 * ctypes.sizeof(Gpu)
    assert node.state_path.stat().st_blocks * 512 >= 2 * used + RING_SIZE * ctypes.sizeof(Event)


def test_unknown_inventory() -> None:
    with pytest.raises(fake_nvml.InventoryError, match="Did you mean 'dgx-h100'"):
        fake_nvml.Inventory.load("dgx-h10")


def test_a_user_s_inventory_of_more_than_eight_gpus(make_node: Make, tmp_path: Path) -> None:
    path = tmp_path / "many.yaml"
    rows = [f'  - {{board: h100-sxm5-80gb, bus: "0000{index:04x}:53:00.0"}}\n' for index in range(64)]
    path.write_text(HEAD + "".join(rows))
    node = make_node(path)
    lib = fake_nvml.load_pynvml(node)
    lib.nvmlInit()
    assert lib.nvmlDeviceGetCount() == 64
    assert lib.nvmlDeviceGetPciInfo(lib.nvmlDeviceGetHandleByIndex(63)).busId == "0000003F:53:00.0"
    lib.nvmlShutdown()


def test_nodes_of_one_inventory_differ_and_repeat(tmp_path: Path) -> None:
    uuids = []
    for folder, name in (("a", "one"), ("b", "two"), ("c", "one")):
        with fake_nvml.Node.create("h200", tmp_path / folder, name=name) as node:
            uuids.append(node.gpus[0].uuid)
    assert uuids[0] == uuids[2] != uuids[1]


def test_control_errors_teach(make_node: Make) -> None:
    node = make_node()
    for call, message in (
        (lambda: node.set(9, "brand", 1), "has GPUs 0 to 7"),
        (lambda: node.set("GPU-x", "brand", 1), "no GPU of node"),
        (lambda: node.set(0, "brnd", 1), "Did you mean 'brand'"),
        (lambda: node.set(0, "brand", "x"), "must be a whole number"),
        (lambda: node.inject_fault("nvmlInit", error="GPU_LOST"), "Did you mean 'GPU_IS_LOST'"),
        (lambda: node.inject_fault("malloc", error="MEMORY"), "is no NVML function"),
        (lambda: node.inject_fault("nvmlDeviceGetNam", error="MEMORY"), "Did you mean 'nvmlDeviceGetName'"),
        (lambda: node.inject_fault("nvmlDevicesGet*", error="MEMORY"), "the library has no function"),
        (lambda: node.inject_fault("nvmlInit"), "needs an error"),
        (lambda: fake_nvml.Node.create("h200", node.directory), "is not empty"),
    ):
        with pytest.raises(fake_nvml.FakeNvmlError, match=message):
            call()


def test_command(tmp_path: Path) -> None:
    folder = str(tmp_path / "node")

    def run(*arguments: str, status: int = 0) -> str:
        result = CliRunner().invoke(main, list(arguments), env={"FAKE_NVML_NODE": folder})
        assert result.exit_code == status, result.output
        return result.output

    assert "dgx-h100-mig\n" in run("list", "--inventories")
    assert "temperature_gpu" in run("list", "--fields")
    assert run("path").strip() == str(fake_nvml.library_path())
    assert "Did you mean 'h200'" in run("create", folder, "-i", "h20", status=2)
    assert f"export FAKE_NVML_STATE={folder}/state" in run("create", folder, "-i", "dgx-h100-mig", "--name", "n")
    listed = run("list")
    assert listed.count("NVIDIA H100 80GB HBM3") == 8
    assert "0 GPU-" in listed
    assert run("smi", "-L").count("MIG 3g.40gb     Device  0: (UUID: MIG-") == 1
    assert "|   0  MIG 1g.10gb           19       13           6:1  |" in run("smi", "mig", "-lgi")
    assert "MIG 7g.80gb" in run("smi", "mig", "-lgip")
    run("set", "3", "temperature_gpu", "88")
    run("xid", "1", "79")
    table = run("smi")
    assert "88C" in table
    assert "GPU is lost" in table
    assert "LOST" in run("list")
    run("reset", "1", "--recover")
    assert "LOST" not in run("list")
    assert run("fault", "nvmlDeviceGetName", "--error", "UNKNOWN", "--times", "1").strip() == "0"
    assert "nvmlDeviceGetName returns 999 UNKNOWN hits 0" in run("fault")
    assert "NVML: Unknown Error" in run("smi", "-L", status=1)
    run("fault", "--clear")
    assert run("fault") == ""
    run("reset", "0")
    assert "No GPU instances found" in run("smi", "mig", "-lgi")
    assert "Did you mean 'temperature_gpu'" in run("set", "0", "temperatur_gpu", "1", status=2)
    run("remove", folder)
    assert not Path(folder).exists()
    assert "does not exist" in run("list", status=2)


def test_uuids_of_mig_devices_are_name_based() -> None:
    names = [f"{SAME}/{gi}/{ci}" for gi in range(15) for ci in range(8)]
    expected = b"".join(uuid.uuid5(inventories._NAMESPACE, name).bytes for name in names)
    assert inventories.mig_uuids(SAME, 15, 8) == expected


def test_a_node_without_gpus_has_no_pci_links(make_node: Make) -> None:
    sysfs = make_node(Path(__file__).parents[2] / "fixtures/inventories/no-gpus.yaml").driver_root / "sys"
    assert [path.name for path in sysfs.iterdir()] == ["module"]
