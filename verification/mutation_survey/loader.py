"""Imports one module with mutated source, in the process of a trial and in the Python processes that it starts.

Uses nothing but the standard library: every process of a mutant imports it at its start.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType

_MODULE, _SOURCE = "DRA_SURVEY_MODULE", "DRA_SURVEY_SOURCE"
_HOOK = Path(__file__).resolve().parent / "subprocess_hook"


class MutantFinder(importlib.abc.MetaPathFinder):
    """Finds one module with another source. Its file name stays the original one."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the usual spec of the module, with a loader that compiles the mutated source."""
        if fullname != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin, self.source)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self._mutated = source

    def get_code(self, fullname: str) -> CodeType:
        """Compile the mutated source. Cached bytecode is neither read nor written."""
        found: CodeType = compile(self._mutated, self.path, "exec", dont_inherit=True)
        return found

    def get_source(self, fullname: str) -> str:
        """Return the mutated source, for tracebacks."""
        return self._mutated


def install(name: str, source: str, scratch: Path) -> None:
    """Let this process and its children import the module `name` from `source`.

    Raises RuntimeError if this process has imported the module already.
    """
    if name in sys.modules:
        raise RuntimeError(f"{name} is imported already; the mutant would not run")
    file = scratch / "mutant.py"
    file.write_text(source)
    os.environ[_MODULE], os.environ[_SOURCE] = name, str(file)
    extend_path_of_children()
    sys.meta_path.insert(0, MutantFinder(name, source))


def extend_path_of_children() -> None:
    """Let the Python processes that are started from now on import `subprocess_hook/sitecustomize.py`."""
    root = Path(__file__).resolve().parents[2]
    known = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(_HOOK), str(root), *([known] if known else [])])


def install_from_environment() -> None:
    """Install the mutant of the parent process, if it has one."""
    if name := os.environ.get(_MODULE):
        sys.meta_path.insert(0, MutantFinder(name, Path(os.environ[_SOURCE]).read_text()))
