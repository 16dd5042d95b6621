"""Which NVML a program of the driver loads: that of its driver root, else the one that the loader finds.

Source: cmd/gpu-kubelet-plugin/root.go and nvlib.go of NVIDIA's driver v0.5.0 (the library is looked for in the root).
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
from pathlib import Path
from types import ModuleType

from reference_impl.kubelet_plugin.driver_root import LIBRARY_FOLDERS


def pynvml_with(driver_root: Path) -> ModuleType:
    """Return pynvml. If the root has the library, pynvml loads that one.

    The loader knows a loaded library by its name, `libnvidia-ml.so.1`, and does not search for it again. A library that
    cannot be loaded (of another machine's type, or damaged) leaves the search to the loader.
    """
    if driver_root != Path("/"):
        found = (
            file for folder in LIBRARY_FOLDERS for file in sorted((driver_root / folder).glob("libnvidia-ml.so.*"))
        )
        with contextlib.suppress(StopIteration, OSError):
            ctypes.CDLL(str(next(found)), mode=ctypes.RTLD_GLOBAL)
    return importlib.import_module("pynvml")
