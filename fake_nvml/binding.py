"""Unmodified `pynvml` for one node, for many nodes of one process, or for real hardware.

`pynvml` loads one library per process and keeps it in a module global. `load_pynvml(node)` executes a fresh copy of
the installed module, from its own unpatched source, whose library is a copy of the fake that is bound to that node;
its global state, refcount and exception classes are its own. So an in-process driver for each of many nodes can run
at once: hand it the module instead of importing `pynvml`, and catch that module's `NVMLError`.

A copied module and library stay loaded until the process ends (a thread may still be inside a call; ctypes keeps every
structure type for good); after `Node.close` their calls answer Driver Not Loaded. A process that makes many nodes, one
after the other, uses a `PynvmlPool`: its modules are used again, 1 MB and 6 ms each.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import itertools
import sys
import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Protocol

from fake_nvml.errors import FakeNvmlError

_NUMBERS = itertools.count(1)
MODULE = "_fake_nvml_pynvml_"
"""The beginning of the name of every copied module."""


class BoundLibrary(Protocol):
    """The part of a node that `load_pynvml` needs."""

    @property
    def state_path(self) -> Path:
        """The node's state file."""
        ...

    def copy_library(self) -> Path:
        """A new copy of the library, for one load."""
        ...


def load_pynvml(node: BoundLibrary | None) -> Any:
    """A `pynvml` module for `node`, or for the machine's own driver when `node` is None.

    Args:
        node: a `fake_nvml.Node`; None imports the installed `pynvml` unchanged, which loads NVIDIA's
            `libnvidia-ml.so.1` (or, in a process started with `Node.env()`, that node's fake).

    Returns: the module. The caller owns its nvmlInit and nvmlShutdown.
    """
    return importlib.import_module("pynvml") if node is None else PynvmlPool().load(node)


class PynvmlPool:
    """Modules for nodes that come and go. Thread-safe; modules and libraries live until the process ends.

    What is given back becomes as it was when it was loaded, its library uninitialised, and serves again after
    `_RESTING` others: a thread that was inside a call when its node ended is woken by that end, and has left by then.
    """

    def __init__(self) -> None:
        self._free: deque[_Lent] = deque()
        self._out: dict[int, _Lent] = {}
        self._lock = threading.Lock()

    def load(self, node: BoundLibrary) -> Any:
        """A `pynvml` module for `node`, until `give_back`; see `load_pynvml`."""
        with self._lock:
            lent = self._free.popleft() if len(self._free) > _RESTING else None
        if lent is None:
            module = _fresh_copy()
            lent = _Lent(module, dict(vars(module)), _load(node))
        _bind(lent.module, ctypes.CDLL("", handle=lent.library._handle), node)
        with self._lock:
            self._out[id(lent.module)] = lent
        return lent.module

    def give_back(self, module: Any) -> None:
        """Take back a module that is no longer used, because its node and every driver that used it have ended.

        Raises KeyError for a module that this pool did not load.
        """
        with self._lock:
            lent = self._out.pop(id(module))
            # Once for each nvmlInit: the library counts them.
            while lent.library.nvmlShutdown() == 0:
                pass
            vars(module).update(lent.fresh)
            module._nvmlGetFunctionPointer_cache.clear()  # the one table among its globals that is filled by calls
            self._free.append(lent)


_RESTING = 4


@dataclass(frozen=True, slots=True)
class _Lent:
    module: ModuleType
    fresh: dict[str, Any]
    library: ctypes.CDLL


def _load(node: BoundLibrary) -> ctypes.CDLL:
    copy = node.copy_library()
    try:
        return ctypes.CDLL(str(copy))
    finally:
        copy.unlink(missing_ok=True)  # what is mapped stays


def _bind(module: ModuleType, library: ctypes.CDLL, node: BoundLibrary) -> None:
    if library.fnvml_use_state(str(node.state_path).encode()) != 0:
        raise FakeNvmlError(f"the path of the node state is too long: {node.state_path}")
    module.nvmlLib = library  # type: ignore[attr-defined]  # pynvml loads nothing itself while this is set


def _fresh_copy() -> ModuleType:
    found = importlib.util.find_spec("pynvml")
    if found is None or found.origin is None:
        raise FakeNvmlError("nvidia-ml-py (the `pynvml` module) is not installed: pip install nvidia-ml-py")
    name = f"{MODULE}{next(_NUMBERS)}"
    spec = importlib.util.spec_from_file_location(name, found.origin)
    if spec is None or spec.loader is None:
        raise FakeNvmlError(f"cannot load {found.origin}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its error classes are made through sys.modules
    exec(_code(found.origin), module.__dict__)  # noqa: S102 - the installed module's own code
    return module


@functools.cache
def _code(origin: str) -> CodeType:
    """pynvml's code, compiled once; every copy executes it anew."""
    return compile(Path(origin).read_bytes(), origin, "exec", dont_inherit=True)
