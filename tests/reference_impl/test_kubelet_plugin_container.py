"""What NVML shows in a container with the CDI devices of a claim: exactly the devices of this claim, on a fake root."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fake_nvml
from reference_impl.kubelet_plugin.devices import AnyDevice
from reference_impl.kubelet_plugin.discovery import Found, Nvml
from reference_impl.kubelet_plugin.driver_root import DriverRoot
from tests.fake_nvml.containers import apply_edits, client


class Machine:
    """A fake node and the devices that the driver finds on it."""

    def __init__(self, node: fake_nvml.Node, found: Found) -> None:
        self.node = node
        self.found = found
        self.root = DriverRoot(node.driver_root)

    def named(self, name: str) -> AnyDevice:
        device = self.found.device(name)
        assert device is not None
        return device

    def edits(self, *names: str) -> list[dict[str, Any]]:
        """Return the CDI edits that a container with these devices gets."""
        version = self.node.read().driver_version.text.decode()
        common = {"deviceNodes": self.root.control_nodes(), "mounts": self.root.mounts(version)}
        devices = [self.named(name) for name in names]
        return [common, *({"deviceNodes": self.root.device_nodes(one)} for one in devices)]  # type: ignore[arg-type]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with fake_nvml.Node.create("dgx-h100-mig", tmp_path / "node") as node:
        nvml = Nvml(fake_nvml.load_pynvml(node))
        nvml.open()
        yield Machine(node, nvml.discover(node.driver_root / "sys"))
        nvml.close()


def test_a_container_sees_the_gpus_of_its_claim(machine: Machine, tmp_path: Path) -> None:
    seen = client(apply_edits(tmp_path / "pod", machine.edits("gpu-3", "gpu-6")))
    assert [gpu["uuid"] for gpu in seen] == [machine.node.gpus[3].uuid, machine.node.gpus[6].uuid]
    assert [gpu["migs"] for gpu in seen] == [[], []]


def test_a_container_sees_the_mig_devices_of_its_claim(machine: Machine, tmp_path: Path) -> None:
    names = sorted(device.name for device in machine.found.devices if device.type == "mig")[1:]
    (parent,) = client(apply_edits(tmp_path / "pod", machine.edits(*names)))
    assert parent["uuid"] == machine.node.gpus[0].uuid
    assert {uuid for uuid, _ in parent["migs"]} == {machine.named(name).uuid for name in names}  # type: ignore[union-attr]
    assert [index for _, index in parent["migs"]] == list(range(len(names)))


def test_a_root_without_fake_gpus_adds_no_files_of_theirs(machine: Machine) -> None:
    version = machine.node.read().driver_version.text.decode()
    (machine.node.driver_root / "run/fake-nvml/state").unlink()
    assert [mount["containerPath"] for mount in machine.root.mounts(version)] == [
        f"/usr/lib64/libnvidia-ml.so.{version}"
    ]
