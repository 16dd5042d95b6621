"""Where functions use a constant: a mutant of a module's table or of a class attribute shows up there.

Reads syntax only. A name is followed through imports and through other constants that are computed from it; a class
attribute is followed by its name alone, whatever object it is read from, which can only add scenarios.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from verification.mutation_survey.components import COMPONENTS, ROOT, files_of, module_of

_Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class _Use:
    """One read of a name. `statement` is the first line of its statement, `function` whether a function contains it."""

    path: str
    line: int
    statement: int
    function: bool


@dataclass(frozen=True, slots=True)
class _Names:
    """The reads in one file, by plain name and by attribute; `imported` has (module, name) by the local name."""

    plain: dict[str, list[_Use]]
    attributes: dict[str, list[_Use]]
    imported: dict[str, tuple[str, str]]


def of_line(path: str, line: int, root: Path = ROOT) -> frozenset[tuple[str, int]]:
    """Return (path, line) of each use, in a function, of what the import-time statement at this line defines.

    Empty if the line is in no assignment, or nothing in a function uses it.
    """
    return _of_line(path, line, root, frozenset())


def _of_line(path: str, line: int, root: Path, visited: frozenset[tuple[str, int]]) -> frozenset[tuple[str, int]]:
    if (path, line) in visited:
        return frozenset()
    visited |= {(path, line)}
    found: set[tuple[str, int]] = set()
    for name, in_class in _defined(path, line, root):
        for use in _uses(path, name, in_class, root):
            if use.function:
                found.add((use.path, use.line))
            else:
                found |= _of_line(use.path, use.statement, root, visited)
    return frozenset(found)


def _defined(path: str, line: int, root: Path) -> Iterator[tuple[str, bool]]:
    """Yield the names that the import-time assignment at a line binds, and whether they are class attributes."""
    body, in_class = _tree(root / path).body, False
    while True:
        around = next((one for one in body if one.lineno <= line <= (one.end_lineno or one.lineno)), None)
        if not isinstance(around, ast.ClassDef):
            break
        body, in_class = around.body, True
    if isinstance(around, (ast.Assign, ast.AnnAssign)):
        for target in around.targets if isinstance(around, ast.Assign) else [around.target]:
            yield from ((one.id, in_class) for one in ast.walk(target) if isinstance(one, ast.Name))


def _uses(path: str, name: str, in_class: bool, root: Path) -> Iterator[_Use]:
    own = module_of(root / path, root)
    for other, names in _all(root).items():
        if in_class:
            yield from names.attributes.get(name, ())
            continue
        if other == path:
            yield from names.plain.get(name, ())
        for local, (module, origin) in names.imported.items():
            if (module, origin) == (own, name):
                yield from names.plain.get(local, ())
            elif f"{module}.{origin}".strip(".") == own:
                yield from names.attributes.get(name, ())


@functools.cache
def _all(root: Path) -> dict[str, _Names]:
    files = {path for one in COMPONENTS for path in files_of(one, root)}
    return {path.relative_to(root).as_posix(): _names(path, root) for path in sorted(files)}


def _names(file: Path, root: Path) -> _Names:
    path = file.relative_to(root).as_posix()
    made = _Names({}, {}, {})

    def visit(node: ast.AST, statement: int, function: bool) -> None:
        if isinstance(node, ast.ImportFrom):
            made.imported.update({one.asname or one.name: (node.module or "", one.name) for one in node.names})
        elif isinstance(node, ast.Import):
            made.imported.update({one.asname or one.name: ("", one.name) for one in node.names})
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            made.plain.setdefault(node.id, []).append(_Use(path, node.lineno, statement, function))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            # The name of an attribute is at the end of its node, which can be a later line than the start.
            line = node.end_lineno or node.lineno
            made.attributes.setdefault(node.attr, []).append(_Use(path, line, statement, function))
        begins = node.lineno if isinstance(node, ast.stmt) else statement
        for child in ast.iter_child_nodes(node):
            visit(child, begins, function or isinstance(node, _Function))

    visit(_tree(file), 1, False)
    return made


@functools.cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text())
