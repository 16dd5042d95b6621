"""Macro expansion: has, all, exists, existsOne, map, filter, optMap, transformList, cel.bind, sortBy and others.

Each expander converts a call to the comprehension that cel-go 0.26 builds (parser/macro.go, ext/bindings.go,
ext/comprehensions.go, ext/lists.go, cel/library.go), node for node, because cost is counted per node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Final

from .ast import ACCUMULATOR, Call, Comprehension, Entry, Expr, Ident, ListExpr, Literal, MapExpr, Select

__all__ = ["MACROS", "MacroError", "MacroKey", "Maker"]

UNUSED: Final = "#unused"
_OLD_ACCUMULATOR: Final = "__result__"
_SORT_INPUT: Final = "@__sortBy_input__"

MacroKey = tuple[str, int, bool]


class MacroError(Exception):
    """Invalid arguments of a macro; ``expr`` is the position."""

    def __init__(self, expr: Expr, text: str) -> None:
        super().__init__(text)
        self.expr = expr
        self.text = text


class Maker:
    """Creates nodes with new ids at the position of the macro in the source."""

    def __init__(self, next_id: Callable[[], int], pos: int) -> None:
        self._next_id = next_id
        self._pos = pos

    def literal(self, value: Any) -> Expr:
        """A constant."""
        return Literal(self._next_id(), self._pos, value)

    def ident(self, name: str) -> Expr:
        """A name."""
        return Ident(self._next_id(), self._pos, name)

    def accu(self) -> Expr:
        """The loop accumulator."""
        return self.ident(ACCUMULATOR)

    def call(self, function: str, *args: Expr) -> Expr:
        """A function or operator call."""
        return Call(self._next_id(), self._pos, function, None, list(args))

    def method(self, function: str, target: Expr, *args: Expr) -> Expr:
        """A method call."""
        return Call(self._next_id(), self._pos, function, target, list(args))

    def list_of(self, *elements: Expr) -> Expr:
        """A list literal."""
        return ListExpr(self._next_id(), self._pos, list(elements))

    def empty_map(self) -> Expr:
        """``{}``."""
        return MapExpr(self._next_id(), self._pos, [])

    def has(self, operand: Expr, field: str) -> Expr:
        """A presence test."""
        return Select(self._next_id(), self._pos, operand, field, True)

    def fold(
        self,
        iter_range: Expr,
        iter_vars: tuple[str, str | None],
        accu: str,
        init: Expr,
        condition: Expr,
        step: Expr,
        result: Expr,
    ) -> Expr:
        """A loop."""
        return Comprehension(self._next_id(), self._pos, iter_range, *iter_vars, accu, init, condition, step, result)

    def bind(self, name: str, value: Expr, body: Expr) -> Expr:
        """A loop that never runs, whose accumulator is the bound name."""
        return self.fold(self.list_of(), (UNUSED, None), name, value, self.literal(False), self.ident(name), body)

    def copy(self, expr: Expr) -> Expr:
        """Return a deep copy with new ids."""
        changes: dict[str, Any] = {}
        for item in fields(expr):
            value = getattr(expr, item.name)
            if isinstance(value, Expr):
                changes[item.name] = self.copy(value)
            elif isinstance(value, list):
                changes[item.name] = [
                    Entry(self.copy(v.key), self.copy(v.value), v.optional) if isinstance(v, Entry) else self.copy(v)
                    for v in value
                ]
        return replace(expr, id=self._next_id(), **changes)


Expander = Callable[[Maker, Expr | None, list[Expr]], Expr | None]


def _simple_name(arg: Expr, text: str) -> str:
    if not isinstance(arg, Ident):
        raise MacroError(arg, text)
    return arg.name


def _loop_name(arg: Expr, text: str) -> str:
    name = _simple_name(arg, text)
    if name in (ACCUMULATOR, _OLD_ACCUMULATOR):
        raise MacroError(arg, "iteration variable overwrites accumulator variable")
    return name


def _loop_names(args: list[Expr]) -> tuple[str, str]:
    first = _simple_name(args[0], "argument must be a simple name")
    second = _simple_name(args[1], "argument must be a simple name")
    if first == second:
        raise MacroError(args[1], f"duplicate variable name: {first}")
    for arg in args[:2]:
        _loop_name(arg, "argument must be a simple name")
    return first, second


def _has(make: Maker, _: Expr | None, args: list[Expr]) -> Expr:
    if not isinstance(args[0], Select) or args[0].test_only:
        raise MacroError(args[0], "invalid argument to has() macro")
    return make.has(args[0].operand, args[0].field)


def _vars(args: list[Expr], count: int, text: str) -> tuple[tuple[str, str | None], list[Expr]]:
    names: tuple[str, str | None]
    names = (_loop_name(args[0], text), None) if count == 1 else _loop_names(args)
    return names, args[count:]


def _all(count: int) -> Expander:
    def expand(make: Maker, target: Expr | None, args: list[Expr]) -> Expr:
        names, rest = _vars(args, count, "argument must be a simple name")
        assert target is not None  # noqa: S101 - receiver macros always have one
        return make.fold(
            target,
            names,
            ACCUMULATOR,
            make.literal(True),
            make.call("@not_strictly_false", make.accu()),
            make.call("_&&_", make.accu(), rest[0]),
            make.accu(),
        )

    return expand


def _exists(count: int) -> Expander:
    def expand(make: Maker, target: Expr | None, args: list[Expr]) -> Expr:
        names, rest = _vars(args, count, "argument must be a simple name")
        assert target is not None  # noqa: S101
        return make.fold(
            target,
            names,
            ACCUMULATOR,
            make.literal(False),
            make.call("@not_strictly_false", make.call("!_", make.accu())),
            make.call("_||_", make.accu(), rest[0]),
            make.accu(),
        )

    return expand


def _exists_one(count: int) -> Expander:
    def expand(make: Maker, target: Expr | None, args: list[Expr]) -> Expr:
        names, rest = _vars(args, count, "argument must be a simple name")
        assert target is not None  # noqa: S101
        return make.fold(
            target,
            names,
            ACCUMULATOR,
            make.literal(0),
            make.literal(True),
            make.call("_?_:_", rest[0], make.call("_+_", make.accu(), make.literal(1)), make.accu()),
            make.call("_==_", make.accu(), make.literal(1)),
        )

    return expand


def _collect(
    make: Maker, target: Expr, names: tuple[str, str | None], guard: Expr | None, init: Expr, step: Expr
) -> Expr:
    if guard is not None:
        step = make.call("_?_:_", guard, step, make.accu())
    return make.fold(target, names, ACCUMULATOR, init, make.literal(True), step, make.accu())


def _map(count: int) -> Expander:
    """map(x, t), map(x, p, t) for one variable, transformList(i, v, [p,] t) for two."""

    def expand(make: Maker, target: Expr | None, args: list[Expr]) -> Expr:
        text = "argument is not an identifier" if count == 1 else "argument must be a simple name"
        names, rest = _vars(args, count, text)
        assert target is not None  # noqa: S101
        guard = rest[0] if len(rest) == 2 else None
        step = make.call("_+_", make.accu(), make.list_of(rest[-1]))
        return _collect(make, target, names, guard, make.list_of(), step)

    return expand


def _filter(make: Maker, target: Expr | None, args: list[Expr]) -> Expr:
    name = _loop_name(args[0], "argument is not an identifier")
    assert target is not None  # noqa: S101
    step = make.call("_+_", make.accu(), make.list_of(args[0]))
    return _collect(make, target, (name, None), args[1], make.list_of(), step)


def _transform_map(entries: bool) -> Expander:
    def expand(make: Maker, target: Expr | None, args: list[Expr]) -> Expr:
        names, rest = _vars(args, 2, "argument must be a simple name")
        assert target is not None  # noqa: S101
        guard = rest[0] if len(rest) == 2 else None
        if entries:
            step = make.call("cel.@mapInsert", make.accu(), rest[-1])
        else:
            step = make.call("cel.@mapInsert", make.accu(), make.ident(names[0]), rest[-1])
        return _collect(make, target, names, guard, make.empty_map(), step)

    return expand


def _opt_map(flat: bool) -> Expander:
    word = "optFlatMap" if flat else "optMap"

    def expand(make: Maker, target: Expr | None, args: list[Expr]) -> Expr:
        name = _simple_name(args[0], f"{word}() variable name must be a simple identifier")
        assert target is not None  # noqa: S101
        body = make.bind(name, make.method("value", make.copy(target)), args[1])
        return make.call(
            "_?_:_",
            make.method("hasValue", target),
            body if flat else make.call("optional.of", body),
            make.call("optional.none"),
        )

    return expand


def _bind(make: Maker, target: Expr | None, args: list[Expr]) -> Expr | None:
    if not isinstance(target, Ident) or target.name != "cel":
        return None
    name = _simple_name(args[0], "cel.bind() variable names must be simple identifiers")
    return make.bind(name, args[1], args[2])


def _sort_by(make: Maker, target: Expr | None, args: list[Expr]) -> Expr:
    assert target is not None  # noqa: S101
    if isinstance(target, (Literal, MapExpr)):
        raise MacroError(
            target,
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
        )
    keys = _map(1)(make, make.ident(_SORT_INPUT), args)
    assert keys is not None  # noqa: S101
    call = make.method("@sortByAssociatedKeys", make.ident(_SORT_INPUT), keys)
    return make.bind(_SORT_INPUT, target, call)


MACROS: Final[dict[MacroKey, Expander]] = {
    ("has", 1, False): _has,
    ("all", 2, True): _all(1),
    ("exists", 2, True): _exists(1),
    ("exists_one", 2, True): _exists_one(1),
    ("map", 2, True): _map(1),
    ("map", 3, True): _map(1),
    ("filter", 2, True): _filter,
    ("all", 3, True): _all(2),
    ("exists", 3, True): _exists(2),
    ("exists_one", 3, True): _exists_one(2),
    ("existsOne", 3, True): _exists_one(2),
    ("transformList", 3, True): _map(2),
    ("transformList", 4, True): _map(2),
    ("transformMap", 3, True): _transform_map(False),
    ("transformMap", 4, True): _transform_map(False),
    ("transformMapEntry", 3, True): _transform_map(True),
    ("transformMapEntry", 4, True): _transform_map(True),
    ("optMap", 2, True): _opt_map(False),
    ("optFlatMap", 2, True): _opt_map(True),
    ("sortBy", 2, True): _sort_by,
    ("cel.bind", 3, True): _bind,
}
