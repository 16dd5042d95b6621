"""A rack: nodes whose GPUs are one NVLink fabric, such as the 18 compute trays of an NVL72.

`create_rack` makes ordinary nodes side by side, each in a folder of its own with a state of its own; what they share
is the cluster UUID, the clique and the chassis that their GPUs name. No state reaches over nodes: who breaks a link
between two of them changes both. The caller closes every node.
"""

from __future__ import annotations

import dataclasses
import uuid
from pathlib import Path
from typing import Final

from fake_nvml.errors import FakeNvmlError
from fake_nvml.inventory import GpuSpec, Inventory, gpu_serial
from fake_nvml.node import Node

NVL72_NODES: Final = 18
_NAMESPACE: Final = uuid.UUID("c0a1f3a4-6a0e-5d0b-8a5e-6f1f1d3f7b10")


def create_rack(
    directory: Path | str,
    *,
    inventory: Inventory | str | Path = "gb200-nvl72-node",
    nodes: int = NVL72_NODES,
    name: str | None = None,
) -> list[Node]:
    """Make the nodes of one rack.

    Args:
        directory: gets one folder a node: `node-01`, `node-02`, …
        inventory: what each node has.
        nodes: how many; an NVL72 has 18.
        name: the rack's name, from which its cluster UUID and chassis serial are made; by default the folder's.

    Returns: the nodes in the order of their trays.
    Raises: InventoryError; FakeNvmlError for a folder in use or a number of nodes that is none.
    """
    if nodes < 1:
        raise FakeNvmlError(f"a rack has at least one node, not {nodes}")
    if not isinstance(inventory, Inventory):
        inventory = Inventory.load(inventory)
    folder = Path(directory).resolve()
    rack = name or folder.name
    cluster, chassis = uuid.uuid5(_NAMESPACE, rack).bytes, gpu_serial(rack, "chassis")
    made: list[Node] = []
    try:
        for tray in range(nodes):
            gpus = tuple(_in_tray(spec, tray, cluster, chassis) for spec in inventory.gpus)
            alias = f"node-{tray + 1:02d}"
            made.append(Node.create(dataclasses.replace(inventory, gpus=gpus), folder / alias, name=f"{rack}/{alias}"))
    except FakeNvmlError:
        for node in made:
            node.close()
        raise
    return made


def _in_tray(spec: GpuSpec, tray: int, cluster: bytes, chassis: str) -> GpuSpec:
    place: dict[str, int | str] = {
        "platform_tray": tray,
        "platform_slot": tray + 1,
        "platform_chassis_serial": chassis,
    }
    return dataclasses.replace(spec, cluster_uuid=cluster, overrides={**spec.overrides, **place})
