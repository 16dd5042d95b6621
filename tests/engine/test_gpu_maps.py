"""Tests of the GPUs in a report: what is read of inventories and from NVML, and where the picture places it."""

from __future__ import annotations

import msgspec
import pytest
from invented_runs import InventedRun

import fake_nvml
from dra_conformance.components import gpus_on_node
from dra_conformance.core import assets
from dra_conformance.core.events import Event, GpuOnNode, InventoryUsed, MigPlacement, NvmlChanged, ScenarioFinished
from dra_conformance.report import build, gpu_maps
from dra_conformance.report.html import render
from dra_conformance.report.model import Inventory

INVENTORIES = [*fake_nvml.inventory_names(), *sorted(map(str, (assets.fixtures() / "inventories").glob("*.yaml")))]


@pytest.mark.parametrize("name", INVENTORIES)
def test_an_inventory_is_shown_as_nvml_reports_it(name: str) -> None:
    inventory = fake_nvml.Inventory.load(name)
    shown = gpus_on_node.of_inventory(inventory)
    assert len(shown) == len(inventory.gpus)
    pool = fake_nvml.PynvmlPool()
    node = fake_nvml.Node.create(inventory)
    nvml = pool.load(node)
    try:
        if not shown:
            with pytest.raises(nvml.NVMLError):
                gpus_on_node.of_machine(nvml)
            return
        # The masks of NVML that are read have 64 NUMA nodes.
        expected = [
            msgspec.structs.replace(gpu, numa_node=gpu.numa_node if gpu.numa_node < 64 else -1) for gpu in shown
        ]
        assert gpus_on_node.of_machine(nvml) == tuple(expected)
    finally:
        pool.give_back(nvml)
        node.close()


def gpu(number: int, **more: object) -> GpuOnNode:
    """A GPU with this bus number."""
    return msgspec.convert(
        {"product": "NVIDIA H200", "pciAddress": address(number), "memoryMib": 1024, **more}, GpuOnNode
    )


def address(number: int) -> str:
    return f"00000000:{number:02X}:00.0"


def test_gpus_are_in_rows_by_numa_node_and_beside_those_of_their_switch() -> None:
    gpus = tuple(gpu(n, numaNode=n % 2, pcieSwitch=n // 4) for n in range(8))
    picture = gpu_maps.draw(Inventory(name="mine", gpus=gpus))
    assert picture is not None
    assert [name.text for name in picture.names] == ["NUMA 0", "NUMA 1"]
    rows: dict[int, list[str]] = {}
    for box in sorted(picture.boxes, key=lambda box: (box.y, box.x)):
        rows.setdefault(box.y, []).append(box.lines[0])
    assert list(rows.values()) == [
        ["GPU 0", "GPU 2", "GPU 4", "GPU 6"],
        ["GPU 1", "GPU 3", "GPU 5", "GPU 7"],
    ]
    switches = [line for line in picture.lines if line.group < 0]
    assert [line.label for line in switches] == ["PCIe switch 0", "PCIe switch 1"] * 2
    for line in switches:
        below = [box.lines[0] for box in picture.boxes if box.y == line.y1 + 4 and line.x1 <= box.x < line.x2]
        assert len(below) == 2, line


def test_gpus_of_one_switch_are_beside_each_other_whatever_their_order() -> None:
    gpus = tuple(gpu(n, pcieSwitch=n % 2) for n in range(4))
    picture = gpu_maps.draw(Inventory(name="mine", gpus=gpus))
    assert picture is not None
    order = [box.lines[0] for box in sorted(picture.boxes, key=lambda box: box.x)]
    assert order == ["GPU 0", "GPU 2", "GPU 1", "GPU 3"]


def test_mig_instances_are_at_their_slices_and_the_rest_is_free() -> None:
    mig = (MigPlacement(profile="3g.71gb", start=4, size=4), MigPlacement(profile="1g.18gb", start=0, size=1))
    picture = gpu_maps.draw(Inventory(name="mine", gpus=(gpu(0, migSlices=8, mig=mig),)))
    assert picture is not None
    (box,) = picture.boxes
    named = {one.name: one for one in box.slices if one.name}
    width = named["1g.18gb"].width
    assert named["3g.71gb"].width == pytest.approx(4 * width)
    assert named["3g.71gb"].x == pytest.approx(named["1g.18gb"].x + 4 * width)
    assert sum(one.width for one in box.slices) == pytest.approx(8 * width)
    assert len([one for one in box.slices if not one.name]) == 3
    assert "3g.71gb at 4:4" in box.title


def test_nvlink_connects_gpus_over_switches_and_directly() -> None:
    switch = ("00000000:F0:00.0", "00000000:F1:00.0")
    gpus = (
        gpu(0, nvlinks=18, nvlinkPeers=switch),
        gpu(1, nvlinks=4, nvlinkPeers=[address(2)]),
        gpu(2, nvlinks=4, nvlinkPeers=[address(1)]),
        gpu(3, nvlinks=18, nvlinkPeers=switch[1:]),
        gpu(4),
    )
    picture = gpu_maps.draw(Inventory(name="mine", gpus=gpus))
    assert picture is not None
    assert picture.notes == (
        "NVLink: GPUs 0, 3, 18 links each to 2 NVSwitches",
        "NVLink: GPUs 1 to 2, 4 links each",
    )
    taps = {box.lines[0]: {line.group for line in picture.lines if _starts_at(line, box)} for box in picture.boxes}
    assert taps == {"GPU 0": {0}, "GPU 1": {1}, "GPU 2": {1}, "GPU 3": {0}, "GPU 4": set()}


def _starts_at(line: gpu_maps.Line, box: gpu_maps.Box) -> bool:
    return box.x < line.x1 < box.x + box.width and line.y1 == box.y + box.height and line.x1 == line.x2


@pytest.mark.parametrize("name", INVENTORIES)
def test_everything_is_within_the_picture(name: str) -> None:
    inventory = fake_nvml.Inventory.load(name)
    picture = gpu_maps.draw(Inventory(name=name, gpus=gpus_on_node.of_inventory(inventory)))
    if picture is None:
        assert not inventory.gpus
        return
    assert len(picture.boxes) == len(inventory.gpus)
    assert len({(box.x, box.y) for box in picture.boxes}) == len(picture.boxes)
    for box in picture.boxes:
        assert box.x + box.width <= picture.width
        assert box.y + box.height <= picture.height
    for line in picture.lines:
        assert max(line.x1, line.x2) <= picture.width
        assert 0 <= min(line.y1, line.y2) <= max(line.y1, line.y2) <= picture.height


def events_on_gpus(*names: str) -> list[Event]:
    """A run with a failed scenario that used these inventories, found by two workers."""
    run = InventedRun().scenario("s1", ["DRA-001"], status="failed", reason="no")
    found: list[Event] = []
    for event in run.events():
        if isinstance(event, ScenarioFinished):
            for name in (*names, *names):
                gpus = gpus_on_node.of_inventory(fake_nvml.Inventory.load(name))
                used = (
                    InventoryUsed(name=name, gpus=gpus),
                    NvmlChanged(node="n1", action="create", inventory=name),
                )
                found += [msgspec.structs.replace(one, scenario=event.scenario, time=event.time) for one in used]
        found.append(event)
    return found


def test_a_report_has_each_inventory_once_and_a_failure_names_its_own() -> None:
    report = build(events_on_gpus("dgx-h100-mig", "t4"))
    assert [one.name for one in report.inventories] == ["dgx-h100-mig", "t4"]
    assert report.scenarios[0].inventories == ("dgx-h100-mig", "t4")
    assert not any("pciAddress" in line for line in report.scenarios[0].timeline)
    page = render(report)
    assert 'href="#gpus-1">dgx-h100-mig</a>' in page
    assert 'id="gpus-2"' in page
    assert "3g.40gb at 0:4" in page


def test_a_run_without_gpus_shows_none() -> None:
    run = InventedRun().scenario("s1", ["DRA-001"])
    assert 'id="gpus"' not in render(build(list(run.events())))
