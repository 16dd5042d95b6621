"""The comparison of drivers starts NVIDIA's program as the preset does."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from dra_api.client import KubeClient
from dra_conformance.core.driver_presets import nvidia
from verification.benchmarks.cluster import api_server
from verification.benchmarks.drivers import GPU, allocated, nvidia_driver, prepared, unprepared

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="the driver's mount namespace needs root here"),
    pytest.mark.skipif(bool(nvidia("driver", "").missing()), reason="NVIDIA's driver is not built"),
]


def test_nvidias_driver_registers_and_prepares_a_claim() -> None:
    # Its own folder: that of pytest is too long for the name of a socket.
    with (
        tempfile.TemporaryDirectory(prefix="dra-b-") as folder,
        api_server(real=False) as plane,
        nvidia_driver(plane, Path(folder) / "n1") as plugin,
    ):
        ref = allocated(KubeClient(plane.transport()), "train", "n1", "gpu-0", driver_name=GPU)
        assert prepared(plugin, ref) > 0
        unprepared(plugin, ref)
