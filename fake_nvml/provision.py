"""The fake node of a machine in a cluster: created once, kept over restarts of its driver, replaced on a new inventory.

A folder, such as the volume of a ConfigMap, has the inventories: `<machine>.yaml` for one machine, `default.yaml` for
all others. A file is an inventory, or just the name of a shipped one.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import yaml

from dra_api import plain_yaml, regular_file
from fake_nvml.errors import FakeNvmlError
from fake_nvml.inventory import Inventory
from fake_nvml.node import Node
from fake_nvml.removal import remove_node

DEFAULT = "default"


def provision(directory: Path, *, machine: str, inventories: Path) -> bool:
    """Make the fake node of a machine in `directory`, unless it is there with the same inventory.

    Args:
        directory: the node's folder. A file beside it, `<directory>.inventory`, has the text of its inventory.
        machine: the name of the machine (of the Node object), from which UUIDs and serial numbers are derived.
        inventories: the folder of the inventories.

    Returns: whether a node was made.
    Raises: FakeNvmlError for a machine without an inventory, an invalid inventory, or a folder that cannot be used.
    """
    source = _source(inventories, machine)
    try:
        text = regular_file.read_text(source)
    except (OSError, UnicodeDecodeError) as error:
        raise FakeNvmlError(f"{source}: cannot be read: {error}") from error
    record = directory.with_name(f"{directory.name}.inventory")
    wanted = f"{machine}\n{text}"
    if (directory / "state").exists():
        if record.exists() and record.read_text(encoding="utf-8") == wanted:
            return False
        remove_node(directory)
    elif directory.exists():  # of a start that was interrupted
        shutil.rmtree(directory)
    with Node.create(_inventory(source, text), directory, name=machine) as node:
        # Containers of any user may read it; on the node its folder is closed to other users.
        node.state_path.chmod(0o644)
        node.keep()
    new = record.with_name(f"{record.name}.new")
    new.write_text(wanted, encoding="utf-8")
    os.replace(new, record)
    return True


def _source(inventories: Path, machine: str) -> Path:
    for name in (machine, DEFAULT):
        if (path := inventories / f"{name}.yaml").is_file():
            return path
    raise FakeNvmlError(f"{inventories} has no inventory for {machine}: neither {machine}.yaml nor {DEFAULT}.yaml")


def _inventory(source: Path, text: str) -> Inventory:
    try:
        content = plain_yaml.load(text)
    except yaml.YAMLError:
        content = None  # Inventory.load names the line
    return Inventory.load(content if isinstance(content, str) else source)
