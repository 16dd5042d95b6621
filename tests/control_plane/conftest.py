"""Programs that only look like Kubernetes', and the real ones where they are built."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dra_conformance.control_plane.binaries import BinariesControlPlane
from tests.real_plane import real_plane

Pretend = Callable[..., Path]


@pytest.fixture
def pretend() -> Pretend:
    """Makes a program that tells a version and does nothing else, or runs the shell lines `body`."""

    def make(folder: Path, name: str, version: str = "", *, body: str = "") -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "Kubernetes {version}" && exit 0\n{body}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BinariesControlPlane]:
    """A real control plane, started; without programs the test is skipped, and fails where CI promises them."""
    with real_plane(tmp_path_factory.mktemp("plane")) as made:
        yield made
