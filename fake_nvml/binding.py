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
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Protocol

from fake_nvml.errors import FakeNvmlError

_NUMBERS = itertools.count(1)


class BoundLibrary(Protocol):
    """What `load_pynvml` needs of a node."""

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
    if node is None:
        return importlib.import_module("pynvml")
    module = _fresh_copy()
    _bind(module, node)
    return module


class PynvmlPool:
    """Modules for nodes that come and go. Thread-safe; the modules live until the process ends.

    A module that is given back becomes as it was after its import, and is bound to another library of its own: a thread
    that still called into the old one would have to take it from the module anew.
    """

    def __init__(self) -> None:
        self._free: list[tuple[ModuleType, dict[str, Any]]] = []
        self._out: dict[int, tuple[ModuleType, dict[str, Any]]] = {}
        self._lock = threading.Lock()

    def load(self, node: BoundLibrary) -> Any:
        """A `pynvml` module for `node`, until `give_back`; see `load_pynvml`."""
        with self._lock:
            held = self._free.pop() if self._free else None
        if held is None:
            module = _fresh_copy()
            held = (module, dict(vars(module)))
        _bind(held[0], node)
        with self._lock:
            self._out[id(held[0])] = held
        return held[0]

    def give_back(self, module: Any) -> None:
        """Nobody uses `module` any more: every driver that had it has ended. Raises KeyError for one not from here."""
        with self._lock:
            held = self._out.pop(id(module))
            vars(module).update(held[1])
            module._nvmlGetFunctionPointer_cache.clear()  # the one table among its globals that is filled by calls
            self._free.append(held)


def _bind(module: ModuleType, node: BoundLibrary) -> None:
    copy = node.copy_library()
    try:
        library = ctypes.CDLL(str(copy))
    finally:
        copy.unlink(missing_ok=True)  # what is mapped stays
    if library.fnvml_use_state(str(node.state_path).encode()) != 0:
        raise FakeNvmlError(f"the path of the node state is too long: {node.state_path}")
    module.nvmlLib = library  # type: ignore[attr-defined]  # pynvml loads nothing itself while this is set


def _fresh_copy() -> ModuleType:
    found = importlib.util.find_spec("pynvml")
    if found is None or found.origin is None:
        raise FakeNvmlError("nvidia-ml-py (the `pynvml` module) is not installed: pip install nvidia-ml-py")
    name = f"_fake_nvml_pynvml_{next(_NUMBERS)}"
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
