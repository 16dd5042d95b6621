"""Tests of devices of plugins in the kubelet: counts, the grace period, the checkpoint, and merged answers."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from dra_api.clock import AdvanceableClock
from dra_api.rpc.device_plugin import ContainerAllocation, DeviceSpec, Mount, PluginDevice
from dra_conformance.kubelet import device_checkpoint
from dra_conformance.kubelet.device_allocation import merged
from dra_conformance.kubelet.device_checkpoint import FILE_NAME, Held
from dra_conformance.kubelet.offered_resources import Count, OfferedResources

GPU = "example.com/gpu"


@pytest.fixture
def clock() -> AdvanceableClock:
    return AdvanceableClock()


@pytest.fixture
def offered(clock: AdvanceableClock) -> OfferedResources:
    found = OfferedResources(clock)
    found.take(GPU, [PluginDevice("a"), PluginDevice("b", "Unhealthy"), PluginDevice("c")])
    return found


def test_counts_are_those_of_the_last_list(offered: OfferedResources) -> None:
    assert offered.counts() == {GPU: Count(3, 2)}
    offered.take(GPU, [PluginDevice("a"), PluginDevice("a", "Unhealthy")])
    assert offered.counts() == {GPU: Count(1, 0)}
    assert offered.usable(GPU) == ()


def test_a_resource_without_a_plugin_is_forgotten_after_its_grace_period(
    offered: OfferedResources, clock: AdvanceableClock
) -> None:
    assert offered.next_end() is None
    offered.disconnect(GPU)
    assert offered.counts() == {GPU: Count(3, 0)}
    clock.advance(299)
    assert offered.counts() == {GPU: Count(3, 0)}
    clock.advance(1)
    assert offered.counts() == {GPU: Count(0, 0)}
    assert offered.counts() == {}
    assert offered.usable(GPU) is None


def test_a_plugin_that_returns_ends_the_grace_period(offered: OfferedResources, clock: AdvanceableClock) -> None:
    offered.disconnect(GPU)
    offered.connect(GPU)
    clock.advance(1000)
    assert offered.counts() == {GPU: Count(3, 0)}
    offered.take(GPU, [PluginDevice("a")])
    assert offered.counts() == {GPU: Count(1, 1)}


def test_a_resource_from_before_a_restart_has_no_devices(clock: AdvanceableClock) -> None:
    found = OfferedResources(clock)
    found.restore([GPU])
    assert found.counts() == {GPU: Count(0, 0)}
    assert found.names() == [GPU]


def test_a_checkpoint_reads_back(tmp_path: Path) -> None:
    answer = ContainerAllocation(envs={"A": "1"}, mounts=(Mount("/in", "/out", True),), cdi_devices=("x.y/z=a",))
    held = Held("uid", "main", GPU, ("a", "b"), answer)
    device_checkpoint.write(tmp_path / FILE_NAME, [held], [GPU])
    assert device_checkpoint.read(tmp_path / FILE_NAME) == ([held], [GPU], "")
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"Data": "{}", "Checksum": 1}',
        '{"Data": "{\\"PodDeviceEntries\\": 1}", "Checksum": 3011427402}',
    ],
)
def test_a_checkpoint_that_is_none_has_a_problem(tmp_path: Path, content: str) -> None:
    path = tmp_path / FILE_NAME
    path.write_text(content)
    held, resources, problem = device_checkpoint.read(path)
    assert (held, resources) == ([], [])
    assert str(path) in problem


def test_a_checkpoint_that_is_a_folder_has_a_problem(tmp_path: Path) -> None:
    assert device_checkpoint.read(tmp_path)[2]


def test_of_entries_with_one_name_the_first_counts() -> None:
    one = ContainerAllocation(
        envs={"A": "1"},
        devices=(DeviceSpec("/dev/a", "/dev/x", "rw"),),
        cdi_devices=("x.y/z=a",),
        annotations={"k": "1"},
    )
    two = ContainerAllocation(
        envs={"A": "2", "B": "2"},
        devices=(DeviceSpec("/dev/a", "/dev/y", "r"), DeviceSpec("/dev/b", "/dev/y", "r")),
        mounts=(Mount("/in", "/out"),),
        cdi_devices=("x.y/z=a", "x.y/z=b"),
        annotations={"k": "2"},
    )
    assert merged([one, two]) == ContainerAllocation(
        envs={"A": "1", "B": "2"},
        devices=(DeviceSpec("/dev/a", "/dev/x", "rw"), DeviceSpec("/dev/b", "/dev/y", "r")),
        mounts=(Mount("/in", "/out"),),
        cdi_devices=("x.y/z=a", "x.y/z=b"),
        annotations={"k": "1"},
    )
    assert merged([]) == ContainerAllocation()
