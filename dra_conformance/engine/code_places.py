"""Finds the source lines of Python objects, C sources and mutants."""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

import fake_nvml
from dra_conformance.core import assets
from dra_conformance.engine.mutation import Mutant, Patch


class Place(msgspec.Struct, frozen=True):
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Target(msgspec.Struct, frozen=True):
    """The code that a mutant replaces: `module:attribute` or a C source file."""

    name: str
    place: Place


class RecordingPatch(Patch):
    """Records the targets of a mutant and changes nothing."""

    def __init__(self) -> None:
        super().__init__(Path())
        self.targets: list[Target] = []

    def replace(self, target: str, new: Any) -> None:
        """Record the target."""
        self.targets.append(Target(target, of_target(target)))

    def wrap(self, target: str, make: Callable[[Any], Any]) -> None:
        """Record the target."""
        self.replace(target, None)

    def source(self, file: str, old: str, new: str) -> None:
        """Record the line of the C source."""
        path = Path(fake_nvml.__file__).parent / "src" / file
        text = path.read_text(encoding="utf-8")
        # The replaced text may begin with line breaks, which are not its first line.
        start = text.find(old) + len(old) - len(old.lstrip("\n"))
        name = f"fake_nvml/src/{file}"
        self.targets.append(Target(name, Place(assets.relative(path), text.count("\n", 0, start) + 1)))


def targets(mutant: Mutant) -> list[Target]:
    """Return the code that a mutant replaces, without replacing it."""
    patch = RecordingPatch()
    mutant.apply(patch)
    return list(dict.fromkeys(patch.targets))


def of_function(function: Callable[..., Any]) -> Place:
    """Return the first line of a function, with its decorators."""
    code = inspect.unwrap(function).__code__
    return Place(assets.relative(Path(code.co_filename)), code.co_firstlineno)


def of_target(target: str) -> Place:
    """Return the place of `module:attribute.path`.

    Raises:
        SpecificationError: there is no such attribute.
    """
    module, _, path = target.partition(":")
    holder, name, found = Patch.find(target)
    raw = inspect.getattr_static(holder, name)
    if isinstance(raw, property | functools.cached_property):
        found = raw.fget if isinstance(raw, property) else raw.func
    found = inspect.unwrap(getattr(found, "__func__", found)) if callable(found) else found
    if isinstance(found, functools.partial):
        found = found.func
    if inspect.isfunction(found):
        return of_function(found)
    if inspect.isclass(found) and (place := _assignment(found.__module__, found.__qualname__.split("."))):
        return place
    # A constant has no line of its own at run time: look at the source.
    return _assignment(module, path.split(".")) or Place(assets.relative(_file(module)), 1)


def _file(module: str) -> Path:
    spec = importlib.util.find_spec(module)
    return Path(spec.origin) if spec is not None and spec.origin else Path(module)


def _assignment(module: str, path: Sequence[str]) -> Place | None:
    file = _file(module)
    if file.suffix != ".py":
        return None
    body: Sequence[ast.stmt] = _parsed(file).body
    node: ast.stmt | None = None
    for part in path:
        node = next((each for each in body if part in _names(each)), None)
        if node is None:
            return None
        body = node.body if isinstance(node, ast.ClassDef) else ()
    return Place(assets.relative(file), node.lineno) if node is not None else None


@functools.cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _names(node: ast.stmt) -> set[str]:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return {name}
        case ast.Assign(targets=assigned):
            return {each.id for part in assigned for each in ast.walk(part) if isinstance(each, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case ast.Import(names=imported) | ast.ImportFrom(names=imported):
            return {each.asname or each.name for each in imported}
    return set()
