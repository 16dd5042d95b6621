"""How a program that runs on the fake NVML says so to those who see only its ResourceSlices."""

from __future__ import annotations

import ctypes

ANNOTATION = "dra-conformance/simulated"
"""Annotation of a ResourceSlice. Its value names what is simulated: `GPUs`."""

GPUS = "GPUs"
_ONLY_HERE = "fnvml_use_state"


def is_loaded() -> bool:
    """Return whether the NVML that this process loads is the fake one, known by a function that no other has."""
    try:
        return hasattr(ctypes.CDLL("libnvidia-ml.so.1"), _ONLY_HERE)
    except OSError:  # no NVML at all
        return False
