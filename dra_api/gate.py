"""What is known about a feature gate in one release of Kubernetes. The gates themselves are in `feature_gate_table`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Stage = Literal["Alpha", "Beta", "GA", "Deprecated"]

DRA_PREFIXES = ("DRA", "DynamicResourceAllocation", "ResourceHealthStatus")
"""The names of DRA's gates begin with one of these."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate in one release. `needs` are the gates that must be on where this one is; servers check it since 1.35."""

    default: bool
    stage: Stage
    locked: bool = False
    needs: tuple[str, ...] = ()
