"""The ``"...".format([...])`` method of CEL strings.

Pure. Source: cel-go 0.26 ext/formatting.go with the en_US locale it defaults to.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .ast import Expr, ListExpr, MapExpr, children
from .errors import CelRuntimeError
from .operators import to_string
from .types import Kind, Type
from .values import Duration, Timestamp, TypeValue, Uint, from_key, type_value

__all__ = ["check_format", "format_text"]

_CLAUSE: Final = re.compile(r"(?:\.([0-9]*))?(.)", re.DOTALL)
_DEFAULT_PRECISION: Final = 6
_STRING_TEXT: Final = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations,"
    " and timestamps"
)
_SUPERSCRIPT: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class _Piece:
    """Literal text, or one clause: its letter and precision."""

    text: str
    clause: str = ""
    precision: int = _DEFAULT_PRECISION


def format_text(template: str, args: list[Any]) -> str:
    """Fill ``template``; raises CelRuntimeError for a bad clause, a wrong type or a missing argument."""
    out: list[str] = []
    used = 0
    for piece in _pieces(template, len(args)):
        if not piece.clause:
            out.append(piece.text)
            continue
        arg = args[used]
        used += 1
        try:
            out.append(_CLAUSES[piece.clause](arg, piece.precision))
        except _WrongType as err:
            raise CelRuntimeError(f"error during formatting: {err}, was given {type_value(arg).name}") from None
        except CelRuntimeError as err:
            raise CelRuntimeError(f"error during formatting: {err.message}") from None
    return "".join(out)


def check_format(template: str, args: list[Expr], types: Mapping[int, Type]) -> tuple[Expr | None, str] | None:
    """Static check of a constant template against the types of its arguments.

    Returns None, or the invalid expression (None: the whole call) and the message.
    """
    used = 0
    try:
        for piece in _pieces(template, len(args)):
            if not piece.clause:
                continue
            kinds, text = _STATIC[piece.clause]
            odd = _misfit(args[used], kinds, types, deep=piece.clause == "s")
            if odd is not None:
                return odd, f"error during formatting: {text}, was given {types[odd.id].name}"
            used += 1
    except CelRuntimeError as err:
        return None, err.message
    if len(args) > used:
        return None, f"too many arguments supplied to string.format (expected {used}, got {len(args)})"
    return None


def _misfit(expr: Expr, kinds: frozenset[Kind], types: Mapping[int, Type], *, deep: bool) -> Expr | None:
    """Return the first expression whose type the clause does not accept; with ``deep``, also inside literals."""
    kind = types[expr.id].kind
    if kind is not Kind.DYN and kind not in kinds:
        return expr
    if not deep or not isinstance(expr, (ListExpr, MapExpr)):
        return None
    return next((odd for part in children(expr) if (odd := _misfit(part, kinds, types, deep=True))), None)


def _pieces(template: str, count: int) -> Iterator[_Piece]:
    pos = used = 0
    while (mark := template.find("%", pos)) >= 0:
        yield _Piece(template[pos:mark])
        if template[mark + 1 : mark + 2] == "%":
            yield _Piece("%")
            pos = mark + 2
            continue
        if mark + 1 >= len(template) and used < count:
            raise CelRuntimeError("unexpected end of string")
        if used >= count:
            raise CelRuntimeError(f"index {used} out of range")
        piece, pos = _clause(template, mark + 1)
        yield piece
        used += 1
    yield _Piece(template[pos:])


def _clause(template: str, start: int) -> tuple[_Piece, int]:
    found = _CLAUSE.match(template, start)
    problem = "could not parse formatting clause: "
    if found is None or (found[1] is None and found[2] == "."):
        raise CelRuntimeError(f"{problem}error while parsing precision: could not find end of precision specifier")
    precision = _DEFAULT_PRECISION
    if found[1] is not None:
        # A deliberate limit: Go accepts larger precisions, and would produce as many digits.
        if not found[1] or len(found[1]) > 4:
            raise CelRuntimeError(
                f"{problem}error while parsing precision: error while converting precision to integer:"
                f' strconv.Atoi: parsing "{found[1]}": invalid syntax'
            )
        precision = int(found[1])
    if found[2] not in _CLAUSES:
        raise CelRuntimeError(f'{problem}unrecognized formatting clause "{found[2]}"')
    return _Piece("", found[2], precision), found.end()


class _WrongType(Exception):
    """The clause does not accept this type."""


def _is_int(value: Any) -> bool:
    return value.__class__ is int or value.__class__ is Uint


def _string(value: Any, _: int) -> str:
    if value is None:
        return "null"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_nested, value))}]"
    if isinstance(value, dict):
        return _map(value)
    if value.__class__ in (int, Uint, float, bool, str, bytes, Duration, Timestamp, TypeValue):
        return to_string(value)
    raise _WrongType(_STRING_TEXT)


def _nested(value: Any) -> str:
    """A value inside a list or map, written as a CEL literal."""
    kind = value.__class__
    if kind is str:
        return json.dumps(value, ensure_ascii=False)
    if kind is bytes:
        return "b" + json.dumps(to_string(value), ensure_ascii=False)
    if kind is float:
        if math.isnan(value):
            return '"NaN"'
        return json.dumps("+Inf" if value > 0 else "-Inf") if math.isinf(value) else f"{value:.6f}"
    if kind is Timestamp:
        return f'timestamp("{value}")'
    if kind is Duration:
        return f'duration("{value}")'
    if value is None or isinstance(value, (list, tuple, dict, bool, int, TypeValue)):
        return _string(value, 0)
    raise CelRuntimeError(f"no formatting function for {type_value(value).name}")


def _map(value: dict[Any, Any]) -> str:
    pairs = []
    for stored, item in value.items():
        key = from_key(stored)
        if key.__class__ not in (str, bool, int, Uint):
            raise CelRuntimeError(f"no formatting function for map key of type {type_value(key).name}")
        pairs.append((_nested(key), _nested(item)))
    return "{" + ", ".join(f"{key}:{item}" for key, item in sorted(pairs, key=lambda pair: pair[0])) + "}"


def _decimal(value: Any, _: int) -> str:
    if not _is_int(value):
        raise _WrongType("decimal clause can only be used on integers")
    return str(int(value))


def _number(value: Any, text: str) -> float:
    if value in ("NaN", "Infinity", "-Infinity") and value.__class__ is str:
        return float(value)
    if value.__class__ is not float:
        raise _WrongType(text)
    return float(value)


def _special(value: float) -> str | None:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return None


def _fixed(value: Any, precision: int) -> str:
    number = _number(value, "fixed-point clause can only be used on doubles")
    return _special(number) or f"{number:,.{precision}f}"


def _scientific(value: Any, precision: int) -> str:
    number = _number(value, "scientific clause can only be used on doubles")
    special = _special(number)
    if special:
        return special
    # cel-go passes the precision as a width ("%6e"), and golang.org/x/text prints a power of ten.
    mantissa, _, exponent = f"{number:.6e}".partition("e")
    return f"{mantissa}×10{f'{int(exponent):+03d}'.lstrip('+').translate(_SUPERSCRIPT)}".rjust(precision)


def _binary(value: Any, _: int) -> str:
    if value.__class__ is bool:
        return "1" if value else "0"
    if not _is_int(value):
        raise _WrongType("only integers and bools can be formatted as binary")
    return f"{int(value):b}"


def _hex(value: Any) -> str:
    if value.__class__ is str:
        return bytes(value, "utf-8").hex()
    if value.__class__ is bytes:
        return bytes(value).hex()
    if not _is_int(value):
        raise _WrongType("only integers, byte buffers, and strings can be formatted as hex")
    return f"{int(value):x}"


def _hex_lower(value: Any, _: int) -> str:
    return _hex(value)


def _hex_upper(value: Any, _: int) -> str:
    return _hex(value).upper()


def _octal(value: Any, _: int) -> str:
    if not _is_int(value):
        raise _WrongType("octal clause can only be used on integers")
    return f"{int(value):o}"


_INTEGERS: Final = frozenset({Kind.INT, Kind.UINT})
_DOUBLES: Final = frozenset({Kind.DOUBLE, Kind.STRING})
_HEX_TEXT: Final = "only integers, byte buffers, and strings can be formatted as hex"
_STATIC: Final[dict[str, tuple[frozenset[Kind], str]]] = {
    "s": (frozenset(Kind) - {Kind.ANY, Kind.STRUCT, Kind.OPAQUE, Kind.ERROR, Kind.PARAM}, _STRING_TEXT),
    "d": (_INTEGERS, "decimal clause can only be used on integers"),
    "f": (_DOUBLES, "fixed-point clause can only be used on doubles"),
    "e": (_DOUBLES, "scientific clause can only be used on doubles"),
    "b": (_INTEGERS | {Kind.BOOL}, "only integers and bools can be formatted as binary"),
    "x": (_INTEGERS | {Kind.STRING, Kind.BYTES}, _HEX_TEXT),
    "X": (_INTEGERS | {Kind.STRING, Kind.BYTES}, _HEX_TEXT),
    "o": (_INTEGERS, "octal clause can only be used on integers"),
}
_CLAUSES: Final[dict[str, Callable[[Any, int], str]]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex_lower,
    "X": _hex_upper,
    "o": _octal,
}
