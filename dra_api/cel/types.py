"""Static CEL types and the rules by which they unify.

Types are immutable values shared by all expressions; a Substitution belongs to one check of one expression. The rules
are those of cel-go 0.26 checker/types.go, including the nullability of messages and the any type of DRA attributes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

__all__ = [
    "ANY",
    "BOOL",
    "BYTES",
    "DOUBLE",
    "DURATION",
    "DYN",
    "ERROR",
    "INT",
    "NULL",
    "STRING",
    "TIMESTAMP",
    "UINT",
    "Kind",
    "Substitution",
    "Type",
    "format_type",
    "is_dyn",
    "list_of",
    "map_of",
    "most_general",
    "object_type",
    "opaque",
    "optional_of",
    "parse_type",
    "type_name",
    "type_of",
    "type_param",
    "unwrap_optional",
]


class Kind(Enum):
    """The kind of a type, as in cel-go."""

    ANY = "any"
    BOOL = "bool"
    BYTES = "bytes"
    DOUBLE = "double"
    DURATION = "duration"
    DYN = "dyn"
    ERROR = "error"
    INT = "int"
    LIST = "list"
    MAP = "map"
    NULL = "null"
    OPAQUE = "opaque"
    STRING = "string"
    STRUCT = "struct"
    TIMESTAMP = "timestamp"
    TYPE = "type"
    PARAM = "param"
    UINT = "uint"


@dataclass(frozen=True, slots=True)
class Type:
    """A type: its kind, its runtime name, and its parameters (element, key and value, wrapped type)."""

    kind: Kind
    name: str
    params: tuple[Type, ...] = ()

    def __str__(self) -> str:
        """cel-go's Type.String(), as in ``must evaluate to bool or the unknown type, not ...``."""
        if self.kind is Kind.PARAM:
            return f"<{self.name}>"
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(map(str, self.params))})"


ANY: Final = Type(Kind.ANY, "google.protobuf.Any")
BOOL: Final = Type(Kind.BOOL, "bool")
BYTES: Final = Type(Kind.BYTES, "bytes")
DOUBLE: Final = Type(Kind.DOUBLE, "double")
DURATION: Final = Type(Kind.DURATION, "google.protobuf.Duration")
DYN: Final = Type(Kind.DYN, "dyn")
ERROR: Final = Type(Kind.ERROR, "*error*")
INT: Final = Type(Kind.INT, "int")
NULL: Final = Type(Kind.NULL, "null_type")
STRING: Final = Type(Kind.STRING, "string")
TIMESTAMP: Final = Type(Kind.TIMESTAMP, "google.protobuf.Timestamp")
UINT: Final = Type(Kind.UINT, "uint")

_SIMPLE: Final = {
    "any": ANY,
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "duration": DURATION,
    "dyn": DYN,
    "int": INT,
    "null": NULL,
    "string": STRING,
    "timestamp": TIMESTAMP,
    "uint": UINT,
    "Quantity": Type(Kind.STRUCT, "kubernetes.Quantity"),
    "Semver": Type(Kind.STRUCT, "kubernetes.Semver"),
    "URL": Type(Kind.STRUCT, "kubernetes.URL"),
    "Format": Type(Kind.STRUCT, "kubernetes.NamedFormat"),
    "IP": Type(Kind.OPAQUE, "net.IP"),
    "CIDR": Type(Kind.OPAQUE, "net.CIDR"),
}
# Kinds whose form in type errors is not the runtime name.
_DISPLAY: Final = {
    Kind.ANY: "any",
    Kind.DURATION: "duration",
    Kind.ERROR: "!error!",
    Kind.NULL: "null",
    Kind.TIMESTAMP: "timestamp",
}


def list_of(element: Type) -> Type:
    """list(element)."""
    return Type(Kind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """map(key, value)."""
    return Type(Kind.MAP, "map", (key, value))


def optional_of(value: Type) -> Type:
    """optional_type(value)."""
    return Type(Kind.OPAQUE, "optional_type", (value,))


def type_of(value: Type) -> Type:
    """The type of a type name."""
    return Type(Kind.TYPE, "type", (value,))


def type_param(name: str) -> Type:
    """A type variable."""
    return Type(Kind.PARAM, name)


def object_type(name: str) -> Type:
    """A message type whose fields the environment declares."""
    return Type(Kind.STRUCT, name)


def opaque(name: str) -> Type:
    """A type with functions only."""
    return Type(Kind.OPAQUE, name)


def parse_type(text: str) -> Type:
    """Parse the notation of the declaration tables: ``map(string, list(T))``; one capital letter is a parameter."""
    text = text.strip()
    if text in _SIMPLE:
        return _SIMPLE[text]
    if len(text) == 1:
        return type_param(text)
    head, _, rest = text.partition("(")
    args = [parse_type(part) for part in split_types(rest[:-1])]
    maker = {"list": list_of, "optional": optional_of, "type": type_of}.get(head)
    return maker(args[0]) if maker else map_of(args[0], args[1])


def split_types(text: str) -> list[str]:
    """Split at commas outside parentheses."""
    parts, depth, start = [], 0, 0
    for index, ch in enumerate(text):
        depth += (ch == "(") - (ch == ")")
        if ch == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part for part in parts if part.strip()]


def format_type(type_: Type) -> str:
    """The form used in type errors (checker/format.go FormatCELType)."""
    shown = _DISPLAY.get(type_.kind)
    if shown is not None:
        return shown
    if not type_.params:
        return type_.name
    return f"{type_.name}({', '.join(format_type(param) for param in type_.params)})"


def type_name(type_: Type) -> str:
    """The runtime name, for example ``google.protobuf.Duration``."""
    return type_.name


def is_dyn(type_: Type) -> bool:
    """dyn or any."""
    return type_.kind is Kind.DYN or type_.kind is Kind.ANY


def unwrap_optional(type_: Type) -> tuple[Type, bool]:
    """The wrapped type of an optional and True, or the type itself and False."""
    if type_.kind is Kind.OPAQUE and type_.name == "optional_type":
        return type_.params[0], True
    return type_, False


def most_general(first: Type, second: Type) -> Type:
    """The less specific of two types that unify."""
    return first if _less_specific(first, second) else second


def _less_specific(first: Type, second: Type) -> bool:
    if is_dyn(first) or first.kind is Kind.PARAM:
        return True
    if is_dyn(second) or second.kind is Kind.PARAM or first.kind is not second.kind:
        return False
    if first.kind in (Kind.OPAQUE, Kind.LIST, Kind.MAP):
        return (
            first.name == second.name
            and len(first.params) == len(second.params)
            and all(map(_less_specific, first.params, second.params))
        )
    return first.kind is Kind.TYPE or first == second


# Kinds to which null is assignable.
_NULLABLE: Final = frozenset({Kind.OPAQUE, Kind.STRUCT, Kind.ANY, Kind.DURATION, Kind.TIMESTAMP, Kind.NULL})
_COMPOSITE: Final = frozenset({Kind.OPAQUE, Kind.LIST, Kind.MAP})


class Substitution:
    """Bindings of type variables during one check. ``unify`` either adds bindings or changes nothing."""

    __slots__ = ("_bound", "_next")

    def __init__(self) -> None:
        self._bound: dict[str, Type] = {}
        self._next = 0

    def fresh(self) -> Type:
        """Return a new type variable."""
        self._next += 1
        return type_param(f"_var{self._next - 1}")

    def apply(self, type_: Type, *, params_to_dyn: bool = False) -> Type:
        """Replace bound variables; unbound ones become dyn on request."""
        if type_.kind is Kind.PARAM:
            bound = self._bound.get(type_.name)
            if bound is not None:
                return self.apply(bound, params_to_dyn=params_to_dyn)
            return DYN if params_to_dyn else type_
        if not type_.params:
            return type_
        params = tuple([self.apply(param, params_to_dyn=params_to_dyn) for param in type_.params])
        return type_ if params == type_.params else Type(type_.kind, type_.name, params)

    def instantiate(self, types: tuple[Type, ...]) -> tuple[Type, ...]:
        """Copies of a signature's types with each named parameter replaced by one fresh variable."""
        fresh: dict[str, Type] = {}
        return tuple([self._rename(type_, fresh) for type_ in types])

    def _rename(self, type_: Type, fresh: dict[str, Type]) -> Type:
        if type_.kind is Kind.PARAM:
            if type_.name not in fresh:
                fresh[type_.name] = self.fresh()
            return fresh[type_.name]
        if not type_.params:
            return type_
        return Type(type_.kind, type_.name, tuple([self._rename(param, fresh) for param in type_.params]))

    def unify(self, first: Type, second: Type) -> bool:
        """Return whether ``first`` is assignable to ``second``."""
        return self.unify_all((first,), (second,))

    def unify_all(self, first: tuple[Type, ...], second: tuple[Type, ...]) -> bool:
        """The same for each pair; lengths must agree."""
        # A failed attempt must leave no bindings: the next overload starts from the same state.
        saved = dict(self._bound)
        if len(first) == len(second) and all(map(self._assignable, first, second)):
            return True
        self._bound = saved
        return False

    def _assignable(self, first: Type, second: Type) -> bool:
        if second.kind is Kind.PARAM:
            valid, bound = self._substitutes(first, second)
            if valid:
                return True
            # An unbound variable fails only if it occurs in `first`; then the other direction is tried.
            if bound:
                return False
        if first.kind is Kind.PARAM:
            return self._substitutes(second, first)[0]
        if is_dyn(first) or is_dyn(second) or first.kind is Kind.ERROR or second.kind is Kind.ERROR:
            return True
        if first.kind is Kind.NULL:
            return second.kind in _NULLABLE
        if second.kind is Kind.NULL:
            return first.kind in _NULLABLE
        if first.kind is Kind.TYPE:
            return second.kind is Kind.TYPE
        if first.kind in _COMPOSITE:
            return (
                first.kind is second.kind
                and first.name == second.name
                and len(first.params) == len(second.params)
                and all(map(self._assignable, first.params, second.params))
            )
        return first == second

    def _substitutes(self, type_: Type, variable: Type) -> tuple[bool, bool]:
        """Return whether ``variable`` may be ``type_``, and whether it was bound before."""
        if type_ == variable:
            return True, True
        known = self._bound.get(variable.name)
        if known is not None:
            if type_ == known:
                return True, True
            if not self._assignable(type_, known):
                return False, True
            general = most_general(type_, known)
            if not self._occurs(variable, general):
                self._bound[variable.name] = general
            return True, True
        if self._occurs(variable, type_):
            return False, False
        self._bound[variable.name] = type_
        return True, False

    # Without this check a variable could be bound to a type that contains it, and `apply` would not end.
    def _occurs(self, variable: Type, within: Type) -> bool:
        if within == variable:
            return True
        if within.kind is Kind.PARAM:
            bound = self._bound.get(within.name)
            return bound is not None and self._occurs(variable, bound)
        return any(self._occurs(variable, param) for param in within.params)
