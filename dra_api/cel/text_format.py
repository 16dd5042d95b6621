"""The ``"...".format([...])`` method of CEL strings.

Pure. Source: cel-go 0.26 ext/formatting.go with the en_US locale it defaults to.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final

from .errors import CelRuntimeError
from .operators import to_string
from .values import Duration, Timestamp, TypeValue, Uint, from_key, type_value

__all__ = ["format_text"]

_CLAUSE: Final = re.compile(r"(?:\.([0-9]*))?(.)", re.DOTALL)
_DEFAULT_PRECISION: Final = 6
_SUPERSCRIPT: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def format_text(template: str, args: list[Any]) -> str:
    """Fill ``template``; raises CelRuntimeError for a bad clause, a wrong type or a missing argument."""
    out: list[str] = []
    used = pos = 0
    while (mark := template.find("%", pos)) >= 0:
        out.append(template[pos:mark])
        if template[mark + 1 : mark + 2] == "%":
            out.append("%")
            pos = mark + 2
            continue
        if used >= len(args):
            raise CelRuntimeError(f"index {used} out of range")
        if mark + 1 >= len(template):
            raise CelRuntimeError("unexpected end of string")
        text, pos = _clause(template, mark + 1, args[used])
        out.append(text)
        used += 1
    out.append(template[pos:])
    return "".join(out)


def _clause(template: str, start: int, arg: Any) -> tuple[str, int]:
    found = _CLAUSE.match(template, start)
    problem = "could not parse formatting clause: "
    if found is None:
        raise CelRuntimeError(f"{problem}error while parsing precision: could not find end of precision specifier")
    precision = _DEFAULT_PRECISION
    if found[1] is not None:
        if not found[1] or len(found[1]) > 4:
            raise CelRuntimeError(
                f"{problem}error while parsing precision: error while converting precision to integer:"
                f' strconv.Atoi: parsing "{found[1]}": invalid syntax'
            )
        precision = int(found[1])
    clause = _CLAUSES.get(found[2])
    if clause is None:
        raise CelRuntimeError(f'{problem}unrecognized formatting clause "{found[2]}"')
    try:
        return clause(arg, precision), found.end()
    except _WrongType as err:
        raise CelRuntimeError(f"error during formatting: {err}, was given {type_value(arg).name}") from None
    except CelRuntimeError as err:
        raise CelRuntimeError(f"error during formatting: {err.message}") from None


class _WrongType(Exception):
    """The clause does not take this type."""


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
    raise _WrongType(
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations,"
        " and timestamps"
    )


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
    mantissa, _, exponent = f"{number:.{precision}e}".partition("e")
    # golang.org/x/text prints the exponent as a power of ten.
    return f"{mantissa}\u202f×\u202f10{f'{int(exponent):02d}'.translate(_SUPERSCRIPT)}"


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
