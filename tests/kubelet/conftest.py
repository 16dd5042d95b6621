"""Fixtures: one node on a fake API server; see kubelet_world."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from kubelet_world import World


@pytest.fixture
def world() -> Iterator[World]:
    # Short, because a socket path may have 107 bytes only.
    root = Path(tempfile.mkdtemp(prefix="kt"))
    world = World(root / "n")
    yield world
    world.close()
    shutil.rmtree(root)


@pytest.fixture
def node(world: World) -> World:
    world.kubelet.start()
    return world
