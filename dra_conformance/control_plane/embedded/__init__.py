"""The embedded control plane: a Kubernetes API server emulation in this process, in memory.

`EmbeddedControlPlane` is imported on first use, so that reading a sub-package does not load the HTTPS server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dra_conformance.control_plane.embedded.control_plane import EmbeddedControlPlane

__all__ = ["EmbeddedControlPlane"]


def __getattr__(name: str) -> Any:
    if name == "EmbeddedControlPlane":
        from dra_conformance.control_plane.embedded.control_plane import EmbeddedControlPlane

        return EmbeddedControlPlane
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
