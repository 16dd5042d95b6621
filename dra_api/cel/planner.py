"""Compiles a checked tree to nested closures that evaluate it and count its cost.

A Program is immutable and may run in any number of threads; each run has its own frame, a list whose slot 0 is the
cost so far, slot 1 the limit, and the rest the variables. Costs known in advance are charged once per straight run
of code, the others where they arise; the limit is checked in loops and at the end. The costs follow
cel-go 0.26 interpreter/runtimecost.go and planner.go with the options Kubernetes sets (constants folded, has() free).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from .ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, MapExpr, Select
from .checker import Checked
from .costs import Charge, call_cost
from .errors import CelCompileError, CelRuntimeError, CostExceeded
from .guards import guarded
from .operators import CONVERSIONS, explain
from .patterns import compile_pattern
from .qualify import ABSENT, key_text, qualify, qualify_if_present
from .values import (
    NONE,
    Duration,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    equal,
    find_key,
    from_key,
    no_overload,
    not_equal,
    to_key,
)

__all__ = ["Implementations", "Program", "plan"]

Frame = list[Any]
Run = Callable[[Frame], Any]
Implementations = Mapping[tuple[str, bool], Callable[..., Any]]

_COST: Final = 0
_LIMIT: Final = 1
_FIRST_VARIABLE: Final = 2
_UNSET: Final = object()

# cel-go common/cost.go: ListCreateBaseCost and MapCreateBaseCost.
_LIST_COST: Final = 10
_MAP_COST: Final = 30


@dataclass(frozen=True, slots=True)
class Program:
    """A runnable expression. ``variables`` is the order of run()'s values."""

    code: Run
    base_cost: int
    size: int
    variables: tuple[str, ...]

    def run(self, values: tuple[Any, ...], limit: int) -> tuple[Any, int]:
        """Evaluate; returns the value and its cost. Raises CelRuntimeError or CostExceeded."""
        frame: Frame = [self.base_cost, limit, *values]
        if self.size > len(frame):
            frame += [_UNSET] * (self.size - len(frame))
        try:
            value = self.code(frame)
        except RecursionError:
            raise CelRuntimeError("expression nests too deeply to be evaluated") from None
        if frame[_COST] > limit:
            raise _too_costly()
        return value, frame[_COST]


def _too_costly() -> CostExceeded:
    return CostExceeded("operation cancelled: actual cost limit exceeded")


@dataclass(slots=True)
class _Step:
    """One qualifier of an attribute: a constant key, or a plan that yields it."""

    key: Any
    plan: _Plan | None
    optional: bool
    test_only: bool = False


@dataclass(slots=True)
class _Attribute:
    """A variable, operand or ternary with the selections applied to it."""

    root: Run
    root_cost: int
    slot: int | None
    steps: list[_Step] = field(default_factory=list)
    branches: tuple[_Plan, _Attribute, _Attribute] | None = None


@dataclass(slots=True)
class _Plan:
    """A planned node: its code, the cost its parent must charge, and what the parent may optimise."""

    run: Run
    cost: int = 0
    constant: bool = False
    value: Any = None
    attribute: _Attribute | None = None


def plan(
    checked: Checked, variables: tuple[str, ...], implementations: Implementations, *, before_1_37: bool = False
) -> Program:
    """Plan ``checked``. ``implementations`` maps (function, is method) to a Python function.

    ``before_1_37``: with the costs of cel-go 0.26 (Kubernetes 1.36 and before), which also lets values that are not
    optional pass ``or`` and ``orValue``.

    Raises CelCompileError when a constant conversion fails, as Kubernetes does when it instantiates the program.
    """
    planner = _Planner(checked, variables, implementations, before_1_37=before_1_37)
    root = planner.plan(checked.root)
    return Program(root.run, root.cost, planner.size, variables)


def _constant(value: Any) -> _Plan:
    return _Plan(lambda _: value, 0, True, value)


class _Planner:
    def __init__(
        self, checked: Checked, variables: tuple[str, ...], implementations: Implementations, *, before_1_37: bool
    ) -> None:
        self.checked = checked
        self.before_1_37 = before_1_37
        self.implementations = implementations
        self.size = _FIRST_VARIABLE + len(variables)
        self.scopes: list[dict[str, tuple[int, Run]]] = [
            {name: (index, _read(index)) for index, name in enumerate(variables, _FIRST_VARIABLE)}
        ]

    def plan(self, expr: Expr) -> _Plan:
        return _PLANS[type(expr)](self, expr)

    # --- leaves

    def literal(self, expr: Literal) -> _Plan:
        return _constant(expr.value)

    def ident(self, expr: Ident) -> _Plan:
        named = self.checked.type_idents.get(expr.id)
        if named is not None:
            return _constant(TypeValue(named.name))
        for scope in reversed(self.scopes):
            if expr.name in scope:
                slot, run = scope[expr.name]
                # A negative slot marks a variable that may still have to be computed.
                return _finish(_Attribute(run, 0, slot if slot > 0 else None))
        raise CelCompileError(f"undeclared reference to '{expr.name}' (in container '')")

    # --- attributes

    def attribute(self, operand: _Plan) -> _Attribute:
        if operand.attribute is not None:
            return operand.attribute
        return _Attribute(operand.run, operand.cost, None)

    def select(self, expr: Select) -> _Plan:
        named = self.checked.type_idents.get(expr.id)
        if named is not None:
            return _constant(TypeValue(named.name))
        attribute = self.attribute(self.plan(expr.operand))
        return _finish(_extend(attribute, _Step(expr.field, None, False, expr.test_only)))

    def index(self, expr: Call, *, optional: bool) -> _Plan:
        attribute = self.attribute(self.plan(expr.args[0]))
        key = self.plan(expr.args[1])
        step = _Step(key.value, None, optional) if key.constant else _Step(None, _as_key(key), optional)
        return _finish(_extend(attribute, step))

    def ternary(self, expr: Call) -> _Plan:
        condition, truthy, falsy = (self.plan(arg) for arg in expr.args)
        attribute = _Attribute(_never, 0, None)
        attribute.branches = (condition, self.attribute(truthy), self.attribute(falsy))
        return _finish(attribute)

    # --- aggregates

    def list_literal(self, expr: ListExpr) -> _Plan:
        items = [self.plan(item) for item in expr.elements]
        if all(item.constant for item in items) and not expr.optional:
            return _constant([item.value for item in items])
        cost = _LIST_COST + sum(item.cost for item in items)
        runs = [item.run for item in items]
        if expr.optional:
            return _Plan(_list_with_optionals(runs, expr.optional), cost)
        if len(runs) == 1:
            only = runs[0]
            return _Plan(lambda frame: [only(frame)], cost)
        return _Plan(lambda frame: [run(frame) for run in runs], cost)

    def map_literal(self, expr: MapExpr) -> _Plan:
        pairs = [(self.plan(entry.key), self.plan(entry.value), entry.optional) for entry in expr.entries]
        if all(key.constant and value.constant and _valid_key(key.value) and not opt for key, value, opt in pairs):
            return _constant({to_key(key.value): value.value for key, value, _ in pairs})
        cost = _MAP_COST + sum(key.cost + value.cost for key, value, _ in pairs)
        return _Plan(_map_of([(key.run, value.run, optional) for key, value, optional in pairs]), cost)

    # --- calls

    def call(self, expr: Call) -> _Plan:
        special = _SPECIAL.get(expr.function)
        if special is not None and expr.target is None:
            return special(self, expr)
        nodes = ([expr.target] if expr.target is not None else []) + expr.args
        args = [self.plan(node) for node in nodes]
        ids = self.checked.overloads.get(expr.id, ())
        # If the checker left several overloads, the arguments decide at run time.
        overload = ids[0] if len(ids) == 1 else ""
        if expr.function in ("or", "orValue") and expr.target is not None:
            return _optional_or(args, whole=expr.function == "or", strict=not self.before_1_37)
        if expr.target is None and len(args) == 1 and args[0].constant and expr.function in CONVERSIONS:
            return self.convert_constant(expr, args[0].value)
        if overload == "in_list" and args[1].constant:
            folded = _membership(args[0], args[1].value)
            if folded is not None:
                return folded
        implementation = self.implementations.get((expr.function, expr.target is not None))
        if implementation is None:
            raise CelCompileError(f"no such overload: {expr.function}")
        implementation = guarded(expr.function, overload, implementation)
        if expr.function in _PATTERN_FUNCTIONS and len(args) >= 2 and args[1].constant:
            _try_pattern(args[1].value)
        cost = call_cost(expr.function, overload, before_1_37=self.before_1_37)
        return _call(expr.function, implementation, args, cost)

    def convert_constant(self, expr: Call, value: Any) -> _Plan:
        convert = self.implementations[(expr.function, False)]
        try:
            return _constant(convert(value))
        except CelRuntimeError as err:
            reason = explain(err, expr.function, (value,)).message
            raise CelCompileError(f"program instantiation failed: {reason}") from None

    def equals(self, expr: Call) -> _Plan:
        left, right = (self.plan(arg) for arg in expr.args)
        return _equality(left, right, negate=expr.function == "_!=_")

    def logical(self, expr: Call) -> _Plan:
        terms = [self.plan(arg) for arg in expr.args]
        return _logical(terms, stop=expr.function == "_||_")

    def not_strictly_false(self, expr: Call) -> _Plan:
        inner = self.plan(expr.args[0])
        run = inner.run

        def check(frame: Frame) -> bool:
            try:
                # An error does not end all() or exists(): a later element may still decide the result.
                return run(frame) is not False
            except CelRuntimeError:
                return True

        return _Plan(check, inner.cost + 1)

    # --- loops

    def fold(self, expr: Comprehension) -> _Plan:
        iter_range = self.plan(expr.iter_range)
        init = self.plan(expr.accu_init)
        accu_slot, first_slot, second_slot = self.size, self.size + 1, self.size + 2
        self.size += 3
        fresh = _fresh_container(expr.accu_init)
        lazy = _lazy(accu_slot, init, fresh)
        self.scopes.append({expr.accu_var: (-accu_slot, lazy)})
        inner = {expr.iter_var: (first_slot, _read(first_slot))}
        if expr.iter_var2 is not None:
            inner[expr.iter_var2] = (second_slot, _read(second_slot))
        if isinstance(expr.iter_range, ListExpr) and not expr.iter_range.elements:
            # cel.bind and optMap: a loop that never runs, of which only the lazily set accumulator is used.
            # The body is planned all the same, as a constant in it that cannot be converted is an error.
            self.scopes.append(inner)
            for unused in (expr.condition, expr.step):
                self.plan(unused)
            self.scopes.pop()
            result = self.plan(expr.result)
            self.scopes.pop()
            return _bind(accu_slot, result)
        self.scopes.append(inner)
        condition = self.plan(expr.condition)
        step = self.append_step(expr, accu_slot) if fresh is not None else None
        step = step or self.plan(expr.step)
        self.scopes.pop()
        result = self.plan(expr.result)
        self.scopes.pop()
        return _fold(
            iter_range,
            condition,
            step,
            result,
            slots=(accu_slot, first_slot, second_slot if expr.iter_var2 is not None else None),
        )

    def append_step(self, expr: Comprehension, accu_slot: int) -> _Plan | None:
        """``accu + [x]`` and ``guard ? accu + [x] : accu`` grow the loop's own list instead of copying it."""
        step, guard = expr.step, None
        if isinstance(step, Call) and step.function == "_?_:_":
            guard, step = step.args[0], step.args[1]
        if not isinstance(step, Call) or step.function not in ("_+_", "cel.@mapInsert"):
            return None
        head, *rest = step.args
        if not isinstance(head, Ident) or head.name != expr.accu_var:
            return None
        _, accu = self.scopes[-2][expr.accu_var]
        plans = [self.plan(arg) for arg in rest]
        if step.function == "_+_":
            grow = _append(accu, plans[0])
        elif len(plans) == 2:
            grow = _insert(accu, plans[0], plans[1])
        else:
            grow = _update(accu, plans[0])
        if guard is None:
            return grow
        return _guarded(self.plan(guard), grow, accu)


# --- building blocks

_PATTERN_FUNCTIONS: Final = frozenset({"matches", "find", "findAll"})


def _try_pattern(pattern: Any) -> None:
    """A constant pattern is compiled when the program is made, and refused then."""
    try:
        compile_pattern(pattern)
    except CelRuntimeError as err:
        raise CelCompileError(f"program instantiation failed: {err.message}") from None


def _never(_: Frame) -> Any:
    raise no_overload()


def _read(slot: int) -> Run:
    return lambda frame: frame[slot]


def _lazy(slot: int, init: _Plan, fresh: type | None) -> Run:
    """Reads an accumulator: computed on first use, an error kept and raised again."""
    run, cost = init.run, init.cost

    def read(frame: Frame) -> Any:
        value = frame[slot]
        if value is _UNSET:
            frame[_COST] += cost
            try:
                value = fresh() if fresh is not None else run(frame)
            except CelRuntimeError as err:
                frame[slot] = err
                raise
            frame[slot] = value
        elif value.__class__ is CelRuntimeError:
            raise value
        return value

    return read


def _fresh_container(init: Expr) -> type | None:
    if isinstance(init, ListExpr) and not init.elements:
        return list
    if isinstance(init, MapExpr) and not init.entries:
        return dict
    return None


def _extend(attribute: _Attribute, step: _Step) -> _Attribute:
    if attribute.branches is not None:
        condition, truthy, falsy = attribute.branches
        extended = _Attribute(_never, 0, None)
        extended.branches = (condition, _extend(truthy, step), _extend(falsy, step))
        return extended
    return _Attribute(attribute.root, attribute.root_cost, attribute.slot, [*attribute.steps, step])


def _as_key(key: _Plan) -> _Plan:
    """A computed key is resolved, not evaluated: an attribute's own unit of cost falls away."""
    if key.attribute is None:
        return key
    run, cost = _compile(key.attribute)
    return _Plan(run, cost)


def _finish(attribute: _Attribute) -> _Plan:
    """An attribute as a node: one unit for the whole, one for each step, none for a ternary or a has()."""
    run, cost = _compile(attribute)
    own = 0 if attribute.branches is not None or any(step.test_only for step in attribute.steps) else 1
    return _Plan(run, cost + own, attribute=attribute)


def _compile(attribute: _Attribute) -> tuple[Run, int]:
    if attribute.branches is not None:
        return _branch(attribute.branches)
    steps = attribute.steps
    if not steps:
        return attribute.root, attribute.root_cost
    simple = all(step.plan is None and not step.optional and not step.test_only for step in steps)
    if simple and all(step.key.__class__ is str for step in steps):
        return _string_path(attribute), attribute.root_cost + len(steps)
    return _general_path(attribute)


def _branch(branches: tuple[_Plan, _Attribute, _Attribute]) -> tuple[Run, int]:
    condition = branches[0].run
    truthy, truthy_cost = _compile(branches[1])
    falsy, falsy_cost = _compile(branches[2])

    def choose(frame: Frame) -> Any:
        value = condition(frame)
        if value is True:
            frame[_COST] += truthy_cost
            return truthy(frame)
        if value is False:
            frame[_COST] += falsy_cost
            return falsy(frame)
        raise no_overload()

    return choose, branches[0].cost


def _string_path(attribute: _Attribute) -> Run:
    """``variable.a["b"].c``: plain dict lookups, with the slow path for all other values."""
    keys = tuple(step.key for step in attribute.steps)
    root, slot = attribute.root, attribute.slot
    slow = _slow_path(root, keys)
    if slot is None or len(keys) > 3:
        return slow
    # Unrolled up to three keys (`device.attributes["domain"].name`): selectors run once for each device.
    if len(keys) == 1:
        (only,) = keys

        def one(frame: Frame) -> Any:
            try:
                return frame[slot][only]
            except (KeyError, TypeError):
                return slow(frame)

        return one
    if len(keys) == 2:
        first, second = keys

        def two(frame: Frame) -> Any:
            try:
                return frame[slot][first][second]
            except (KeyError, TypeError):
                return slow(frame)

        return two
    first, second, third = keys

    def three(frame: Frame) -> Any:
        try:
            return frame[slot][first][second][third]
        except (KeyError, TypeError):
            return slow(frame)

    return three


def _slow_path(root: Run, keys: tuple[str, ...]) -> Run:
    def walk(frame: Frame) -> Any:
        value = root(frame)
        if value.__class__ is Optional:
            return _walk_optional(value, keys)
        for key in keys:
            value = qualify(value, key)
        return value

    return walk


def _walk_optional(value: Optional, keys: tuple[str, ...]) -> Optional:
    if not value.present:
        return value
    part = value.value
    for key in keys:
        part = qualify_if_present(part, key)
        if part is ABSENT:
            return NONE
    return Optional(part)


def _general_path(attribute: _Attribute) -> tuple[Run, int]:
    """Any mix of constant, computed, optional and presence-only steps. Only mandatory steps have a known cost."""
    root = attribute.root
    steps = [
        (
            step.key,
            step.plan.run if step.plan else None,
            step.plan.cost if step.plan else 0,
            step.optional,
            step.test_only,
        )
        for step in attribute.steps
    ]

    def walk(frame: Frame) -> Any:
        value = root(frame)
        optional = False
        if value.__class__ is Optional:
            if not value.present:
                return value
            optional, value = True, value.value
        for key, run, cost, starts_optional, test_only in steps:
            if run is not None:
                frame[_COST] += cost
                key = run(frame)
            optional = optional or starts_optional
            if test_only:
                frame[_COST] += 1
                return qualify_if_present(value, key) is not ABSENT
            if not optional:
                frame[_COST] += 1
                value = qualify(value, key)
                continue
            value = qualify_if_present(value, key)
            if value is ABSENT:
                return NONE
            frame[_COST] += 1
        return Optional(value) if optional else value

    return walk, attribute.root_cost


def _list_with_optionals(runs: list[Run], optional: frozenset[int]) -> Run:
    def build(frame: Frame) -> Any:
        out = []
        for index, run in enumerate(runs):
            value = run(frame)
            if index in optional:
                if value.__class__ is not Optional:
                    raise CelRuntimeError(
                        f"cannot initialize optional list element from non-optional value {key_text(value)}"
                    )
                if not value.present:
                    continue
                value = value.value
            out.append(value)
        return out

    return build


_KEYS: Final = frozenset({str, int, Uint, bool, float})


def _valid_key(key: Any) -> bool:
    return key.__class__ in _KEYS


def _map_of(pairs: list[tuple[Run, Run, bool]]) -> Run:
    def build(frame: Frame) -> Any:
        out: dict[Any, Any] = {}
        for key_run, value_run, optional in pairs:
            key, value = key_run(frame), value_run(frame)
            if not _valid_key(key):
                raise CelRuntimeError(f"unsupported key type: {key_text(key)}")
            if optional:
                if value.__class__ is not Optional:
                    raise CelRuntimeError(
                        f"cannot initialize optional entry '{key_text(key)}' from non-optional value {key_text(value)}"
                    )
                if not value.present:
                    out.pop(to_key(key), None)
                    continue
                value = value.value
            out[to_key(key)] = value
        return out

    return build


def _optional_or(args: list[_Plan], *, whole: bool, strict: bool) -> _Plan:
    left, right, right_cost = args[0].run, args[1].run, args[1].cost

    def choose(frame: Frame) -> Any:
        value = left(frame)
        if value.__class__ is not Optional:
            if strict:
                raise CelRuntimeError("no such overload")
            return value
        if value.present:
            return value if whole else value.value
        frame[_COST] += right_cost
        return right(frame)

    return _Plan(choose, args[0].cost)


def _membership(item: _Plan, items: list[Any]) -> _Plan | None:
    """``x in [constants]`` as a hash lookup, free of cost, as cel-go plans it; None when it does not."""
    if not items:
        return _constant(False)
    if not all(value.__class__ in _SET_CLASSES for value in items):
        return None
    table: dict[Any, Any] = {to_key(value): True for value in items}
    run = item.run
    return _Plan(lambda frame: find_key(table, run(frame))[0], item.cost)


_SET_CLASSES: Final = frozenset({str, int, Uint, bool, float})


def _call(name: str, implementation: Callable[..., Any], args: list[_Plan], cost: int | Charge) -> _Plan:
    known = sum(arg.cost for arg in args)
    runs = tuple(arg.run for arg in args)
    if not isinstance(cost, int):
        return _metered(name, implementation, args, cost)
    known += cost
    if len(runs) == 1:
        (only,) = runs

        def one(frame: Frame) -> Any:
            value = only(frame)
            try:
                return implementation(value)
            except CelRuntimeError as err:
                raise explain(err, name, (value,)) from None

        return _Plan(one, known)
    if len(runs) == 2:
        first, second = runs

        def two(frame: Frame) -> Any:
            left, right = _pair(frame, first, second)
            try:
                return implementation(left, right)
            except CelRuntimeError as err:
                raise explain(err, name, (left, right)) from None

        return _Plan(two, known)

    def many(frame: Frame) -> Any:
        values = tuple([run(frame) for run in runs])
        try:
            return implementation(*values)
        except CelRuntimeError as err:
            raise explain(err, name, values) from None

    return _Plan(many, known)


def _pair(frame: Frame, first: Run, second: Run) -> tuple[Any, Any]:
    """Both operands. The second is evaluated, and paid for, even when the first is an error (cel-go evalBinary)."""
    try:
        left = first(frame)
    except CelRuntimeError:
        with suppress(CelRuntimeError):
            second(frame)
        raise
    return left, second(frame)


def _metered_pair(frame: Frame, first: Run, second: Run, charge: Charge) -> tuple[Any, Any]:
    """Both operands of a metered call. It is paid for even when one is an error, which counts as of size one."""
    try:
        left = first(frame)
    except CelRuntimeError:
        right = None
        with suppress(CelRuntimeError):
            right = second(frame)
        frame[_COST] += charge((None, right), None)
        raise
    try:
        return left, second(frame)
    except CelRuntimeError:
        frame[_COST] += charge((left, None), None)
        raise


def _metered(name: str, implementation: Callable[..., Any], args: list[_Plan], charge: Charge) -> _Plan:
    """A call whose cost depends on its arguments or result."""
    runs = tuple(arg.run for arg in args)

    def run(frame: Frame) -> Any:
        if len(runs) == 2:
            values: tuple[Any, ...] = _metered_pair(frame, *runs, charge)
        else:
            values = tuple([each(frame) for each in runs])
        try:
            result = implementation(*values)
        except CelRuntimeError as err:
            frame[_COST] += charge(values, None)
            raise explain(err, name, values) from None
        frame[_COST] += charge(values, result)
        # Checked here too: concatenation can double a string with every call.
        if frame[_COST] > frame[_LIMIT]:
            raise _too_costly()
        return result

    return _Plan(run, sum(arg.cost for arg in args))


_SCALARS: Final = frozenset({int, Uint, bool, float, type(None), Duration, Timestamp})


def _equality(left: _Plan, right: _Plan, *, negate: bool) -> _Plan:
    known = left.cost + right.cost
    constant = right if right.constant else left if left.constant else None
    if constant is not None and constant.value.__class__ is str:
        other = left if constant is right else right
        return _Plan(_equals_text(other.run, constant.value, swapped=constant is left, negate=negate), known)
    first, second = left.run, right.run
    charge = call_cost("_!=_" if negate else "_==_", "not_equals" if negate else "equals")
    assert not isinstance(charge, int)  # noqa: S101 - the size of the operands decides

    def same(frame: Frame) -> bool:
        try:
            a, b = _pair(frame, first, second)
        except CelRuntimeError:
            frame[_COST] += 1
            raise
        if a.__class__ in _SCALARS and b.__class__ in _SCALARS:
            frame[_COST] += 1
        else:
            frame[_COST] += charge((a, b), None)
        return not_equal(a, b) if negate else equal(a, b)

    return _Plan(same, known)


def _equals_text(run: Run, text: str, *, swapped: bool, negate: bool) -> Run:
    """Comparison with a string constant, by far the most common test in selectors."""
    length = len(text)
    charge = call_cost("_!=_" if negate else "_==_", "not_equals" if negate else "equals")
    assert not isinstance(charge, int)  # noqa: S101

    def same(frame: Frame) -> bool:
        try:
            value = run(frame)
        except CelRuntimeError:
            frame[_COST] += 1
            raise
        if value.__class__ is str:
            # A tenth of the shorter text, rounded up.
            size = len(value)
            frame[_COST] += ((size if size < length else length) + 9) // 10
            return (value == text) is not negate
        pair = (text, value) if swapped else (value, text)
        frame[_COST] += charge(pair, None)
        return not_equal(*pair) if negate else equal(*pair)

    return same


def _logical(terms: list[_Plan], *, stop: bool) -> _Plan:
    """``&&`` stops at false, ``||`` at true; an error counts only when no term stops the evaluation."""
    other = not stop
    if len(terms) == 2:
        first, second, second_cost = terms[0].run, terms[1].run, terms[1].cost

        def both(frame: Frame) -> Any:
            failure: CelRuntimeError | None = None
            try:
                value = first(frame)
                if value is stop:
                    return stop
                if value is not other:
                    failure = no_overload()
            except CelRuntimeError as err:
                failure = err
            frame[_COST] += second_cost
            try:
                value = second(frame)
            except CelRuntimeError as err:
                raise failure or err from None
            if value is stop:
                return stop
            if failure is None and value is other:
                return other
            raise failure or no_overload()

        return _Plan(both, terms[0].cost)
    runs = [(term.run, term.cost if index else 0) for index, term in enumerate(terms)]

    def every(frame: Frame) -> Any:
        failure: CelRuntimeError | None = None
        for run, cost in runs:
            frame[_COST] += cost
            try:
                value = run(frame)
            except CelRuntimeError as err:
                failure = failure or err
                continue
            if value is stop:
                return stop
            if value is not other:
                failure = failure or no_overload()
        if failure is not None:
            raise failure
        return other

    return _Plan(every, terms[0].cost)


def _bind(slot: int, result: _Plan) -> _Plan:
    run = result.run

    def scoped(frame: Frame) -> Any:
        # In a loop the slot still has the value of the previous turn.
        frame[slot] = _UNSET
        return run(frame)

    return _Plan(scoped, result.cost)


def _append(accu: Run, items: _Plan) -> _Plan:
    run = items.run

    def grow(frame: Frame) -> Any:
        grown = accu(frame)
        grown += run(frame)
        return grown

    # accumulator 1, addition 1, and whatever building the right side costs
    return _Plan(grow, items.cost + 2)


def _insert(accu: Run, key: _Plan, value: _Plan) -> _Plan:
    key_run, value_run = key.run, value.run

    def grow(frame: Frame) -> Any:
        grown = accu(frame)
        _put(grown, key_run(frame), value_run(frame))
        return grown

    return _Plan(grow, key.cost + value.cost + 2)


def _update(accu: Run, entries: _Plan) -> _Plan:
    run = entries.run

    def grow(frame: Frame) -> Any:
        grown = accu(frame)
        more = run(frame)
        if not isinstance(more, dict):
            raise no_overload()
        for key, value in more.items():
            _put(grown, from_key(key), value)
        return grown

    return _Plan(grow, entries.cost + 2)


def _put(target: dict[Any, Any], key: Any, value: Any) -> None:
    if not _valid_key(key):
        raise CelRuntimeError(f"unsupported key type: {key_text(key)}")
    stored = to_key(key)
    if stored in target:
        raise CelRuntimeError(f"insert failed: key {key_text(key)} already exists")
    target[stored] = value


def _guarded(guard: _Plan, grow: _Plan, accu: Run) -> _Plan:
    test, change, change_cost = guard.run, grow.run, grow.cost

    def step(frame: Frame) -> Any:
        value = test(frame)
        if value is True:
            frame[_COST] += change_cost
            return change(frame)
        if value is False:
            return accu(frame)
        raise no_overload()

    return _Plan(step, guard.cost)


_GO_NAMES: Final = {
    str: "types.String",
    int: "types.Int",
    bool: "types.Bool",
    float: "types.Double",
    bytes: "types.Bytes",
}


def _fold(
    iter_range: _Plan, condition: _Plan, step: _Plan, result: _Plan, *, slots: tuple[int, int, int | None]
) -> _Plan:
    accu_slot, first_slot, second_slot = slots
    range_run, condition_run, step_run, result_run = iter_range.run, condition.run, step.run, result.run
    always = condition.constant and condition.value is True
    turn_cost = condition.cost
    step_cost, result_cost = step.cost, result.cost

    def loop(frame: Frame) -> Any:
        items = range_run(frame)
        if not isinstance(items, (list, tuple, dict)):
            if second_slot is not None:
                raise CelRuntimeError(f"unsupported comprehension range type: {_go_name(items)}")
            raise CelRuntimeError(f"got '{_go_name(items)}', expected iterable type")
        frame[accu_slot] = _UNSET
        is_map = isinstance(items, dict)
        limit = frame[_LIMIT]
        for index, item in enumerate(items):
            if second_slot is not None:
                frame[first_slot] = from_key(item) if is_map else index
                frame[second_slot] = items[item] if is_map else item
            else:
                frame[first_slot] = from_key(item) if is_map else item
            if not always:
                frame[_COST] += turn_cost
                if condition_run(frame) is False:
                    break
            frame[_COST] += step_cost
            try:
                frame[accu_slot] = step_run(frame)
            except CelRuntimeError as err:
                frame[accu_slot] = err
            if frame[_COST] > limit:
                raise _too_costly()
        frame[_COST] += result_cost
        return result_run(frame)

    return _Plan(loop, iter_range.cost)


def _go_name(value: Any) -> str:
    return str(_GO_NAMES.get(value.__class__, value.__class__.__name__))


_PLANS: Final[dict[type, Callable[[_Planner, Expr], _Plan]]] = {
    Literal: _Planner.literal,  # type: ignore[dict-item]
    Ident: _Planner.ident,  # type: ignore[dict-item]
    Select: _Planner.select,  # type: ignore[dict-item]
    Call: _Planner.call,  # type: ignore[dict-item]
    ListExpr: _Planner.list_literal,  # type: ignore[dict-item]
    MapExpr: _Planner.map_literal,  # type: ignore[dict-item]
    Comprehension: _Planner.fold,  # type: ignore[dict-item]
}
_SPECIAL: Final[dict[str, Callable[[_Planner, Call], _Plan]]] = {
    "_==_": _Planner.equals,
    "_!=_": _Planner.equals,
    "_&&_": _Planner.logical,
    "_||_": _Planner.logical,
    "_?_:_": _Planner.ternary,
    "_[_]": lambda planner, expr: planner.index(expr, optional=False),
    "_[?_]": lambda planner, expr: planner.index(expr, optional=True),
    "_?._": lambda planner, expr: planner.index(expr, optional=True),
    "@not_strictly_false": _Planner.not_strictly_false,
}
