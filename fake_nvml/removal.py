"""Removal of a node, or of a rack, by its folder, also if the node cannot be opened any more.

`Node.close` removes a node that this process has open. This module removes folders whose state is damaged or was
written by another version of this package. It only removes folders with the files that `Node.create` writes.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Final

from fake_nvml.errors import FakeNvmlError, StateError
from fake_nvml.node import Node
from fake_nvml.state import FIRST

_MADE_OF: Final = (FIRST, "driver/usr/lib64/libnvidia-ml.so.1")


def remove_node(directory: Path | str) -> list[Path]:
    """Remove the node in `directory`, or every node of the rack in it, with its folder.

    Programs that use a node get Driver Not Loaded, unless the state cannot be read; the files are removed in any case.

    Returns: the folders of the removed nodes.
    Raises: FakeNvmlError for a folder that is neither a node's nor a rack's; nothing was removed then.
    """
    folder = Path(directory).resolve()
    if _is_node(folder):
        _end(folder)
        return [folder]
    inside = sorted(folder.iterdir()) if folder.is_dir() else []
    if not inside or not all(_is_node(path) for path in inside):
        raise FakeNvmlError(f"{folder} is no node's folder and no rack's: nothing was removed")
    for path in inside:
        _end(path)
    folder.rmdir()
    return inside


def _is_node(folder: Path) -> bool:
    return all((folder / name).exists() for name in _MADE_OF)


def _end(folder: Path) -> None:
    # A state that cannot be read cannot notify its users; the files go in any case.
    with contextlib.suppress(StateError):
        node = Node.open(folder)
        node.own()
        node.close()
    shutil.rmtree(folder, ignore_errors=True)
