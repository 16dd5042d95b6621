"""The syntax tree of a CEL expression, with macros expanded as in cel-go.

The parser creates the nodes with ids that are unique within one expression; later stages only read them. The checker
keeps types and overloads in tables by node id. Source: cel-go 0.26 common/ast.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Call",
    "Comprehension",
    "Entry",
    "Expr",
    "Ident",
    "ListExpr",
    "Literal",
    "MapExpr",
    "Select",
    "Struct",
    "children",
    "qualified_name",
]

ACCUMULATOR = "@result"


@dataclass(slots=True, eq=False)
class Expr:
    """Any node: ``id`` is unique in the tree, ``pos`` is the code point offset that errors point at."""

    id: int
    pos: int


@dataclass(slots=True, eq=False)
class Literal(Expr):
    """A constant: None, bool, int, Uint, float, str or bytes."""

    value: Any


@dataclass(slots=True, eq=False)
class Ident(Expr):
    """A variable or type name."""

    name: str


@dataclass(slots=True, eq=False)
class Select(Expr):
    """``operand.field``; with ``test_only`` it is has(operand.field)."""

    operand: Expr
    field: str
    test_only: bool = False


@dataclass(slots=True, eq=False)
class Call(Expr):
    """A function, operator or method call; operators carry cel-go's names such as ``_+_``."""

    function: str
    target: Expr | None
    args: list[Expr]


@dataclass(slots=True, eq=False)
class ListExpr(Expr):
    """A list literal; ``optional`` holds the indices written ``?x``."""

    elements: list[Expr]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class Entry:
    """One ``key: value`` of a map literal, or ``field: value`` of a message literal."""

    key: Expr
    value: Expr
    optional: bool = False


@dataclass(slots=True, eq=False)
class MapExpr(Expr):
    """A map literal."""

    entries: list[Entry] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Struct(Expr):
    """A message literal ``Type{field: value}``."""

    type_name: str
    entries: list[Entry]


@dataclass(slots=True, eq=False)
class Comprehension(Expr):
    """The only loop of CEL; all(), map(), cel.bind() and the other macros expand to it."""

    iter_range: Expr
    iter_var: str
    iter_var2: str | None
    accu_var: str
    accu_init: Expr
    condition: Expr
    step: Expr
    result: Expr


def children(expr: Expr) -> list[Expr]:
    """Direct subexpressions, in evaluation order."""
    match expr:
        case Select():
            return [expr.operand]
        case Call():
            return ([expr.target] if expr.target is not None else []) + expr.args
        case ListExpr():
            return expr.elements
        case MapExpr() | Struct():
            return [side for entry in expr.entries for side in (entry.key, entry.value)]
        case Comprehension():
            return [expr.iter_range, expr.accu_init, expr.condition, expr.step, expr.result]
    return []


def qualified_name(expr: Expr) -> str | None:
    """Return ``a.b.c`` if the expression has only names and plain selections, else None."""
    parts: list[str] = []
    while isinstance(expr, Select) and not expr.test_only:
        parts.append(expr.field)
        expr = expr.operand
    if not isinstance(expr, Ident):
        return None
    parts.append(expr.name)
    return ".".join(reversed(parts))
