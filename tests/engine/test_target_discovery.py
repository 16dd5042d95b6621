"""What the run finds out about the cluster before the first scenario."""

from __future__ import annotations

from typing import cast

import pytest

from dra_conformance.control_plane.base import ControlPlane
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.options import RunOptions
from dra_conformance.engine.target_discovery import discover


class Older:
    """A cluster before the API."""

    own = False

    def start(self) -> None:
        pass

    def version(self) -> str:
        return "1.33"


def test_a_cluster_without_the_api_is_refused() -> None:
    with pytest.raises(TargetUnreachable, match=r"Kubernetes 1\.33, .* before 1\.34 have no resource\.k8s\.io/v1"):
        discover(cast(ControlPlane, Older()), RunOptions())
