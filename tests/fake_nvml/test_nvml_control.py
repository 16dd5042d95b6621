"""Control of a node: queries, timelines, faults of every kind, the call log, and undoing changes."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import fake_nvml
from dra_api.clock import AdvanceableClock
from fake_nvml.cli import main
from fake_nvml.describe import describe_lines
from fake_nvml.timeline import Timeline

Make = Callable[..., fake_nvml.Node]
Load = Callable[[fake_nvml.Node], Any]
Start = Callable[[fake_nvml.Node, str], "subprocess.Popen[str]"]


@pytest.mark.parametrize("name", fake_nvml.inventory_names())
def test_every_view_of_every_inventory(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "node"
    with fake_nvml.Node.create(name, folder) as node:
        for arguments in ((), ("-L",), ("-q",), ("mig", "-lgi"), ("mig", "-lgip"), ("mig", "-lgipp")):
            result = CliRunner().invoke(main, ["smi", "--node", str(folder), *arguments])
            assert result.exit_code == 0, result.output
            assert len(result.output) > 20
            lines = result.output.splitlines()
            assert not lines[0].startswith("+") or lines[-1].startswith("+"), "a table that is opened is closed"
        node.lose_gpu(0)
        assert "GPU is lost" in CliRunner().invoke(main, ["smi", "--node", str(folder), "-q"]).output


@pytest.mark.parametrize("name", fake_nvml.inventory_names())
def test_every_value_has_a_source(name: str) -> None:
    lines = list(describe_lines(fake_nvml.Inventory.load(name)))
    assert all(line.endswith("]") for line in lines if line.startswith(("  ", "? ")))
    assert lines[-1].startswith("warning: values marked ?")
    doubtful = list(describe_lines(fake_nvml.Inventory.load(name), unverified_only=True))
    assert 0 < len(doubtful) < len(lines)


def outcomes(lib: Any, calls: int) -> str:
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    marks = ""
    for _ in range(calls):
        try:
            lib.nvmlDeviceGetName(handle)
            marks += "."
        except lib.NVMLError_Unknown:
            marks += "x"
    return marks


def test_every_nth_call_fails(make_node: Make, nvml: Load) -> None:
    node = make_node("h200")
    lib = nvml(node)
    rule = node.inject_fault("nvmlDeviceGetName", error="UNKNOWN", every=3, after=2, times=3)
    assert outcomes(lib, 16) == "....x..x..x....."
    assert node.fault_hits(rule) == 3


def test_a_probability_is_drawn_from_the_seed(make_node: Make, nvml: Load) -> None:
    """One seed gives one sequence of faults, another seed another one, with about the requested number."""
    node = make_node("h200")
    lib = nvml(node)

    def run(seed: int) -> str:
        rule = node.inject_fault("nvmlDeviceGetName", error="UNKNOWN", probability=0.25, seed=seed)
        marks = outcomes(lib, 400)
        node.clear_faults(rule)
        return marks

    first, again, other = run(1), run(1), run(2)
    assert first == again != other
    assert 60 < first.count("x") < 140
    assert outcomes(lib, 20) == "." * 20


def test_a_pattern_names_many_functions_and_a_program_limits_it(make_node: Make, nvml: Load) -> None:
    node = make_node("h200")
    lib = nvml(node)
    node.inject_fault("nvmlDeviceGetMemory*", error="NOT_SUPPORTED")
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    for call in (lib.nvmlDeviceGetMemoryInfo, lib.nvmlDeviceGetMemoryBusWidth):
        with pytest.raises(lib.NVMLError_NotSupported):
            call(handle)
    assert lib.nvmlDeviceGetName(handle) == "NVIDIA H200"
    node.clear_faults()
    own = Path("/proc/self/comm").read_text().strip()
    node.inject_fault("nvmlDeviceGetName", error="UNKNOWN", program="another")
    assert outcomes(lib, 2) == ".."
    node.inject_fault("nvmlDeviceGetName", error="UNKNOWN", program=own[:15])
    assert outcomes(lib, 2) == "xx"


@pytest.mark.parametrize("end", ["clear", "close", "reload"])
def test_a_hanging_call_comes_back_when_it_may(make_node: Make, end: str) -> None:
    """Other calls are not blocked meanwhile."""
    node = make_node("h200")
    lib = fake_nvml.load_pynvml(node)
    lib.nvmlInit()
    rule = node.inject_fault("nvmlDeviceGetName", hang=True)
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    back = threading.Event()

    def call() -> None:
        with contextlib.suppress(lib.NVMLError):
            lib.nvmlDeviceGetName(handle)
        back.set()

    thread = threading.Thread(target=call)
    thread.start()
    assert not back.wait(0.3)
    # In a thread: a change that waits for the hanging call must fail this test instead of blocking it.
    change = threading.Thread(target=node.set, args=(0, "temperature_gpu", 50), daemon=True)
    change.start()
    change.join(60)
    if blocked := change.is_alive():
        lib.nvmlShutdown()  # ends the hanging call
    assert not blocked
    assert lib.nvmlDeviceGetTemperature(handle, 0) == 50
    match end:
        case "clear":
            node.clear_faults(rule)
        case "close":
            node.close()
        case "reload":
            node.reload_driver()
    assert back.wait(60)
    thread.join()


def test_the_call_log_has_client_and_request(make_node: Make, start_python: Start) -> None:
    """The log marks functions that are not implemented and return NOT_SUPPORTED."""
    node = make_node("h200")
    assert node.calls() == []
    node.log_calls()
    code = (
        "import pynvml as p; p.nvmlInit(); h = p.nvmlDeviceGetHandleByIndex(0); p.nvmlDeviceGetName(h)\n"
        "try: p.nvmlDeviceGetCoolerInfo(h)\nexcept p.NVMLError_NotSupported: pass"
    )
    process = start_python(node, code)
    process.communicate(timeout=60)
    assert process.returncode == 0
    node.log_calls(False)
    rows = [(call.pid, call.function, call.gpu, call.implemented) for call in node.calls()]
    assert rows == [
        (process.pid, "nvmlDeviceGetHandleByIndex_v2", None, True),
        (process.pid, "nvmlDeviceGetName", 0, True),
        (process.pid, "nvmlDeviceGetCoolerInfo", None, False),
    ]
    assert (node.directory / "calls").stat().st_mode & 0o777 == 0o600
    folder = str(node.directory)
    listed = CliRunner().invoke(main, ["calls", "--node", folder, "--unimplemented"]).output
    assert "nvmlDeviceGetCoolerInfo (not implemented)" in listed
    assert "nvmlDeviceGetName" not in listed
    summed = CliRunner().invoke(main, ["calls", "--node", folder, "--count"]).output
    assert [line.split()[0] for line in summed.splitlines()] == ["1", "1", "1"]


SCRIPT = """about: a GPU that runs hot and falls off the bus
steps:
  - {at: 10, recover: {gpu: 1}}
  - {at: 0, set: {gpu: 1, temperature_gpu: 85, power_usage: 690 W}}
  - {at: 2.5, xid: {gpu: 1, number: 79}}
  - {at: 12, fault: {function: nvmlDeviceGetName, error: UNKNOWN, every: 2}}
  - {at: 13, process: {gpu: 0, pid: 4711, memory: 1048576, utilization: 80}}
  - {at: 14, remove: {gpu: 7}}
  - {at: 15, clear_faults: }
  - {at: 16, reset: }
"""


def test_a_timeline_plays_in_order(make_node: Make, nvml: Load, tmp_path: Path) -> None:
    path = tmp_path / "play.yaml"
    path.write_text(SCRIPT)
    timeline = Timeline.load(path)
    assert (len(timeline.steps), timeline.steps[-1].at) == (8, 16)
    node = make_node()
    lib = nvml(node)
    clock = AdvanceableClock()
    played: list[str] = []
    seen: list[Any] = []

    def look() -> None:
        for step in timeline.play(node, clock=clock):
            played.append(step.verb)
            gpu = node.gpus[1]
            seen.append((step.at, gpu.lost, node.get(1, "temperature_gpu"), lib.nvmlDeviceGetCount()))

    thread = threading.Thread(target=look)
    thread.start()
    while thread.is_alive():
        clock.advance(0.5)
        thread.join(0.002)
    assert played == ["set", "xid", "recover", "fault", "process", "remove", "clear_faults", "reset"]
    assert seen[0] == (0.0, False, 85, 8)
    assert seen[1] == (2.5, True, 85, 8)
    assert seen[2][1] is False
    assert seen[5][3] == 7
    assert seen[7] == (16.0, False, node.get(0, "temperature_gpu"), 8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("steps: [{at: 1}]", r"play\.yaml:1: steps\[0\]: a step does one thing; this has 0"),
        ("steps:\n  - {at: -1, lose: {gpu: 0}}", r"play\.yaml:2: steps\[0\]\.at: must be seconds"),
        ("steps:\n  - {at: 1, loose: {gpu: 0}}", r"unknown key. Did you mean 'lose'"),
        ("steps:\n  - {at: 1, lose: {}}", r"lose needs `gpu`"),
        ("steps:\n  - {at: 1, set: {gpu: 0, temperature_gpu: hot}}", r"temperature_gpu: must be a whole number"),
        ("steps:\n  - {at: 1, xid: {gpu: 0, number: many}}", r"number: must be int; it is 'many'"),
        ("steps:\n  - {at: 1, fault: {function: malloc, error: UNKNOWN}}", r"is no NVML function"),
        ("steps:\n  - {at: 1, fault: {function: nvmlInit, error: LOST}}", r"no NVML error is called 'LOST'"),
        ("steps:\n  - {at: 1, fault: {function: nvmlInit, error: UNKNOWN, probability: 2}}", r"a probability is"),
    ],
)
def test_a_script_is_refused_before_anything_happens(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "play.yaml"
    path.write_text(text)
    with pytest.raises(fake_nvml.InventoryError, match=message):
        Timeline.load(path)


def test_restore_takes_everything_back(make_node: Make, nvml: Load) -> None:
    node = make_node("dgx-h100-mig")
    lib = nvml(node)
    before = CliRunner().invoke(main, ["smi", "--node", str(node.directory), "-q"]).output.splitlines()[4:]
    old = lib.nvmlDeviceGetMigDeviceHandleByIndex(lib.nvmlDeviceGetHandleByIndex(0), 0)
    node.inject_xid(3, 48)
    node.lose_gpu(2)
    node.reset(0)
    node.remove_gpu(7)
    node.set(5, "name", "Something Else")
    node.set_process(4, 1, memory=5)
    node.fail_init("UNKNOWN")
    node.inject_fault("nvmlDeviceGetName", error="UNKNOWN")
    node.restore()
    assert CliRunner().invoke(main, ["smi", "--node", str(node.directory), "-q"]).output.splitlines()[4:] == before
    with pytest.raises(lib.NVMLError):  # a handle of before the restore is not one of the instances of after
        lib.nvmlDeviceGetName(old)
    assert lib.nvmlDeviceGetName(lib.nvmlDeviceGetMigDeviceHandleByIndex(lib.nvmlDeviceGetHandleByIndex(0), 0))


def test_sysfs_agrees_with_nvml(make_node: Make, nvml: Load) -> None:
    """NVML-030: ids, NUMA node and CPUs; the root complex is found by following the link, as drivers do."""
    node = make_node("l40s")
    lib = nvml(node)
    devices = node.driver_root / "sys" / "bus" / "pci" / "devices"
    roots = []
    for index in range(lib.nvmlDeviceGetCount()):
        handle = lib.nvmlDeviceGetHandleByIndex(index)
        pci = lib.nvmlDeviceGetPciInfo(handle)
        folder = devices / pci.busIdLegacy.lower()
        assert (
            int((folder / "device").read_text(), 16) << 16 | int((folder / "vendor").read_text(), 16) == pci.pciDeviceId
        )
        numa = int((folder / "numa_node").read_text())
        assert lib.nvmlDeviceGetMemoryAffinity(handle, 1, 0)[0] == 1 << numa
        cpus: set[int] = set()
        for span in (folder / "local_cpulist").read_text().strip().split(","):
            low, _, high = span.partition("-")
            cpus |= set(range(int(low), int(high or low) + 1))
        words = lib.nvmlDeviceGetCpuAffinity(handle, 2)
        assert {bit for bit in range(128) if words[bit // 64] >> (bit % 64) & 1} == cpus
        target = os.readlink(folder)
        roots.append(target.split("/")[-3])
        assert (folder / "driver").resolve().name == "nvidia"
    assert roots[0] == roots[1] != roots[2] == roots[3]
    assert all(root.startswith("pci0000:") for root in roots)


def test_commands(tmp_path: Path) -> None:
    folder = str(tmp_path / "node")

    def run(*arguments: str, status: int = 0) -> str:
        result = CliRunner().invoke(main, list(arguments), env={"FAKE_NVML_NODE": folder})
        assert result.exit_code == status, result.output
        return result.output

    assert len(run("create", str(tmp_path / "rack"), "-i", "gb200-nvl72-node", "--nodes", "2").splitlines()) == 2
    assert run("list", "--node", str(tmp_path / "rack" / "node-02")).count("NVIDIA GB200") == 4
    for number in (1, 2):
        run("remove", str(tmp_path / "rack" / f"node-0{number}"))
    assert "? general" not in run("describe", "h200")
    assert "warning: values marked ?" in run("describe", "t4", "--unverified")
    run("create", folder, "-i", "dgx-h200")
    run("fault", "nvmlDeviceGetTemperature", "--error", "GPU_IS_LOST", "--gpu", "3", "--every", "10")
    assert "returns 15 GPU_IS_LOST GPU 3 every 10 hits 0" in run("fault")
    run("link", "0", "3", "down")
    assert "has no NVLink 40" in run("link", "0", "40", "down", status=2)
    run("fail-init", "LIB_RM_VERSION_MISMATCH")
    assert "mismatch" in run("smi", "-L", status=1)
    assert "No such" not in run("reset", "--node-as-made")
    assert run("smi", "-L").count("NVIDIA H200") == 8
    assert "no GPU is given" in run("reset", status=2)
    run("calls", "--start")
    run("smi", "-L")
    run("calls", "--stop")
    assert "nvmlDeviceGetCount_v2" in run("calls")
    script = tmp_path / "s.yaml"
    script.write_text("steps:\n  - {at: 0, lose: {gpu: 6}}\n  - {at: 0.01, recover: {gpu: 6}}\n")
    assert run("play", str(script), "--check").strip() == "2 steps, 0.01 s"
    assert run("play", str(script)).splitlines() == ["0 s: lose gpu=6", "0.01 s: recover gpu=6"]
    run("reload-driver")
    run("remove", folder)


def test_the_page_s_minute_works(tmp_path: Path) -> None:
    """The first two blocks of docs/how-to/fake-nvml.md, line by line, in a shell; the third is test_build_hook's."""
    page = Path(fake_nvml.__file__).resolve().parent.parent / "docs" / "how-to" / "fake-nvml.md"
    first, second, musl = re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert "fake_nvml.build" in musl
    (tmp_path / "mine.yaml").write_text(re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), re.M | re.DOTALL)[0])
    (tmp_path / "story.yaml").write_text(re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), re.M | re.DOTALL)[1])
    more = "fake-nvml create mine -i mine.yaml\nfake-nvml play --node mine story.yaml --speed 1000\n"
    result = subprocess.run(
        ["bash", "-e"],
        input=first + second + more + "fake-nvml remove mine\n",
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("NVIDIA H200 (UUID") == 8
    assert "\n8\n" in result.stdout
    assert "GPU is lost" in result.stdout
    assert "20 s: reset" in result.stdout
