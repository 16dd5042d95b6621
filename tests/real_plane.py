"""The control plane of Kubernetes' own programs, for tests that need a real API server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dra_conformance.control_plane.binaries import BinariesControlPlane, ProgramsMissing, Wanted, find
from verification.third_party.catalogue import KUBERNETES


@contextmanager
def real_plane(folder: Path) -> Iterator[BinariesControlPlane]:
    """Start one in a folder; without programs the test is skipped, and fails if CI promises them."""
    try:
        find(Wanted(KUBERNETES))
    except ProgramsMissing as error:
        if os.environ.get("CI", "").lower() == "true":
            raise
        pytest.skip(f"no real control plane on this machine: {error.message}")
    with BinariesControlPlane(kubernetes_version=KUBERNETES, directory=folder / "api", logs=folder / "logs") as made:
        yield made
