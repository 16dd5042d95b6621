"""NUMA nodes of sysfs, and fabrics that a Fabric Manager partitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin import fabric, numa
from reference_impl.kubelet_plugin.driver_root import DriverRoot

ADDRESS = "0000:40:00.0"


def sysfs(tmp_path: Path, node: int, distances: dict[int, str]) -> Path:
    device = tmp_path / "bus/pci/devices" / ADDRESS
    device.mkdir(parents=True)
    (device / "numa_node").write_text(f"{node}\n")
    for number, row in distances.items():
        folder = tmp_path / f"devices/system/node/node{number}"
        folder.mkdir(parents=True)
        (folder / "distance").write_text(f"{row}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("node", "distances", "found"),
    [
        (0, {0: "10 20 12 12"}, (0, 2, 3)),  # no socket is known, so each may be the same
        (1, {1: "21 10"}, (1, 0)),
        (0, {0: "10"}, (0,)),
        (0, {0: ""}, (0,)),
        (0, {0: "ten"}, (0,)),
        (3, {3: "10 20"}, (3,)),  # a table without the node itself
        (0, {}, (0,)),
        (-1, {}, None),
    ],
)
def test_the_list_of_numa_nodes(tmp_path: Path, node: int, distances: dict[int, str], found: object) -> None:
    assert numa.numa_node(sysfs(tmp_path, node, distances), ADDRESS, as_list=True) == found


def test_nodes_of_other_sockets_are_left_out(tmp_path: Path) -> None:
    root = sysfs(tmp_path, 0, {0: "10 12 12 12"})
    for number, cpus, socket in ((0, "0-3", 0), (1, "4-7", 0), (2, "8-11", 1)):
        folder = root / f"devices/system/node/node{number}"
        folder.mkdir(exist_ok=True)
        (folder / "cpulist").write_text(cpus)
        topology = root / f"devices/system/cpu/cpu{cpus.partition('-')[0]}/topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text(f"{socket}\n")
    (root / "devices/system/node/node3").mkdir()
    (root / "devices/system/node/node3/cpulist").write_text("\n")
    assert numa.numa_node(root, ADDRESS, as_list=True) == (0, 1, 3)
    assert numa.numa_node(root, ADDRESS) == 0


def test_a_fabric_without_a_fabric_manager_is_an_error(tmp_path: Path) -> None:
    root = DriverRoot(tmp_path)
    (tmp_path / "proc/driver/nvidia-nvswitch/devices").mkdir(parents=True)
    product_data = tmp_path / "sys/class/infiniband/mlx5_0/device/vpd"
    product_data.parent.mkdir(parents=True)
    product_data.write_bytes(b"\x82plain card")
    fabric.check(root)
    product_data.write_bytes(b"\x82..SW_MNG..")
    with pytest.raises(ComponentError, match="FabricManagerPartitioning"):
        fabric.check(root)
    product_data.unlink()
    (tmp_path / "proc/driver/nvidia-nvswitch/devices/0000:07:00.0").touch()
    assert fabric.has_fabric(root)
