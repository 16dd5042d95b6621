"""All mutants of a source file, each with a key that stays the same while its statement does."""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import libcst as cst
import msgspec
from libcst.metadata import MetadataWrapper, PositionProvider

from verification.mutation_survey.components import ROOT, Component, files_of, module_of
from verification.mutation_survey.operators import OPERATORS

_NEVER_CHANGED_CALLS = frozenset(("len", "isinstance", "TypeVar", "NewType", "cast", "getLogger"))
"""Calls whose changed arguments are an error at the call, or mean something to a type checker only."""


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a source file. `key` names it in stored results and in the classification."""

    key: str
    component: str
    module: str
    path: str
    line: int
    reached_at: tuple[int, ...]  # lines whose scenarios can detect the change, the best first
    every_line: bool = False  # the scenarios of all these lines, not only of the first that has any
    in_function: bool  # False: executed when the module is imported
    function: str
    operator: str
    number: int  # position among the mutants of the file: selects the change again
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node is: the names of its functions and classes, and the first line of its statement.

    `body` is the first line of the function's body for the defaults of its parameters.
    """

    scope: tuple[str, ...] = ()
    in_function: bool = False
    statement: int = 1
    body: int = 0


@dataclass(frozen=True, slots=True)
class _Change:
    line: int
    place: _Place
    operator: str
    old: cst.CSTNode
    new: cst.CSTNode


def of_component(component: Component, root: Path = ROOT) -> list[Mutant]:
    """Return all mutants of a component, in the order of the source."""
    return [mutant for path in files_of(component, root) for mutant in of_file(path, component.name, root)]


def of_file(path: Path, component: str, root: Path = ROOT) -> list[Mutant]:
    """Return all mutants of a file, in the order of the source."""
    module, changes = _changes(path.read_text())
    name = module_of(path, root)
    seen: Counter[str] = Counter()
    found = []
    for number, change in enumerate(changes):
        before, after = _difference(module.code_for_node(change.old), module.code_for_node(change.new))
        if before == after:
            continue
        function = ".".join(change.place.scope)
        base = f"{name}:{function}:{change.operator}"
        text = hashlib.sha256(f"{before}\0{after}".encode()).hexdigest()[:8]
        seen[f"{base}:{text}"] += 1
        found.append(
            Mutant(
                key=f"{base}:{text}.{seen[f'{base}:{text}']}",
                component=component,
                module=name,
                path=path.relative_to(root).as_posix(),
                line=change.line,
                reached_at=(change.place.body,) if change.place.body else (change.line, change.place.statement),
                in_function=change.place.in_function,
                function=function,
                operator=change.operator,
                number=number,
                before=before,
                after=after,
            )
        )
    return found


def _difference(old: str, new: str) -> tuple[str, str]:
    """Return the lines that differ: the body of a loop is not part of a change of its head, nor of its key."""
    before, after = old.strip().splitlines(), new.strip().splitlines()
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    while before and after and before[0] == after[0]:
        before, after = before[1:], after[1:]
    return "\n".join(before), "\n".join(after)


def mutated_source(mutant: Mutant, root: Path = ROOT) -> str | None:
    """Return the source of the mutant's file with the change, or None if the result is not valid Python."""
    module, changes = _changes((root / mutant.path).read_text())
    change = changes[mutant.number]
    changed = module.deep_replace(change.old, change.new)
    assert isinstance(changed, cst.Module)  # noqa: S101 - for the type checker; a module stays one
    try:
        ast.parse(changed.code)
    except SyntaxError:
        return None
    return changed.code


def diff(mutant: Mutant, root: Path = ROOT) -> str:
    """Return the change as a unified diff with three lines of context."""
    old = (root / mutant.path).read_text()
    new = mutated_source(mutant, root) or old
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), mutant.path, mutant.path, lineterm="")
    return "\n".join(lines)


_PARSED: dict[str, tuple[cst.Module, list[_Change]]] = {}


def _changes(source: str) -> tuple[cst.Module, list[_Change]]:
    """Parse a source and return all changes. The last result is kept, because mutants come file by file."""
    if source not in _PARSED:
        wrapper = MetadataWrapper(cst.parse_module(source))
        lines = {node: where.start.line for node, where in wrapper.resolve(PositionProvider).items()}
        _PARSED.clear()
        _PARSED[source] = (wrapper.module, list(_walk(wrapper.module, lines, _Place())))
    return _PARSED[source]


def _walk(node: cst.CSTNode, lines: Mapping[cst.CSTNode, int], place: _Place) -> Iterator[_Change]:
    if _left_out(node, place.scope):
        return
    line = lines.get(node)
    if line is not None:
        if isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
            place = replace(place, statement=line)
        for kind, name, operator in OPERATORS:
            if isinstance(node, kind):
                for new in operator(node):
                    yield _Change(line, place, name, node, new)
    inner = place
    if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        inner = replace(place, scope=(*place.scope, node.name.value))
        if isinstance(node, cst.FunctionDef):
            inner = replace(inner, in_function=True)
    for child in node.children:
        if isinstance(child, cst.Parameters) and isinstance(node, cst.FunctionDef):
            # Defaults are evaluated when the module is imported, but matter when the function is called.
            yield from _walk(child, lines, replace(inner, body=_first_line(node, lines)))
        else:
            yield from _walk(child, lines, inner)


def _first_line(function: cst.FunctionDef, lines: Mapping[cst.CSTNode, int]) -> int:
    """Return the line of the first statement of a function that runs: not its docstring."""
    statements = function.body.body
    first = statements[0]
    if len(statements) > 1 and isinstance(first, cst.SimpleStatementLine) and isinstance(first.body[0], cst.Expr):
        first = statements[1]
    return lines[first]


def _left_out(node: cst.CSTNode, scope: tuple[str, ...]) -> bool:
    """Whether no run of the program can depend on a node, or any change of it is an error when it is imported."""
    if isinstance(node, (cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom, cst.TypeAlias)):
        return True
    if isinstance(node, cst.Param) and node.default is not None:
        return not isinstance(node.default, (cst.Name, cst.BaseNumber, cst.SimpleString))
    if isinstance(node, cst.Call):
        return isinstance(node.func, cst.Name) and node.func.value in _NEVER_CHANGED_CALLS
    if isinstance(node, cst.If):
        return isinstance(node.test, cst.Name) and node.test.value == "TYPE_CHECKING"
    if isinstance(node, cst.AnnAssign):  # `Seen: TypeAlias = tuple[bool, object]`
        return isinstance(node.annotation.annotation, cst.Name) and node.annotation.annotation.value == "TypeAlias"
    if isinstance(node, cst.Assign):
        target = node.targets[0].target
        return isinstance(target, cst.Name) and (target.value in ("__all__", "__slots__") or _is_alias(node, scope))
    # Docstrings, and the bare strings below attributes.
    return isinstance(node, cst.Expr) and isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString))


def _is_alias(node: cst.Assign, scope: tuple[str, ...]) -> bool:
    """Whether an assignment of a module names a type: `Seen = tuple[bool, object]`."""
    return not scope and isinstance(node.value, cst.Subscript) and isinstance(node.value.value, cst.Name)
