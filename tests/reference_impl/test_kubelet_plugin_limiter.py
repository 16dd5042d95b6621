"""Limits of shares of memory and cores, and the files of the host that HAMi-core uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from nvml_double import Card, NvmlDouble

from reference_impl.kubelet_plugin.checkpoint import ClaimEntry, ClaimState
from reference_impl.kubelet_plugin.claims import Result
from reference_impl.kubelet_plugin.configs import GpuConfig
from reference_impl.kubelet_plugin.device_config import ConfiguredDevice
from reference_impl.kubelet_plugin.discovery import Nvml
from reference_impl.kubelet_plugin.limiter import Limiter, consumed_of


@pytest.fixture
def limiter(tmp_path: Path) -> Limiter:
    return Limiter(tmp_path / "vgpu")


def configured(*shares: tuple[str, dict[str, Any]]) -> list[ConfiguredDevice]:
    """Return allocation results of two GPUs; gpu-0 has the higher PCI address."""
    cards = [Card(0, "GPU-0", bus_id="00000000:90:00.0"), Card(1, "GPU-1", bus_id="00000000:10:00.0")]
    found = Nvml(NvmlDouble(cards)).discover(Path("/nonexistent"))
    items = []
    for name, consumed in shares:
        device = found.device(name)
        assert device is not None
        result = Result(request="gpu", pool="n1", device=name, admin_access=False, share_id=None, consumed=consumed)
        items.append(ConfiguredDevice(result, device, GpuConfig()))
    return items


def test_shares_of_one_device_add_up() -> None:
    shares = [("a", {"cores": "20", "memory": "1Gi"}), ("b", {"cores": 5}), ("a", {"cores": "30", "memory": "1Mi"})]
    assert consumed_of(shares) == {"a": {"cores": 50, "memory": 1025 << 20}, "b": {"cores": 5}}


def test_limits_are_numbered_by_pci_address(limiter: Limiter) -> None:
    plan = limiter.plan("u1", configured(("gpu-0", {"cores": "60"}), ("gpu-1", {"cores": "30", "memory": "1500Mi"})))
    assert plan["limiter"]["limits"] == [
        "CUDA_DEVICE_SM_LIMIT_0=30",
        "CUDA_DEVICE_MEMORY_LIMIT_0=1500m",
        "CUDA_DEVICE_SM_LIMIT_1=60",
    ]


def test_a_claim_without_consumed_capacity_has_nothing_of_the_limiter(limiter: Limiter) -> None:
    plan = limiter.plan("u1", configured(("gpu-0", {})))
    assert plan == {}
    limiter.apply(plan)
    assert (limiter.edits(plan), limiter.folder.exists()) == ({}, False)


def test_folders_live_from_apply_to_undo(limiter: Limiter) -> None:
    plan = limiter.plan("u1", configured(("gpu-0", {"cores": "60"})))
    limiter.apply(plan)
    folder = limiter.folder / "claims/u1"
    # A container's processes may run as any user.
    assert [path.stat().st_mode & 0o777 for path in (folder, limiter.folder / "lock")] == [0o777, 0o777]
    mounts = {one["containerPath"]: one["hostPath"] for one in limiter.edits(plan)["mounts"]}
    assert mounts["/usr/local/vgpu/claims/u1"] == str(folder)
    entry = ClaimEntry(state=ClaimState.COMPLETED, status={}, name="c", namespace="ns", config_state=plan)
    limiter.undo(entry)
    limiter.undo(entry)
    assert not folder.exists()


def test_sweep_keeps_the_folders_of_prepared_claims(limiter: Limiter) -> None:
    for uid in ("u1", "u2"):
        limiter.apply(limiter.plan(uid, configured(("gpu-0", {"cores": "10"}))))
    assert list(limiter.sweep({"u2"})) == ["u1"]
    assert [path.name for path in limiter.folder.glob("claims/*")] == ["u2"]
