"""Fake GPUs that real programs believe: a `libnvidia-ml.so.1` of its own with a whole node's state behind it.

    with fake_nvml.Node.create("dgx-h100") as node:
        pynvml = fake_nvml.load_pynvml(node)      # an unmodified pynvml, bound to this node
        pynvml.nvmlInit()
        node.inject_xid(0, 79)                    # seen by every process of the node at once
        subprocess.run([...], env={**os.environ, **node.env()})   # any program, its own process

On real hardware the same callers use `load_pynvml(None)` and get NVIDIA's library. Several nodes live side by side,
in one process or many; each ends with its `close`.
"""

from __future__ import annotations

from fake_nvml.binding import PynvmlPool, load_pynvml
from fake_nvml.errors import FakeNvmlError, InventoryError, LibraryMissingError, StateError
from fake_nvml.inventory import Inventory, inventory_names
from fake_nvml.library import library_path
from fake_nvml.node import Node
from fake_nvml.rack import create_rack
from fake_nvml.removal import remove_node
from fake_nvml.view import GpuView

__all__ = [
    "FakeNvmlError",
    "GpuView",
    "Inventory",
    "InventoryError",
    "LibraryMissingError",
    "Node",
    "PynvmlPool",
    "StateError",
    "create_rack",
    "inventory_names",
    "library_path",
    "load_pynvml",
    "remove_node",
]
