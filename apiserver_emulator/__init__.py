"""The embedded control plane: a Kubernetes API server emulation in this process, in memory.

`ApiServerEmulator` is imported on first use, so that reading a sub-package does not load the HTTPS server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from apiserver_emulator.emulator import ApiServerEmulator

__all__ = ["ApiServerEmulator"]


def __getattr__(name: str) -> Any:
    if name == "ApiServerEmulator":
        from apiserver_emulator.emulator import ApiServerEmulator  # slow to import, see above

        return ApiServerEmulator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
