"""A real kubelet of another release than the API server: `--kubelet kubelet:VERSION`."""

from __future__ import annotations

from pathlib import Path

import pytest

from dra_api.clock import RealClock
from dra_conformance.control_plane.embedded import EmbeddedControlPlane
from dra_conformance.core.errors import UsageError
from dra_conformance.core.options import RunOptions
from dra_conformance.core.rules import Version
from dra_conformance.engine import preflight, target_discovery


@pytest.mark.parametrize("kubelet", ["v1.37.2", "v1.36.3", "v1.34.4"])
def test_a_kubelet_may_be_three_minor_versions_older(kubelet: str) -> None:
    preflight.check_version_skew(kubelet, "v1.37.2")


@pytest.mark.parametrize(
    ("kubelet", "server"), [("v1.33.1", "v1.37.2"), ("v1.37.0", "v1.36.3"), ("v2.36.0", "v1.37.2")]
)
def test_another_one_is_refused(kubelet: str, server: str) -> None:
    with pytest.raises(UsageError, match=f"{kubelet}: not supported with kube-apiserver {server}"):
        preflight.check_version_skew(kubelet, server)


def test_the_plan_knows_its_release_and_its_gates(tmp_path: Path) -> None:
    plane = EmbeddedControlPlane(kubernetes_version="1.37", directory=tmp_path, clock=RealClock(), seed=1)
    options = RunOptions(kubelet="kubelet:1.36.3", feature_gates=("DRADeviceTaints=true",))
    target = target_discovery.discover(plane, options)
    assert target.older_kubelet == Version(1, 36)
    assert "DRADeviceTaints" not in target.gates_off_in_kubelet
    # New in 1.37.
    assert "DRADerivedAttributes" in target.gates_off_in_kubelet
    same = RunOptions(kubelet="kubelet:v1.37.1")
    assert target_discovery.discover(plane, same).older_kubelet is None
