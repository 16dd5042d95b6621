"""The static cost estimate: the cost range of an expression, from its tree and the declared sizes of its inputs.

Kubernetes compares the maximum with a limit at admission. An Estimator is used for one expression; the functions are
pure. Source: cel-go 0.29 (Kubernetes 1.37) and 0.26 (before) checker/cost.go, ext/lists.go, ext/sets.go, and
k8s.io/apiserver/pkg/cel/library/cost.go 0.37 EstimateCallCost. All numbers are uint64 and saturate at the maximum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .ast import ACCUMULATOR, Call, Comprehension, Expr, Ident, ListExpr, Literal, MapExpr, Select, Struct
from .checker import Checked
from .costs import UNIT_FUNCTIONS
from .types import Kind, Type, unwrap_optional

__all__ = ["UNLIMITED", "CostEstimate", "SizeEstimate", "estimate"]

UNLIMITED: Final = 2**64 - 1

_STRING_FACTOR: Final = 0.1
_REGEX_FACTOR: Final = 0.25
_MAX_FORMAT_SIZE: Final = 64
_MAX_NAME_FORMAT_REGEX: Final = 128
_INCLUDES_MAX: Final = 48

Path = tuple[str, ...]
SizeOf = Callable[[Path], "SizeEstimate | None"]


def _add(a: int, b: int) -> int:
    # Saturating, as cel-go's cost arithmetic on uint64.
    return min(a + b, UNLIMITED)


def _mul(a: int, b: int) -> int:
    return min(a * b, UNLIMITED)


def _scale(value: int, factor: float) -> int:
    product = float(value) * factor
    return UNLIMITED if product >= 2.0**64 else math.ceil(product)


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """A range, used for costs and, as SizeEstimate, for sizes."""

    min: int
    max: int

    def plus(self, other: CostEstimate) -> CostEstimate:
        """Sum."""
        return CostEstimate(_add(self.min, other.min), _add(self.max, other.max))

    def times(self, other: CostEstimate) -> CostEstimate:
        """Product."""
        return CostEstimate(_mul(self.min, other.min), _mul(self.max, other.max))

    def scaled(self, factor: float) -> CostEstimate:
        """Each end times ``factor``, rounded up."""
        return CostEstimate(_scale(self.min, factor), _scale(self.max, factor))

    def union(self, other: CostEstimate) -> CostEstimate:
        """The range that covers both."""
        return CostEstimate(min(self.min, other.min), max(self.max, other.max))


SizeEstimate = CostEstimate

_ZERO: Final = CostEstimate(0, 0)
_ONE: Final = CostEstimate(1, 1)
# Without a declared size every size is possible.
_UNKNOWN: Final = SizeEstimate(0, UNLIMITED)


def _fixed(value: int) -> CostEstimate:
    return CostEstimate(value, value)


@dataclass(frozen=True, slots=True)
class _EntrySize:
    """Sizes of the keys (or indices) and values of a container."""

    is_list: bool
    key: SizeEstimate
    value: SizeEstimate

    def union(self, other: _EntrySize | None) -> _EntrySize | None:
        if other is None:
            return None
        return _EntrySize(self.is_list, self.key.union(other.key), self.value.union(other.value))


@dataclass(frozen=True, slots=True)
class _Local:
    path: Path
    size: SizeEstimate | None
    entries: _EntrySize | None


@dataclass(frozen=True, slots=True)
class _Node:
    """An argument with its path and type."""

    expr: Expr
    path: Path
    type: Type
    size: SizeEstimate | None


@dataclass(frozen=True, slots=True)
class _CallEstimate:
    cost: CostEstimate
    size: SizeEstimate | None = None


def estimate(checked: Checked, size_of: SizeOf, *, before_1_37: bool = False) -> CostEstimate:
    """Return the cost range of ``checked``; ``size_of`` returns declared sizes of paths that start at a variable."""
    return _Estimator(checked, size_of, before_1_37=before_1_37).cost(checked.root)


class _Estimator:
    def __init__(self, checked: Checked, size_of: SizeOf, *, before_1_37: bool) -> None:
        self.checked = checked
        self.before_1_37 = before_1_37
        self.size_of = size_of
        self.paths: dict[int, Path] = {}
        self.locals: dict[str, list[_Local]] = {}
        self.sizes: dict[int, SizeEstimate] = {}
        self.entries: dict[int, _EntrySize] = {}

    def cost(self, expr: Expr) -> CostEstimate:
        return _COSTS[type(expr)](self, expr)

    # --- nodes

    def literal(self, _: Expr) -> CostEstimate:
        return _ZERO

    def ident(self, expr: Ident) -> CostEstimate:
        local = self.local(expr.name)
        self.paths[expr.id] = local.path if local else (expr.name,)
        return _ONE

    def select(self, expr: Select) -> CostEstimate:
        total = self.cost(expr.operand) if expr.id not in self.checked.type_idents else _ONE
        if expr.test_only or expr.id in self.checked.type_idents:
            return total
        # cel-go charges the selection for these kinds only (cost.go, costSelect).
        if self.type_of(expr.operand).kind in (Kind.MAP, Kind.STRUCT, Kind.PARAM):
            total = total.plus(_ONE)
        self.paths[expr.id] = (*self.path(expr.operand), expr.field)
        return total

    def list_literal(self, expr: ListExpr) -> CostEstimate:
        # An empty range, the identity of `union`.
        total, item = _ZERO, SizeEstimate(UNLIMITED, 0)
        if not expr.elements:
            item = _ZERO
        for element in expr.elements:
            total = total.plus(self.cost(element))
            item = item.union(self.known_size(element))
        self.entries[expr.id] = _EntrySize(True, _ONE, item)
        # ListCreateBaseCost of cel-go (common/cost.go); a map costs 30 and a message 40.
        return total.plus(_fixed(10))

    def map_literal(self, expr: MapExpr) -> CostEstimate:
        total = _ZERO
        key = value = SizeEstimate(UNLIMITED, 0) if expr.entries else _ZERO
        for entry in expr.entries:
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            key = key.union(self.known_size(entry.key))
            value = value.union(self.known_size(entry.value))
        self.entries[expr.id] = _EntrySize(False, key, value)
        return total.plus(_fixed(30))

    def struct(self, expr: Struct) -> CostEstimate:
        total = _fixed(40)
        for entry in expr.entries:
            total = total.plus(self.cost(entry.value))
        return total

    def fold(self, expr: Comprehension) -> CostEstimate:
        if self.is_bind(expr):
            return self.bind(expr)
        total = self.cost(expr.iter_range).plus(self.cost(expr.accu_init))
        self.push(expr.accu_var, self.path(expr.accu_init), self.size(expr.accu_init), self.entry_size(expr.accu_init))
        names = self.push_loop(expr)
        turn = self.cost(expr.condition)
        step = self.cost(expr.step)
        for name in names:
            self.locals[name].pop()
        total = total.plus(self.cost(expr.result))
        self.locals[expr.accu_var].pop()
        count = self.known_size(expr.iter_range)
        total = total.plus(count.times(step.plus(turn)))
        if isinstance(expr.accu_init, Literal):
            self.set_size(expr, self.size(expr.accu_init))
        elif isinstance(expr.accu_init, (ListExpr, MapExpr)):
            self.set_size(expr, count)
            entries = self.entry_size(expr.step)
            if entries is not None:
                self.entries[expr.id] = entries
        return total

    # cel.bind() and optMap() expand to a loop over an empty list that never runs.
    def is_bind(self, expr: Comprehension) -> bool:
        return (
            isinstance(expr.iter_range, ListExpr)
            and not expr.iter_range.elements
            and isinstance(expr.condition, Literal)
            and expr.condition.value is False
            and expr.accu_var != "__result__"
        )

    def bind(self, expr: Comprehension) -> CostEstimate:
        total = self.cost(expr.iter_range).plus(self.cost(expr.accu_init))
        self.push(expr.accu_var, self.path(expr.accu_init), self.size(expr.accu_init), self.entry_size(expr.accu_init))
        total = total.plus(self.cost(expr.result))
        self.locals[expr.accu_var].pop()
        self.copy_sizes(expr, expr.result)
        return total

    def push(self, name: str, path: Path, size: SizeEstimate | None, entries: _EntrySize | None = None) -> None:
        self.locals.setdefault(name, []).append(_Local(path, size, entries))

    def push_loop(self, expr: Comprehension) -> tuple[str, ...]:
        entries = self.entry_size(expr.iter_range)
        is_list = entries.is_list if entries else self.type_of(expr.iter_range).kind is Kind.LIST
        path = self.path(expr.iter_range)
        key = entries.key if entries else None
        value = entries.value if entries else None
        if expr.iter_var2 is None:
            if is_list:
                self.push(expr.iter_var, (*path, "@items"), value)
            else:
                self.push(expr.iter_var, (*path, "@keys"), key)
            return (expr.iter_var,)
        self.push(expr.iter_var, (*path, "@indices" if is_list else "@keys"), key)
        self.push(expr.iter_var2, (*path, "@items" if is_list else "@values"), value)
        return expr.iter_var, expr.iter_var2

    def call(self, expr: Call) -> CostEstimate:
        if expr.function == "dyn" and len(expr.args) == 1:
            inner = self.cost(expr.args[0])
            self.copy_sizes(expr, expr.args[0])
            return inner.plus(_ONE)
        costs = [self.cost(arg) for arg in expr.args]
        args = [self.node(arg) for arg in expr.args]
        overloads = self.checked.overloads.get(expr.id, ())
        if not overloads:
            return _ZERO
        total, target = _ZERO, None
        if expr.target is not None:
            total = self.cost(expr.target)
            target = self.node(expr.target)
        # An empty range, the identity of `union`.
        cost, size = CostEstimate(UNLIMITED, 0), None
        for overload in overloads:
            found = self.overload_cost(expr, overload, target, args, costs)
            cost = cost.union(found.cost)
            if found.size is not None:
                size = found.size if size is None else size.union(found.size)
            if overload in ("index_list", "index_map"):
                entries = self.entry_size(expr.args[0])
                size = entries.value if entries else None
                step = "@items" if overload == "index_list" else "@values"
                self.paths[expr.id] = (*self.path(expr.args[0]), step)
            if size is None:
                size = self.size(expr)
        self.set_size(expr, size)
        return total.plus(cost)

    def overload_cost(
        self, expr: Call, overload: str, target: _Node | None, args: list[_Node], costs: list[CostEstimate]
    ) -> _CallEstimate:
        sum_ = _ZERO
        for cost in costs:
            sum_ = sum_.plus(cost)
        found = _library(self, expr.function, overload, target, args)
        if found is not None:
            return _CallEstimate(found.cost.plus(sum_), found.size)
        special = self.special(expr, overload, args, costs, sum_)
        if special is not None:
            return special
        found = _standard(self, overload, target, args)
        if found is not None:
            return _CallEstimate(found.cost.plus(sum_), found.size)
        return _CallEstimate(_ONE.plus(sum_))

    def special(
        self, expr: Call, overload: str, args: list[_Node], costs: list[CostEstimate], sum_: CostEstimate
    ) -> _CallEstimate | None:
        """Return the cost of operators that do not simply add the costs of their arguments."""
        if overload in ("logical_and", "logical_or"):
            # The right side may be skipped, so the minimum is that of the left side alone.
            return _CallEstimate(CostEstimate(costs[0].min, sum_.max))
        if overload == "conditional":
            size = self.sized(args[1]).union(self.sized(args[2]))
            left = self.entry_size(args[1].expr)
            entries = left.union(self.entry_size(args[2].expr)) if left else None
            if entries is not None:
                self.entries[expr.id] = entries
            return _CallEstimate(costs[0].plus(costs[1].union(costs[2])), size)
        if overload in ("add_string", "add_bytes", "add_list") and len(args) == 2:
            size = self.sized(args[0]).plus(self.sized(args[1]))
            first = self.entry_size(args[0].expr)
            entries = first.union(self.entry_size(args[1].expr)) if first else None
            if entries is not None:
                self.entries[expr.id] = entries
            cost = _ONE if overload == "add_list" else size.scaled(_STRING_FACTOR)
            return _CallEstimate(cost.plus(sum_), size)
        return None

    # --- sizes of an expression

    def type_of(self, expr: Expr) -> Type:
        return self.checked.types[expr.id]

    def local(self, name: str) -> _Local | None:
        stack = self.locals.get(name)
        return stack[-1] if stack else None

    def path(self, expr: Expr) -> Path:
        if isinstance(expr, Ident):
            local = self.local(expr.name)
            if local is not None:
                return local.path
        return self.paths.get(expr.id, ())

    def node(self, expr: Expr) -> _Node:
        path = self.path(expr)
        if path and path[0] in (ACCUMULATOR, "__result__"):
            path = ()
        return _Node(expr, path, self.type_of(expr), self.size(expr))

    def size(self, expr: Expr) -> SizeEstimate | None:
        known = self.sizes.get(expr.id) or _literal_size(expr)
        if known is not None:
            return known
        path = self.path(expr)
        declared = self.size_of(path) if path else None
        if declared is not None:
            self.sizes[expr.id] = declared
            return declared
        if _is_scalar(self.type_of(expr)):
            return _ONE
        if isinstance(expr, Ident):
            local = self.local(expr.name)
            if local is not None:
                return local.size
        return None

    def known_size(self, expr: Expr) -> SizeEstimate:
        return self.size(expr) or _UNKNOWN

    def sized(self, node: _Node) -> SizeEstimate:
        return node.size or _UNKNOWN

    def library_size(self, node: _Node) -> SizeEstimate:
        if node.size is not None:
            return node.size
        return (self.size_of(node.path) if node.path else None) or _UNKNOWN

    def set_size(self, expr: Expr, size: SizeEstimate | None) -> None:
        if size is not None:
            self.sizes[expr.id] = size

    def entry_size(self, expr: Expr) -> _EntrySize | None:
        known = self.entries.get(expr.id)
        if known is None and isinstance(expr, Ident):
            local = self.local(expr.name)
            if local is not None:
                return local.entries
        return known

    def copy_sizes(self, to: Expr, source: Expr) -> None:
        self.set_size(to, self.size(source))
        entries = self.entry_size(source)
        if entries is not None:
            self.entries[to.id] = entries


_SCALARS: Final = frozenset({Kind.BOOL, Kind.DOUBLE, Kind.INT, Kind.UINT, Kind.DURATION, Kind.TIMESTAMP})


def _is_scalar(type_: Type) -> bool:
    inner, _ = unwrap_optional(type_)
    return inner.kind in _SCALARS


def _literal_size(expr: Expr) -> SizeEstimate | None:
    if isinstance(expr, Literal):
        return _fixed(len(expr.value)) if isinstance(expr.value, (str, bytes)) else _ONE
    if isinstance(expr, ListExpr):
        return _fixed(len(expr.elements))
    if isinstance(expr, MapExpr):
        return _fixed(len(expr.entries))
    return None


# --- cel-go's own functions


def _standard(est: _Estimator, overload: str, target: _Node | None, args: list[_Node]) -> _CallEstimate | None:
    sized = est.sized
    if overload == "string_format" and target is not None:
        return _CallEstimate(sized(target).scaled(_STRING_FACTOR))
    if overload == "string_to_bytes":
        size = sized(args[0])
        # Sizes wrap around here as uint64 does in Go; they are not saturated.
        return _CallEstimate(size.scaled(_STRING_FACTOR), SizeEstimate(size.min, size.max * 4 % 2**64))
    if overload == "bytes_to_string":
        size = sized(args[0])
        return _CallEstimate(size.scaled(_STRING_FACTOR), SizeEstimate(size.min // 4, size.max))
    if overload == "strings_quote":
        size = sized(args[0])
        quoted = SizeEstimate((size.min + 2) % 2**64, (size.max * 2 + 2) % 2**64)
        return _CallEstimate(size.scaled(_STRING_FACTOR), quoted)
    if overload in ("starts_with_string", "ends_with_string"):
        return _CallEstimate(sized(args[0]).scaled(_STRING_FACTOR))
    if overload == "in_list":
        return _CallEstimate(sized(args[1]).scaled(1))
    if overload in ("matches", "matches_string") and not (est.before_1_37 and target is None):
        searched, pattern = [target, *args] if target is not None else args
        text = sized(searched).plus(_ONE).scaled(_STRING_FACTOR)
        return _CallEstimate(text.times(sized(pattern).scaled(_REGEX_FACTOR)))
    if overload == "contains_string" and target is not None:
        return _CallEstimate(sized(target).scaled(_STRING_FACTOR).times(sized(args[0]).scaled(_STRING_FACTOR)))
    if overload in _COMPARISONS:
        smallest = min(sized(args[0]).max, sized(args[1]).max)
        return _CallEstimate(CostEstimate(1 if smallest > 0 else 0, smallest).scaled(_STRING_FACTOR))
    return None


_COMPARISONS: Final = frozenset(
    {"equals", "not_equals"}
    | {
        f"{word}_{kind}"
        for word in ("less", "greater", "less_equals", "greater_equals")
        for kind in ("string", "bytes")
    }
)


# --- Kubernetes' library and the extensions with estimators of their own

_Rule = Callable[[_Estimator, str, "_Node | None", "list[_Node]"], "_CallEstimate | None"]


def _library(
    est: _Estimator, function: str, overload: str, target: _Node | None, args: list[_Node]
) -> _CallEstimate | None:
    if overload == "dra_includes_dyn_dyn" and target is not None:
        return _CallEstimate(CostEstimate(0, _INCLUDES_MAX))
    rule = _RULES_BY_OVERLOAD.get(overload) or _RULES.get(function)
    return rule(est, overload, target, args) if rule else None


def _unit(_: _Estimator, __: str, ___: _Node | None, ____: list[_Node]) -> _CallEstimate | None:
    return _CallEstimate(_ONE)


def _items_rule(est: _Estimator, _: str, target: _Node | None, __: list[_Node]) -> _CallEstimate | None:
    if target is None:
        return None
    size = est.library_size(target)
    if not target.type.params:
        return _CallEstimate(size.scaled(_STRING_FACTOR))
    each = _ONE
    element = target.type.params[0]
    if element.kind in (Kind.STRING, Kind.BYTES):
        path = (*target.path, "@items") if target.path else ()
        item = (est.size_of(path) if path else None) or _UNKNOWN
        each = each.plus(item.scaled(_STRING_FACTOR))
    return _CallEstimate(size.times(each))


def _includes_rule(est: _Estimator, _: str, target: _Node | None, __: list[_Node]) -> _CallEstimate | None:
    if target is None or target.type.params:
        return _items_rule(est, _, target, __)
    # A value of an unknown type may be a list.
    return _CallEstimate(est.library_size(target).times(_ONE))


def _parse_rule(est: _Estimator, overload: str, _: _Node | None, args: list[_Node]) -> _CallEstimate | None:
    if overload == "cidr_ip":
        return _CallEstimate(_ONE)
    return _CallEstimate(est.library_size(args[0]).scaled(_STRING_FACTOR)) if args else None


def _url_rule(est: _Estimator, _: str, __: _Node | None, args: list[_Node]) -> _CallEstimate | None:
    if len(args) != 1:
        return None
    size = est.library_size(args[0])
    return _CallEstimate(size.scaled(_STRING_FACTOR), size)


def _text_rule(est: _Estimator, _: str, target: _Node | None, __: list[_Node]) -> _CallEstimate | None:
    if target is None:
        return None
    size = est.library_size(target)
    return _CallEstimate(size.scaled(_STRING_FACTOR), size)


def _replace_rule(est: _Estimator, _: str, target: _Node | None, args: list[_Node]) -> _CallEstimate | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = est.library_size(target), est.library_size(args[0]), est.library_size(args[1])
    kept_max = kept_min = 0
    if old.min == 0:
        # An empty pattern matches before each character and at the end.
        most, kept_max = _add(size.max, 1), size.max
    elif new.max <= old.min:
        most, kept_max = 0, size.max
    else:
        most = _divide(size.max, old.min)
    if old.max == 0:
        least, kept_min = _add(size.min, 1), size.min
    elif old.max <= new.min:
        least, kept_min = 0, size.min
    else:
        least = _divide(size.min, old.max)
    result = SizeEstimate(least, most).times(new).plus(SizeEstimate(kept_min, kept_max))
    return _CallEstimate(size.scaled(2 * _STRING_FACTOR), result)


def _divide(value: int, by: int) -> int:
    return min(math.ceil(float(value) / float(by)), UNLIMITED)


def _split_rule(est: _Estimator, _: str, target: _Node | None, args: list[_Node]) -> _CallEstimate | None:
    if target is None:
        return None
    size = est.library_size(target)
    most = size.max
    if len(args) > 1 and isinstance(args[1].expr, Literal) and args[1].expr.value.__class__ is int:
        # A negative limit means no limit: as uint64 it is a huge number.
        most = args[1].expr.value % 2**64
    return _CallEstimate(size.scaled(2 * _STRING_FACTOR), SizeEstimate(0, most))


def _join_rule(est: _Estimator, _: str, target: _Node | None, args: list[_Node]) -> _CallEstimate | None:
    if target is None:
        return None
    count = est.library_size(target)
    size = _ZERO
    if target.type.params:
        path = (*target.path, "@items") if target.path else ()
        item = (est.size_of(path) if path else None) or _UNKNOWN
        size = count.times(item)
    if args:
        separators = SizeEstimate(max(count.min - 1, 0), max(count.max - 1, 0))
        size = size.plus(est.library_size(args[0]).times(separators))
    return _CallEstimate(size.scaled(_STRING_FACTOR), size)


def _find_rule(est: _Estimator, _: str, target: _Node | None, args: list[_Node]) -> _CallEstimate | None:
    if target is None or not args:
        return None
    size = est.library_size(target)
    text = size.plus(_ONE).scaled(_STRING_FACTOR)
    pattern = est.library_size(args[0]).scaled(_REGEX_FACTOR)
    return _CallEstimate(text.times(pattern), SizeEstimate(0, size.max))


def _canonical_rule(est: _Estimator, _: str, __: _Node | None, args: list[_Node]) -> _CallEstimate | None:
    return _CallEstimate(est.library_size(args[0]).scaled(2 * _STRING_FACTOR)) if args else None


_ADDRESS: Final = SizeEstimate(4, 16)


def _contains_ip_rule(est: _Estimator, overload: str, _: _Node | None, args: list[_Node]) -> _CallEstimate | None:
    cost = _ADDRESS.plus(_ADDRESS).scaled(_STRING_FACTOR)
    if overload == "cidr_contains_ip_string":
        cost = cost.plus(est.library_size(args[0]).scaled(_STRING_FACTOR))
    return _CallEstimate(cost)


def _contains_cidr_rule(est: _Estimator, overload: str, _: _Node | None, args: list[_Node]) -> _CallEstimate | None:
    cost = _ADDRESS.plus(_ADDRESS).scaled(_STRING_FACTOR).plus(_ADDRESS.scaled(_STRING_FACTOR)).plus(_ONE)
    if overload == "cidr_contains_cidr_string":
        cost = cost.plus(est.library_size(args[0]).scaled(_STRING_FACTOR))
    return _CallEstimate(cost)


def _validate_rule(est: _Estimator, _: str, __: _Node | None, args: list[_Node]) -> _CallEstimate | None:
    if not args:
        return None
    return _CallEstimate(
        est.library_size(args[0]).scaled(_STRING_FACTOR).scaled(_MAX_NAME_FORMAT_REGEX * _REGEX_FACTOR)
    )


_CHEAP_EQUALITY: Final = frozenset({"kubernetes.Quantity", "kubernetes.Semver", "net.IP", "net.CIDR"})


def _equals_rule(_: _Estimator, __: str, ___: _Node | None, args: list[_Node]) -> _CallEstimate | None:
    if len(args) != 2 or args[0].type != args[1].type:
        return None
    name = args[0].type.name
    if name in _CHEAP_EQUALITY:
        return _CallEstimate(_ONE)
    if name == "kubernetes.NamedFormat":
        return _CallEstimate(CostEstimate(1, _MAX_FORMAT_SIZE).scaled(_STRING_FACTOR))
    if name == "kubernetes.URL":
        size = args[1].size.max if args[1].size else 1
        return _CallEstimate(CostEstimate(1, size).scaled(_STRING_FACTOR))
    return None


def _allocating(factor: float, size: SizeEstimate) -> _CallEstimate:
    # 10 for the new list, 1 for the call.
    return _CallEstimate(size.scaled(factor).plus(_fixed(11)), size)


def _integer(node: _Node, default: int) -> int:
    if isinstance(node.expr, Literal) and node.expr.value.__class__ is int:
        return max(int(node.expr.value), 0)
    return default


def _slice_rule(est: _Estimator, _: str, target: _Node | None, args: list[_Node]) -> _CallEstimate | None:
    if target is None or len(args) != 2:
        return None
    start, end = _integer(args[0], 0), _integer(args[1], est.library_size(target).max)
    return _allocating(1, _fixed((end - start) % 2**64))


def _range_rule(_: _Estimator, __: str, ___: _Node | None, args: list[_Node]) -> _CallEstimate | None:
    return _allocating(1, _fixed(_integer(args[0], UNLIMITED)))


def _reverse_rule(est: _Estimator, _: str, target: _Node | None, __: list[_Node]) -> _CallEstimate | None:
    return _allocating(1, est.library_size(target)) if target is not None else None


def _flatten_rule(est: _Estimator, _: str, target: _Node | None, args: list[_Node]) -> _CallEstimate | None:
    if target is None:
        return None
    depth = _integer(args[0], UNLIMITED) if args else 1
    return _allocating(float(depth), est.library_size(target))


def _square(est: _Estimator, node: _Node, factor: float) -> _CallEstimate:
    size = est.library_size(node)
    return _allocating(factor, size.times(size))


def _distinct_rule(est: _Estimator, _: str, target: _Node | None, __: list[_Node]) -> _CallEstimate | None:
    return _square(est, target, 2.0) if target is not None else None


def _sort_factor(overload: str) -> float:
    return 2.1 if overload.startswith(("list_string", "list_bytes")) else 2.0


def _sort_rule(est: _Estimator, overload: str, target: _Node | None, __: list[_Node]) -> _CallEstimate | None:
    return _square(est, target, _sort_factor(overload)) if target is not None else None


def _sort_by_rule(est: _Estimator, overload: str, _: _Node | None, args: list[_Node]) -> _CallEstimate | None:
    return _square(est, args[0], _sort_factor(overload)) if len(args) == 1 else None


def _sets_rule(factor: float) -> _Rule:
    def rule(est: _Estimator, _: str, __: _Node | None, args: list[_Node]) -> _CallEstimate | None:
        size = est.library_size(args[0]).times(est.library_size(args[1]))
        return _CallEstimate(size.scaled(factor).plus(_ONE))

    return rule


_RULES: Final[dict[str, _Rule]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _items_rule),
    "url": _url_rule,
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _text_rule),
    "replace": _replace_rule,
    "split": _split_rule,
    "join": _join_rule,
    **dict.fromkeys(("find", "findAll"), _find_rule),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"), _parse_rule),
    "ip.isCanonical": _canonical_rule,
    "containsIP": _contains_ip_rule,
    "containsCIDR": _contains_cidr_rule,
    "validate": _validate_rule,
    "_==_": _equals_rule,
    "lists.range": _range_rule,
    "slice": _slice_rule,
    "flatten": _flatten_rule,
    "distinct": _distinct_rule,
    "sort": _sort_rule,
    "@sortByAssociatedKeys": _sort_by_rule,
    "sets.contains": _sets_rule(1.0),
    "sets.intersects": _sets_rule(1.0),
    "sets.equivalent": _sets_rule(2.0),
    **dict.fromkeys(UNIT_FUNCTIONS, _unit),
}
_RULES_BY_OVERLOAD: Final[dict[str, _Rule]] = {"list_reverse": _reverse_rule, "list_includes_dyn_dyn": _includes_rule}

_COSTS: Final[dict[type, Callable[[_Estimator, Expr], CostEstimate]]] = {
    Literal: _Estimator.literal,
    Ident: _Estimator.ident,  # type: ignore[dict-item]
    Select: _Estimator.select,  # type: ignore[dict-item]
    Call: _Estimator.call,  # type: ignore[dict-item]
    ListExpr: _Estimator.list_literal,  # type: ignore[dict-item]
    MapExpr: _Estimator.map_literal,  # type: ignore[dict-item]
    Struct: _Estimator.struct,  # type: ignore[dict-item]
    Comprehension: _Estimator.fold,  # type: ignore[dict-item]
}
