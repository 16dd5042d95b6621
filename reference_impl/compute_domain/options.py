"""What the fabric's parts are told at their start: gates, and who runs the IMEX daemons. Values only.

Source: pkg/featuregates of kubernetes-sigs/dra-driver-nvidia-gpu at 95932046; rule NV-017.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from reference_impl.kubelet_plugin.options import read_gates


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricGates:
    """The gates of the ComputeDomain driver that this reference knows, by their upstream names and defaults."""

    CrashOnNVLinkFabricErrors: bool = True

    @classmethod
    def parse(cls, text: str) -> FabricGates:
        """Read `Gate=true,Other=false`. Raises OptionError for an unknown gate or value."""
        return cls(**read_gates(text, known={f.name for f in fields(cls)}))
