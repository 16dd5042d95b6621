"""CEL for DRA device selectors: ``device.driver == "gpu.example.com" && device.attributes[...]...``.

compile_selector() returns an immutable, thread-safe Selector; DeviceView prepares one device of a ResourceSlice for
many selectors. Source:
k8s.io/dynamic-resource-allocation/cel/compile.go (0.37, 0.36); rules DRA-016 to DRA-018 and DRA-159 to DRA-167.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from ..quantity import Quantity, QuantityError
from ..releases import DEFAULT_RELEASE
from ..semver import SemVer, SemVerError
from .ast import Expr
from .checker import Checked, Environment, LiteralChecks, check
from .declarations import BASE_FUNCTIONS, INCLUDES, INCLUDES_1_36
from .errors import CelCompileError, CelRuntimeError, Issue
from .estimate import UNLIMITED, SizeEstimate, estimate
from .functions import FUNCTIONS, FUNCTIONS_BEFORE_1_37
from .operators import CONVERSIONS
from .parser import MAX_DEPTH, parse
from .patterns import compile_pattern
from .planner import Program, plan
from .qualify import DefaultMap
from .types import ANY, BOOL, DYN, INT, STRING, Kind, Type, map_of, object_type, parse_type
from .values import type_value

__all__ = [
    "COST_LIMIT",
    "MAX_LENGTH",
    "DeviceView",
    "Selector",
    "compile_selector",
    "cost_of_derived_attribute",
    "derive_attribute",
    "minor_of",
]

COST_LIMIT: Final = 1_000_000
"""Highest cost of a selector, estimated at admission and counted when it runs (DRA-018)."""

MAX_LENGTH: Final = 10 * 1024
"""Longest selector in bytes (DRA-017)."""

LITERAL_CHECKS: Final[LiteralChecks] = {
    "duration": (0, CONVERSIONS["duration"]),
    "timestamp": (0, CONVERSIONS["timestamp"]),
    "matches": (0, compile_pattern),
}

_QUANTITY: Final = parse_type("Quantity")
# What constraints compare: one of these, or with lists a list of one of them.
_DERIVED: Final = frozenset({BOOL, INT, STRING, ANY, DYN, parse_type("Semver")})
_DEVICE: Final = object_type("kubernetes.DRADevice")
# Declared limits of the API (pkg/apis/resource/types.go): domain 63, id 32, driver name 63, value 64, entries 32.
_ENTRIES, _DOMAIN, _ID, _DRIVER, _VALUE = 32, 63, 32, 63, 64


class _Gates(NamedTuple):
    """Features of an environment: allowMultipleAllocations, includes(), attributes of type dyn instead of any, and the
    functions and costs of 1.36 and before.
    """

    allow_multiple: bool
    includes: bool
    lists: bool
    before_1_37: bool


@cache
def _environment(gates: _Gates) -> Environment:
    attribute = DYN if gates.lists else ANY
    fields: dict[str, Type] = {
        "driver": STRING,
        "attributes": map_of(STRING, map_of(STRING, attribute)),
        "capacity": map_of(STRING, map_of(STRING, _QUANTITY)),
    }
    includes = INCLUDES_1_36 if gates.before_1_37 else INCLUDES
    if gates.allow_multiple:
        fields["allowMultipleAllocations"] = BOOL
    return Environment(
        variables={"device": _DEVICE},
        functions={**BASE_FUNCTIONS, **includes} if gates.includes else BASE_FUNCTIONS,
        structs={_DEVICE.name: fields},
        macros=frozenset({"cel.bind"}),
    )


def _size_of_path(path: tuple[str, ...]) -> SizeEstimate | None:
    """Return the declared maximum size of the value at a path below ``device``, or None."""
    if not path or path[0] != "device":
        return None
    if len(path) == 1:
        return SizeEstimate(0, 0)
    head, rest = path[1], path[2:]
    if head == "driver":
        return SizeEstimate(0, _DRIVER) if not rest else None
    if head == "allowMultipleAllocations":
        return SizeEstimate(0, 1) if not rest else None
    if head not in ("attributes", "capacity"):
        return None
    if not rest:
        return SizeEstimate(0, _ENTRIES)
    if rest == ("@keys",):
        return SizeEstimate(0, _DOMAIN)
    if rest[0] not in ("@values", "@items"):
        return None
    if len(rest) == 1:
        return SizeEstimate(0, _ENTRIES)
    if rest[1] == "@keys" and len(rest) == 2:
        return SizeEstimate(0, _ID)
    if len(rest) == 2 and (rest[1] in ("@values", "@items") or head == "attributes"):
        return SizeEstimate(0, _VALUE if head == "attributes" else 0)
    return None


class DeviceView:
    """The variables of one device in selectors.

    ``attributes`` and ``capacity`` have the ResourceSlice form: ``{"model": {"string": "A100"}}`` and
    ``{"memory": {"value": "40Gi"}}``. A name without a domain belongs to the driver's domain (DRA-159). Raises
    CelRuntimeError for an attribute without a supported value; lists need ``list_type_attributes``, the gate
    DRAListTypeAttributes. The inputs are copied.
    """

    __slots__ = ("activation", "driver")

    def __init__(
        self,
        driver: str,
        attributes: Mapping[str, Mapping[str, Any]] | None = None,
        capacity: Mapping[str, Mapping[str, Any]] | None = None,
        allow_multiple_allocations: bool = False,
        *,
        list_type_attributes: bool = True,
    ) -> None:
        self.driver = driver
        known = DefaultMap()
        for name, attribute in (attributes or {}).items():
            domain, _, key = name.rpartition("/") if "/" in name else (driver, "", name)
            if domain not in known:
                known[domain] = {}
            known[domain][key] = _attribute_value(name, attribute, lists=list_type_attributes)
        amounts = DefaultMap()
        for name, amount in (capacity or {}).items():
            domain, _, key = name.rpartition("/") if "/" in name else (driver, "", name)
            if domain not in amounts:
                amounts[domain] = {}
            amounts[domain][key] = _capacity_value(name, amount)
        self.activation: tuple[dict[str, Any]] = (
            {
                "driver": driver,
                "allowMultipleAllocations": bool(allow_multiple_allocations),
                "attributes": known,
                "capacity": amounts,
            },
        )


def _version(name: str, text: str) -> SemVer:
    try:
        return SemVer.parse(text)
    except SemVerError as err:
        raise CelRuntimeError(f"attribute {name}: parse semantic version: {err}") from None


def _attribute_value(name: str, attribute: Mapping[str, Any], *, lists: bool) -> Any:
    for kind in ("ints", "bools", "strings"):
        if lists and attribute.get(kind) is not None:
            return list(attribute[kind])
    if lists and attribute.get("versions") is not None:
        return [_version(name, text) for text in attribute["versions"]]
    for kind in ("int", "bool", "string"):
        if attribute.get(kind) is not None:
            return attribute[kind]
    if attribute.get("version") is not None:
        return _version(name, attribute["version"])
    raise CelRuntimeError(f"attribute {name}: unsupported attribute value")


def _capacity_value(name: str, amount: Mapping[str, Any]) -> Quantity:
    try:
        return Quantity.parse(str(amount.get("value", "0")))
    except QuantityError as err:
        raise CelRuntimeError(f"capacity {name}: {err}") from None


@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled device selector.

    ``estimated_cost`` is the worst case that Kubernetes computes at admission. The API server rejects a selector above
    COST_LIMIT (``too_complex``); it still runs here.
    """

    expression: str
    program: Program
    estimated_cost: int | None
    output_type: str

    @property
    def too_complex(self) -> bool:
        """Whether the API server rejects the expression for its cost (DRA-018)."""
        return self.estimated_cost is None or self.estimated_cost > COST_LIMIT

    def matches(self, device: DeviceView, *, cost_limit: int = COST_LIMIT) -> bool:
        """Whether ``device`` is selected.

        Raises CelRuntimeError (``no such key: x``, or a result that is not a bool) and CostExceeded.
        """
        value = self.program.run(device.activation, cost_limit)[0]
        if value is True or value is False:
            return bool(value)
        raise CelRuntimeError(_not_bool(value))

    def evaluate(self, device: DeviceView, *, cost_limit: int = COST_LIMIT) -> tuple[bool, int]:
        """Return the result of matches() and its actual cost."""
        value, cost = self.program.run(device.activation, cost_limit)
        if value is True or value is False:
            return bool(value), cost
        raise CelRuntimeError(_not_bool(value))


_GO_NAMES: Final = {
    "kubernetes.Semver": "'Semver'",
    "kubernetes.Quantity": "'Quantity'",
    "list": "list",
    "map": "map",
    "double": "Double",
    "bytes": "Bytes",
}


def _not_bool(value: Any) -> str:
    name = type_value(value).name
    detail = {
        "string": "unsupported native conversion from string to 'bool'",
        "int": "unsupported type conversion from 'int' to bool",
    }.get(name, f"type conversion error from {_GO_NAMES.get(name, repr(name))} to 'bool'")
    return f"CEL result of type {name} could not be converted to bool: {detail}"


def compile_selector(
    expression: str,
    *,
    version: str = DEFAULT_RELEASE,
    consumable_capacity: bool = True,
    list_type_attributes: bool = True,
    stored: bool = False,
) -> Selector:
    """Compile a device selector; results are kept in a bounded cache and shared.

    ``version`` is the Kubernetes minor release; ``consumable_capacity`` and ``list_type_attributes`` are the feature
    gates DRAConsumableCapacity (known from 1.34) and DRAListTypeAttributes (from 1.36). A ``stored`` expression may
    use features of the release whose gate is off, as in an unchanged DeviceClass and in the scheduler. Raises
    CelCompileError with the API server's message (DRA-016, DRA-166). Length and estimated cost are not
    enforced here: see MAX_LENGTH and Selector.too_complex.
    """
    return _compile(expression, _gates(version, consumable_capacity, list_type_attributes, stored))


def cost_of_derived_attribute(
    expression: str,
    *,
    version: str = DEFAULT_RELEASE,
    consumable_capacity: bool = True,
    list_type_attributes: bool = True,
) -> int:
    """Compile an expression of a claim's `derivedAttributes` (1.37); return its estimated cost.

    The parameters are those of compile_selector(). Raises CelCompileError with the API server's message, also for a
    result that constraints cannot compare: a double, a map, a quantity, or without the gate a list (DRA-440, DRA-441).
    """
    gates = _gates(version, consumable_capacity, list_type_attributes, False)
    checked = _checked_derived(expression, gates, lists=gates.lists)
    return min(estimate(checked, _size_of_path, before_1_37=gates.before_1_37).max, UNLIMITED)


def derive_attribute(
    expression: str, device: DeviceView, *, list_type_attributes: bool = True, cost_limit: int = COST_LIMIT
) -> dict[str, Any]:
    """Evaluate an expression of a claim's `derivedAttributes` (1.37) for a device; return a v1.DeviceAttribute.

    As in the scheduler, the expression may use features whose gate is off. Raises CelCompileError as
    cost_of_derived_attribute() does, CelRuntimeError also for a result that is no attribute, and CostExceeded.
    """
    gates = _gates(DEFAULT_RELEASE, True, list_type_attributes, True)
    return _attribute_of(_compile_derived(expression, gates).run(device.activation, cost_limit)[0])


def _checked_derived(expression: str, gates: _Gates, *, lists: bool) -> Checked:
    checked = _checked(expression, gates)
    output = checked.output
    listed = lists and output.kind is Kind.LIST and output.params[0] in _DERIVED
    if output not in _DERIVED and not listed:
        form = " or a list of these scalars" if lists else ""
        raise CelCompileError(
            f"must evaluate to a primitive scalar (string, integer, boolean, semver){form}, not {output}"
        )
    return checked


@lru_cache(maxsize=1024)
def _compile_derived(expression: str, gates: _Gates) -> Program:
    functions = FUNCTIONS_BEFORE_1_37 if gates.before_1_37 else FUNCTIONS
    return plan(_checked_derived(expression, gates, lists=True), ("device",), functions, before_1_37=gates.before_1_37)


def _attribute_of(value: Any) -> dict[str, Any]:
    """Return a result as v1.DeviceAttribute. An empty list has no type of its own; it is a list of strings then."""
    if not isinstance(value, list):
        kind = _kind_of(value)
        return {kind: str(value) if kind == "version" else value}
    kinds = {_kind_of(one) for one in value} or {"string"}
    if len(kinds) > 1:
        raise CelRuntimeError(f"a list of different types is no attribute: {', '.join(sorted(kinds))}")
    (kind,) = kinds
    return {f"{kind}s": [str(one) if kind == "version" else one for one in value]}


def _kind_of(value: Any) -> str:
    name = type_value(value).name
    kind = {"bool": "bool", "int": "int", "string": "string", "kubernetes.Semver": "version"}.get(name)
    if kind is None:
        raise CelRuntimeError(f"a value of type {name} is no attribute")
    return kind


def _gates(version: str, consumable_capacity: bool, list_type_attributes: bool, stored: bool) -> _Gates:
    minor = minor_of(version)
    return _Gates(
        allow_multiple=minor >= 34 and (consumable_capacity or stored),
        includes=minor >= 36 and (list_type_attributes or stored),
        lists=minor >= 36 and list_type_attributes,
        before_1_37=minor < 37,
    )


def minor_of(version: str) -> int:
    """Return the minor release: 37 of `1.37`."""
    parts = version.split(".")
    if len(parts) < 2 or not parts[1].isdigit():
        raise ValueError(f"{version!r} is not a Kubernetes version; use for example '1.37'")
    return int(parts[1])


@lru_cache(maxsize=1024)
def _compile(expression: str, gates: _Gates) -> Selector:
    checked = _checked(expression, gates)
    output = checked.output
    if output not in (BOOL, ANY) and not (gates.lists and output == DYN):
        raise CelCompileError(f"must evaluate to bool or the unknown type, not {output}")
    functions = FUNCTIONS_BEFORE_1_37 if gates.before_1_37 else FUNCTIONS
    program = plan(checked, ("device",), functions, before_1_37=gates.before_1_37)
    cost = estimate(checked, _size_of_path, before_1_37=gates.before_1_37)
    return Selector(expression, program, min(cost.max, UNLIMITED), str(output))


def _checked(expression: str, gates: _Gates) -> Checked:
    try:
        return compile_checked(expression, _environment(gates))
    except CelCompileError as err:
        raise CelCompileError(f"compilation failed: {err.message}", err.issues) from None


def compile_checked(expression: str, env: Environment) -> Checked:
    """Parse and type check; raises CelCompileError."""
    root: Expr = parse(expression, macros=env.macros)
    try:
        # The checker recurses too, so a tree that the parser accepts may still be too deep.
        return check(expression, root, env, LITERAL_CHECKS)
    except RecursionError:
        issue = Issue(-1, -1, f"expression recursion limit exceeded: {MAX_DEPTH}")
        raise CelCompileError(f"ERROR: <input>:-1:0: {issue.text}", (issue,)) from None
