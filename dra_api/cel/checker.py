"""The static type check: every node gets a type, every call its overloads, or the expression is rejected.

Rules and messages are those of cel-go 0.26
checker/checker.go and cel/validator.go with the options of the Kubernetes base environment: literals of lists and
maps are homogeneous, duration, timestamp and regex literals are tried at compile time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from .ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, MapExpr, Select, Struct, children, qualified_name
from .declarations import TYPE_NAMES, Overload
from .errors import CelCompileError, CelRuntimeError, Issue, render_issues
from .text_format import check_format
from .types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    UINT,
    Kind,
    Substitution,
    Type,
    format_type,
    is_dyn,
    list_of,
    map_of,
    most_general,
    optional_of,
    type_of,
    unwrap_optional,
)
from .values import Uint

__all__ = ["Checked", "Environment", "LiteralChecks", "check"]

LiteralChecks = Mapping[str, tuple[int, Callable[[Any], object]]]

_LITERAL_TYPES: Final[dict[type, Type]] = {
    type(None): NULL,
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
}


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment of an expression. ``structs`` maps message types to fields; ``macros`` are the optional ones."""

    variables: Mapping[str, Type]
    functions: Mapping[str, tuple[Overload, ...]]
    structs: Mapping[str, Mapping[str, Type]] = field(default_factory=dict)
    macros: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Checked:
    """The tree with the checker's results: types and overload ids by node id, and names that refer to types."""

    root: Expr
    types: dict[int, Type]
    overloads: dict[int, tuple[str, ...]]
    type_idents: dict[int, Type]

    @property
    def output(self) -> Type:
        """The type of the whole expression."""
        return self.types[self.root.id]


def check(source: str, root: Expr, env: Environment, literal_checks: LiteralChecks) -> Checked:
    """Type check ``root``. ``literal_checks`` maps a function to (argument index, trial) for constant arguments.

    Raises CelCompileError with all issues.
    """
    checker = _Checker(source, env)
    checker.check(root)
    if not checker.issues:
        checker.finish()
        checker.validate(root, literal_checks)
    if checker.issues:
        raise CelCompileError(render_issues(source, checker.issues), tuple(checker.issues))
    return Checked(checker.root or root, checker.types, checker.overloads, checker.type_idents)


class _Checker:
    def __init__(self, source: str, env: Environment) -> None:
        self.source = source
        self.env = env
        self.scopes: list[dict[str, Type]] = []
        self.subst = Substitution()
        self.types: dict[int, Type] = {}
        self.overloads: dict[int, tuple[str, ...]] = {}
        self.type_idents: dict[int, Type] = {}
        self.issues: list[Issue] = []
        self.root: Expr | None = None

    def error(self, expr: Expr, text: str) -> None:
        before = self.source[: expr.pos]
        self.issues.append(Issue(before.count("\n") + 1, expr.pos - (before.rfind("\n") + 1), text))

    def mismatch(self, expr: Expr, expected: Type, actual: Type) -> None:
        self.error(expr, f"expected type '{format_type(expected)}' but found '{format_type(actual)}'")

    def undeclared(self, expr: Expr, name: str) -> Type:
        self.error(expr, f"undeclared reference to '{name}' (in container '')")
        return ERROR

    def check(self, expr: Expr) -> Type:
        type_ = _CHECKS[type(expr)](self, expr)
        self.types[expr.id] = type_
        return type_

    def finish(self) -> None:
        apply = self.subst.apply
        for key, type_ in self.types.items():
            # A variable that is still unbound, as in an empty list, is dyn.
            self.types[key] = apply(type_, params_to_dyn=True)

    # --- nodes

    def literal(self, expr: Literal) -> Type:
        return _LITERAL_TYPES[type(expr.value)]

    def lookup(self, name: str) -> Type | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return self.env.variables.get(name)

    def ident(self, expr: Ident) -> Type:
        name = expr.name.removeprefix(".")
        found = self.lookup(name)
        if found is not None:
            # The planner finds variables without the leading dot.
            expr.name = name
            return found
        named = TYPE_NAMES.get(name)
        if named is not None:
            self.type_idents[expr.id] = named
            return type_of(named)
        return self.undeclared(expr, expr.name)

    def select(self, expr: Select) -> Type:
        if not expr.test_only and (name := qualified_name(expr)) is not None:
            named = TYPE_NAMES.get(name)
            # A variable hides type names that begin with its name.
            if named is not None and self.lookup(name.partition(".")[0]) is None:
                self.type_idents[expr.id] = named
                return type_of(named)
        result = self.field(expr, expr.operand, expr.field, optional=False)
        return BOOL if expr.test_only else self.subst.apply(result)

    def field(self, expr: Expr, operand: Expr, name: str, *, optional: bool) -> Type:
        target, wrapped = unwrap_optional(self.subst.apply(self.check(operand)))
        result = ERROR
        if target.kind is Kind.MAP:
            result = target.params[1]
        elif target.kind is Kind.STRUCT:
            result = self.struct_field(expr, target, name)
        elif target.kind is Kind.PARAM:
            # A value of unknown type with fields: its type is dyn from here on.
            self.subst.unify(DYN, target)
            result = DYN
        else:
            if not is_dyn(target) and target.kind is not Kind.ERROR:
                self.error(expr, f"type '{format_type(target)}' does not support field selection")
            result = DYN
        return optional_of(result) if wrapped or optional else result

    def struct_field(self, expr: Expr, struct: Type, name: str) -> Type:
        fields = self.env.structs.get(struct.name)
        if fields is None:
            self.error(expr, f"unexpected failed resolution of '{struct.name}'")
            return ERROR
        found = fields.get(name)
        if found is None:
            self.error(expr, f"undefined field '{name}'")
            return ERROR
        return found

    def call(self, expr: Call) -> Type:
        if expr.function == "_?._":
            self.overloads[expr.id] = ("select_optional_field",)
            name = expr.args[1]
            self.types[name.id] = STRING
            text = name.value if isinstance(name, Literal) else ""
            return self.subst.apply(self.field(expr, expr.args[0], text, optional=True))
        if expr.function in ("_&&_", "_||_"):
            return self.logical(expr)
        for arg in expr.args:
            self.check(arg)
        if expr.target is not None:
            prefix = qualified_name(expr.target)
            if prefix is not None and f"{prefix}.{expr.function}" in self.env.functions:
                # The target is a namespace, not a value: from here on this is a plain function call.
                expr.function, expr.target = f"{prefix}.{expr.function}", None
            else:
                self.check(expr.target)
        overloads = self.env.functions.get(expr.function.removeprefix("."))
        if overloads is None:
            return self.undeclared(expr, expr.function)
        expr.function = expr.function.removeprefix(".")
        return self.resolve(expr, overloads)

    def logical(self, expr: Call) -> Type:
        self.overloads[expr.id] = ("logical_and" if expr.function == "_&&_" else "logical_or",)
        failed = False
        for arg in expr.args:
            self.check(arg)
        for arg in expr.args:
            actual = self.types[arg.id]
            if not self.subst.unify(actual, BOOL):
                self.mismatch(arg, BOOL, actual)
                failed = True
        return ERROR if failed else BOOL

    def resolve(self, expr: Call, overloads: tuple[Overload, ...]) -> Type:
        member = expr.target is not None
        nodes = ([expr.target] if expr.target is not None else []) + expr.args
        args = tuple([self.types[node.id] for node in nodes])
        matched: list[str] = []
        result: Type | None = None
        for overload in overloads:
            if overload.member is not member or len(overload.args) != len(args):
                continue
            wanted, out = overload.args, overload.result
            if overload.generic:
                # Fresh variables for each use: two calls of one function must not share bindings.
                *fresh, out = self.subst.instantiate((*wanted, out))
                wanted = tuple(fresh)
            if not self.subst.unify_all(args, wanted):
                continue
            matched.append(overload.id)
            found = self.subst.apply(out)
            if result is None:
                result = found
            # Several overloads match only if an argument is dyn; different results then make the result dyn.
            elif not is_dyn(result) and found != result:
                result = DYN
        if result is None:
            shown = [format_type(self.subst.apply(arg, params_to_dyn=True)) for arg in args]
            receiver = f"{shown.pop(0)}." if member else ""
            self.error(
                expr,
                f"found no matching overload for '{expr.function}' applied to '{receiver}({', '.join(shown)})'",
            )
            return ERROR
        self.overloads[expr.id] = tuple(matched)
        return result

    def join(self, expr: Expr, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        if self.subst.unify(previous, current):
            return most_general(previous, current)
        # validate() rejects mixed literals, after all other checks.
        return DYN

    def unwrap(self, expr: Expr, type_: Type) -> Type:
        inner, wrapped = unwrap_optional(type_)
        if not wrapped and not is_dyn(inner):
            self.mismatch(expr, optional_of(inner), inner)
        return inner

    def list_literal(self, expr: ListExpr) -> Type:
        element: Type | None = None
        for index, item in enumerate(expr.elements):
            type_ = self.check(item)
            if index in expr.optional:
                type_ = self.unwrap(item, type_)
            element = self.join(item, element, type_)
        return list_of(element if element is not None else self.subst.fresh())

    def map_literal(self, expr: MapExpr) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in expr.entries:
            key = self.join(entry.key, key, self.check(entry.key))
            type_ = self.check(entry.value)
            if entry.optional:
                type_ = self.unwrap(entry.value, type_)
            value = self.join(entry.value, value, type_)
        if key is None or value is None:
            key, value = self.subst.fresh(), self.subst.fresh()
        return map_of(key, value)

    def struct(self, expr: Struct) -> Type:
        named = TYPE_NAMES.get(expr.type_name)
        if named is None:
            return self.undeclared(expr, expr.type_name)
        for entry in expr.entries:
            self.types[entry.key.id] = STRING
            self.check(entry.value)
        self.error(expr, f"'{named}' is not a message type")
        return ERROR

    def fold(self, expr: Comprehension) -> Type:
        self.check(expr.iter_range)
        accu = self.check(expr.accu_init)
        range_ = self.subst.apply(self.types[expr.iter_range.id])
        first, second = self.loop_types(expr, range_)
        self.scopes.append({expr.accu_var: accu})
        inner = {expr.iter_var: first}
        if expr.iter_var2 is not None:
            inner[expr.iter_var2] = second
        self.scopes.append(inner)
        for part, wanted in ((expr.condition, BOOL), (expr.step, accu)):
            actual = self.check(part)
            if not self.subst.unify(wanted, actual):
                self.mismatch(part, wanted, actual)
        self.scopes.pop()
        result = self.check(expr.result)
        self.scopes.pop()
        return self.subst.apply(result)

    def loop_types(self, expr: Comprehension, range_: Type) -> tuple[Type, Type]:
        two = expr.iter_var2 is not None
        if range_.kind is Kind.LIST:
            return (INT, range_.params[0]) if two else (range_.params[0], DYN)
        if range_.kind is Kind.MAP:
            return range_.params[0], range_.params[1]
        if range_.kind in (Kind.DYN, Kind.ERROR, Kind.PARAM):
            self.subst.unify(DYN, range_)
            return DYN, DYN
        self.error(
            expr.iter_range,
            f"expression of type '{format_type(range_)}' cannot be range of a comprehension"
            " (must be list, map, or dynamic)",
        )
        return ERROR, ERROR

    # --- validators, run on a well-typed tree

    def validate(self, root: Expr, literal_checks: LiteralChecks) -> None:
        # The lists below a format() call may mix types (ext/strings.go, stringFormatValidator.Configure).
        pending = [(root, False)]
        while pending:
            expr, exempt = pending.pop()
            exempt = exempt or (isinstance(expr, Call) and expr.function == "format")
            pending += [(child, exempt) for child in children(expr)]
            if isinstance(expr, Call):
                self.try_literal(expr, literal_checks)
                self.try_format(expr)
            elif isinstance(expr, ListExpr) and not exempt:
                # cel-go reports only the first element of another type in a list, but all such entries of a map.
                self.same_types([self.element(item, i in expr.optional) for i, item in enumerate(expr.elements)], 1)
            elif isinstance(expr, MapExpr) and not exempt:
                self.same_types([self.element(entry.key, False) for entry in expr.entries])
                self.same_types([self.element(entry.value, entry.optional) for entry in expr.entries])

    def try_literal(self, expr: Call, literal_checks: LiteralChecks) -> None:
        if expr.function not in literal_checks:
            return
        index, trial = literal_checks[expr.function]
        if len(expr.args) <= index:
            return
        arg = expr.args[index]
        if not isinstance(arg, Literal):
            return
        try:
            trial(arg.value)
        except CelRuntimeError:
            self.error(arg, f"invalid {expr.function} argument")

    def try_format(self, expr: Call) -> None:
        """A constant template with a list literal of arguments (ext/formatting.go stringFormatValidator)."""
        template = expr.target
        if expr.function != "format" or not isinstance(template, Literal) or not isinstance(template.value, str):
            return
        if len(expr.args) != 1 or not isinstance(expr.args[0], ListExpr):
            return
        problem = check_format(template.value, expr.args[0].elements, self.types)
        if problem is not None:
            self.error(problem[0] or expr, problem[1])

    def element(self, expr: Expr, optional: bool) -> tuple[Expr, Type]:
        type_ = self.types[expr.id]
        return expr, unwrap_optional(type_)[0] if optional else type_

    def same_types(self, items: Sequence[tuple[Expr, Type]], most: int | None = None) -> None:
        odd = [(expr, type_) for expr, type_ in items[1:] if type_ != items[0][1]]
        for expr, type_ in odd[:most]:
            self.mismatch(expr, items[0][1], type_)


_CHECKS: Final[dict[type, Callable[[_Checker, Expr], Type]]] = {
    Literal: _Checker.literal,  # type: ignore[dict-item]
    Ident: _Checker.ident,  # type: ignore[dict-item]
    Select: _Checker.select,  # type: ignore[dict-item]
    Call: _Checker.call,  # type: ignore[dict-item]
    ListExpr: _Checker.list_literal,  # type: ignore[dict-item]
    MapExpr: _Checker.map_literal,  # type: ignore[dict-item]
    Struct: _Checker.struct,  # type: ignore[dict-item]
    Comprehension: _Checker.fold,  # type: ignore[dict-item]
}
