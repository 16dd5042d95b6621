"""Which modules the parent of the trials may import: all that do not import a mutated module.

A trial is a fork of a process that has imported as much as possible, because imports take longer than most trials. The
mutated module, and every module that imports it (directly or not), is imported in the trial.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import importlib.util
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from verification.mutation_survey.components import ROOT

_OWN = ("dra_api", "fake_nvml", "reference_impl", "apiserver_emulator", "dra_conformance")
# Parts of this program.
_NEVER = ("__main__", "__mp_main__", "sitecustomize", "coverage", "verification")


def load(modules: Sequence[str], mutated: Collection[str], root: Path = ROOT) -> None:
    """Import those of the modules that neither are mutated nor import a mutated one."""
    own = [name for name in modules if _top(name) in _OWN]
    # A module of an older map may be gone; an attempt to import it would import its packages.
    gone = {name for name in own if not _file(name, root).exists()}
    left_out = downstream(own, mutated, root) | gone
    for name in modules:
        if name not in left_out and _top(name) not in _NEVER:
            # A platform-specific or renamed module; the trial imports what it needs.
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    # The children would copy the memory pages that the garbage collector writes to.
    gc.collect()
    gc.freeze()


def downstream(modules: Sequence[str], mutated: Collection[str], root: Path = ROOT) -> set[str]:
    """Return the mutated modules and those that import one of them when they are imported themselves."""
    imports = {name: _imports(name, root) for name in modules}
    found = set(mutated)
    while more := {name for name, others in imports.items() if name not in found and others & found}:
        found |= more
    return found


def _imports(name: str, root: Path) -> set[str]:
    file = _file(name, root)
    if not file.exists():
        return set()
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    found = _with_parents(name) - {name}
    for node in _at_import(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found |= _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = importlib.util.resolve_name("." * node.level + base, package)
            found |= _with_parents(base) | {f"{base}.{alias.name}" for alias in node.names}
    return found


def _file(name: str, root: Path) -> Path:
    path = root.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements that run when a module is imported: nothing inside functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield child
            yield from _at_import(child)


def _with_parents(name: str) -> set[str]:
    parts = name.split(".")
    return {".".join(parts[: number + 1]) for number in range(len(parts))}


def _top(name: str) -> str:
    return name.partition(".")[0]
