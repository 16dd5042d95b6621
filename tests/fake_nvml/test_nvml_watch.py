"""`fake-nvml watch`: every kind of change has its line, another process sees it at once, and Ctrl-C is a good end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner

import fake_nvml
from fake_nvml.cli import main
from fake_nvml.watch import Watch, changes

Make = Callable[..., fake_nvml.Node]
Load = Callable[[fake_nvml.Node], Any]
COMMAND = "from fake_nvml.cli import main; main()"
PATIENCE = 60.0  # seconds until a waiting test gives up


@pytest.fixture
def watching() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `fake-nvml watch`; it has begun when this returns. What still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []
    was = signal.getsignal(signal.SIGINT)
    if was is signal.SIG_IGN:  # a background shell starts programs so, and they would hand it on
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def start(node: fake_nvml.Node, *arguments: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", COMMAND, "watch", "--node", str(node.directory), *arguments]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stderr is not None
        assert process.stderr.readline() == f"watching {node.directory}; Ctrl-C ends it\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
    signal.signal(signal.SIGINT, was)


def told(node: fake_nvml.Node, act: Callable[[], object]) -> list[str]:
    with Watch(node) as watch:
        act()
        return watch.next(PATIENCE)


def test_every_kind_of_change_has_its_line(make_node: Make) -> None:
    node = make_node("dgx-h100-mig")
    assert told(node, lambda: node.set(5, "temperature_gpu", 88)) == ["GPU 5: temperature_gpu 34 -> 88"]
    assert told(node, lambda: node.set(5, "power_usage", "N/A"))[0].endswith("-> N/A")
    assert told(node, lambda: node.set_link(2, 3, active=False)) == ["GPU 2: NVLink 3 down"]
    assert told(node, lambda: node.inject_xid(1, 43)) == ["GPU 1: XID 43"]
    assert told(node, lambda: node.inject_xid(0, 13, gi=1, ci=0)) == [
        "GPU 0: XID 13, GPU instance 1, compute instance 0"
    ]
    assert told(node, lambda: node.lose_gpu(3)) == ["GPU 3: XID 79", "GPU 3: is_lost 0 -> 1"]
    assert told(node, lambda: node.remove_gpu(7)) == ["GPU 7: unbound from its driver"]
    assert told(node, lambda: node.set_process(4, os.getpid(), memory=1 << 30))[-1].endswith("holds 1024 MiB")
    assert told(node, lambda: node.set_process(4, os.getpid(), memory=0))[-1].endswith("gone")
    assert told(node, lambda: node.inject_fault("nvmlDeviceGetName", error="UNKNOWN")) == [
        "fault: 0 nvmlDeviceGetName returns 999 UNKNOWN"
    ]
    assert told(node, node.clear_faults) == ["fault gone: 0 nvmlDeviceGetName returns 999 UNKNOWN"]
    assert told(node, lambda: node.fail_init("DRIVER_NOT_LOADED")) == ["nvmlInit answers DRIVER_NOT_LOADED"]
    assert "GPU 0: GPU instance 1 destroyed" in told(node, lambda: node.reset(0))


def test_local_changes_of_a_program_are_reported(make_node: Make, nvml: Load) -> None:
    node = make_node("dgx-h100")
    lib = nvml(node)
    handle = lib.nvmlDeviceGetHandleByIndex(0)
    lib.nvmlDeviceSetMigMode(handle, 1)
    before = node.read()
    instance = lib.nvmlDeviceCreateGpuInstance(handle, 9)
    compute = lib.nvmlGpuInstanceCreateComputeInstance(instance, 2)
    made = changes(before, between := node.read())
    assert [line.split(" at ")[0] for line in made] == [
        "GPU 0: GPU instance 1 made: 3g.40gb" if "instance 1 " in made[0] else "GPU 0: GPU instance 2 made: 3g.40gb",
        made[1],
    ]
    assert made[1].startswith("GPU 0: compute instance 0 of GPU instance ")
    lib.nvmlComputeInstanceDestroy(compute)
    lib.nvmlGpuInstanceDestroy(instance)
    assert [line.rpartition(" ")[2] for line in changes(between, node.read())] == ["destroyed"]


def test_events_come_once_and_in_order_also_beyond_the_ring(make_node: Make) -> None:
    node = make_node("t4")
    with Watch(node) as watch:
        for number in (13, 31, 43):
            node.inject_xid(0, number)
        assert watch.next(PATIENCE) == [f"GPU 0: XID {number}" for number in (13, 31, 43)]
        with node.change() as txn:
            for number in range(9000):
                txn.event(0, 8, number)
        lines = watch.next(PATIENCE)
    numbers = [int(line.rpartition(" ")[2]) for line in lines]
    assert numbers == list(range(9000 - len(numbers), 9000))
    assert 1000 <= len(numbers) < 9000


def test_ctrl_c_is_a_good_end(make_node: Make, watching: Callable[..., subprocess.Popen[str]]) -> None:
    node = make_node("t4")
    process = watching(node)
    reader = process.stdout
    assert reader is not None
    node.set(0, "temperature_gpu", 77)
    assert reader.readline().endswith(" GPU 0: temperature_gpu 33 -> 77\n")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (out, err.strip(), process.returncode) == ("", "", 0)
    assert node.get(0, "temperature_gpu") == 77


def test_a_node_that_ends_ends_its_watch(make_node: Make, watching: Callable[..., subprocess.Popen[str]]) -> None:
    node = make_node("t4")
    process = watching(node)
    node.close()
    out, _ = process.communicate(timeout=PATIENCE)
    assert out.endswith("the node has ended\n")
    assert process.returncode == 0


def test_the_end_is_shown_also_if_it_comes_before_the_first_look(
    make_node: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = make_node("t4")
    enter = Watch.__enter__

    def enter_late(watch: Watch) -> Watch:
        node.close()
        return enter(watch)

    monkeypatch.setattr(Watch, "__enter__", enter_late)
    result = CliRunner().invoke(main, ["watch", "--node", str(node.directory)])
    assert result.stdout.endswith("the node has ended\n")
    assert result.exit_code == 0


def test_it_ends_by_itself(make_node: Make, watching: Callable[..., subprocess.Popen[str]]) -> None:
    process = watching(make_node("t4"), "--seconds", "0.05")
    assert process.communicate(timeout=PATIENCE)[0] == ""
    assert process.returncode == 0


def test_no_change_is_reported_twice(make_node: Make) -> None:
    node = make_node("t4")
    stop, lines = threading.Event(), []
    with Watch(node) as watch:

        def follow() -> None:
            while not stop.is_set():
                lines.extend(watch.next(0.05))

        thread = threading.Thread(target=follow)
        thread.start()
        for number in range(200):
            node.inject_xid(0, number)
        node.set(0, "fan_count", 3)
        stop.set()
        thread.join()
        lines.extend(watch.next(0))
    assert [line for line in lines if "XID" in line] == [f"GPU 0: XID {number}" for number in range(200)]
    assert sum(line.startswith("GPU 0: fan_count ") for line in lines) == 1
