"""Kubernetes resource quantities ("40Gi", "500m", "1e3") as immutable values.

Quantities are capacities in ResourceSlices, capacity requests in claims, and values in CEL expressions. Parsing,
rounding, canonical text and error messages follow
k8s.io/apimachinery/pkg/api/resource (quantity.go, suffix.go, amount.go; release 0.36), including its habit of
keeping the original text when that text already looks canonical.
"""

from __future__ import annotations

import math
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache, total_ordering
from typing import Final

__all__ = ["Format", "Quantity", "QuantityError"]

_FORMAT_WRONG: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_NUMERIC: Final = "unable to parse numeric part of quantity"
_SUFFIX: Final = "unable to parse quantity's suffix"

_DIGITS: Final = frozenset("0123456789")
_SUFFIX_LETTERS: Final = frozenset("eEinumkKMGTP")
_INT64_MAX: Final = 2**63 - 1
_INT64_MIN: Final = -(2**63)
_NANO: Final = -9
_FAST_PATH_DIGITS: Final = 18
# Two amounts with more decimal places of difference are not converted to one scale: 1e100000000 is a valid quantity,
# and its digits would need gigabytes.
_MAX_RESCALE: Final = 20_000


class Format(StrEnum):
    """The suffix family a quantity was written in; canonical text uses the same family."""

    DECIMAL_EXPONENT = "DecimalExponent"
    BINARY_SI = "BinarySI"
    DECIMAL_SI = "DecimalSI"


_DECIMAL_SUFFIXES: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_NAMES: Final = {exponent: name for name, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_NAMES: Final = {0: ""} | {exponent: name for name, exponent in _BINARY_SUFFIXES.items()}


class QuantityError(ValueError):
    """The text is not a quantity; the message is that of Kubernetes."""


@total_ordering
class Quantity:
    """An exact decimal number with a preferred suffix family. Immutable and hashable; equal when numerically equal.

    Source: k8s.io/apimachinery/pkg/api/resource/quantity.go (0.36).
    """

    __slots__ = ("_big", "_hash", "_scale", "_text", "_unscaled", "format")

    format: Format
    _unscaled: int
    _scale: int
    _big: bool
    _text: str | None
    _hash: int | None

    def __init__(
        self,
        unscaled: int,
        *,
        scale: int = 0,
        format: Format = Format.DECIMAL_SI,  # noqa: A002 - the API's own word
        big: bool = False,
        text: str | None = None,
    ) -> None:
        """Create ``unscaled * 10**scale``. ``big``: Kubernetes stores this amount as inf.Dec, not as int64."""
        object.__setattr__(self, "_unscaled", unscaled)
        object.__setattr__(self, "_scale", scale)
        object.__setattr__(self, "format", format)
        object.__setattr__(self, "_big", big)
        object.__setattr__(self, "_text", text)
        object.__setattr__(self, "_hash", None)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Quantity is immutable; cannot set {name!r}")

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (_rebuild, (self._unscaled, self._scale, self.format, self._big, self._text))

    @staticmethod
    def parse(text: str) -> Quantity:
        """Parse ``text``. Raises QuantityError with the message of Kubernetes. Results are cached and shared."""
        return _parse(text)

    @staticmethod
    def is_valid(text: str) -> bool:
        """Whether ``text`` parses."""
        try:
            _parse(text)
        except QuantityError:
            return False
        return True

    def parts(self) -> tuple[int, int, Format, bool]:
        """Unscaled number, decimal scale, format, and whether Kubernetes stores it as an inf.Dec."""
        return self._unscaled, self._scale, self.format, self._big

    @property
    def value(self) -> int:
        """Return the amount as an integer, rounded away from zero (Go's ``Value()`` for amounts of at least zero)."""
        return self.scaled_value(0)

    @property
    def milli_value(self) -> int:
        """Return the amount in thousandths, rounded away from zero (Go's ``MilliValue()``)."""
        return self.scaled_value(-3)

    def scaled_value(self, scale: int) -> int:
        """Return the amount in units of ``10**scale``, rounded away from zero."""
        return _rescale(self._unscaled, self._scale, scale)[0]

    @property
    def sign(self) -> int:
        """Return -1, 0 or 1."""
        return (self._unscaled > 0) - (self._unscaled < 0)

    def as_int64(self) -> int | None:
        """Return the exact int64, or None where Go's ``AsInt64`` fails (fractions, overflow, inf.Dec amounts)."""
        if self._big:
            return None
        if self._scale == 0:
            return self._unscaled
        if self._scale < 0:
            return None
        if self._unscaled == 0:
            return 0
        if self._scale > _FAST_PATH_DIGITS:
            return None
        result = self._unscaled * 10**self._scale
        return result if _INT64_MIN <= result <= _INT64_MAX else None

    def as_approximate_float(self) -> float:
        """Return the nearest double; precision may be lost, values out of range become infinite."""
        try:
            base = float(self._unscaled)
        except OverflowError:
            base = math.inf * self.sign
        if self._scale == 0:
            return base
        try:
            return base * 10.0**self._scale
        except OverflowError:
            return base * float("inf") if base else float("nan")

    def compare(self, other: Quantity) -> int:
        """Return -1, 0 or 1 by numeric value."""
        a, b, sa, sb = self._unscaled, other._unscaled, self._scale, other._scale
        if sa != sb:
            if self.sign != other.sign or a == 0:
                return (self.sign > other.sign) - (self.sign < other.sign)
            if abs(sa - sb) > _MAX_RESCALE:
                magnitude = (_magnitude(a, sa) > _magnitude(b, sb)) - (_magnitude(a, sa) < _magnitude(b, sb))
                return magnitude * self.sign
            if sa > sb:
                a *= 10 ** (sa - sb)
            else:
                b *= 10 ** (sb - sa)
        return (a > b) - (a < b)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        if self._scale == other._scale:
            return self._unscaled == other._unscaled
        return self.compare(other) == 0

    def __lt__(self, other: Quantity) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self.compare(other) < 0

    def __hash__(self) -> int:
        known = self._hash
        if known is None:
            # Equal amounts may have different scales (1k and 1000) and must have the same hash.
            unscaled, scale = _strip(self._unscaled, self._scale)
            known = hash((unscaled, scale if unscaled else 0))
            object.__setattr__(self, "_hash", known)
        return known

    def __add__(self, other: Quantity) -> Quantity:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._plus(other, other._unscaled)

    def __sub__(self, other: Quantity) -> Quantity:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._plus(other, -other._unscaled)

    def __neg__(self) -> Quantity:
        return Quantity(-self._unscaled, scale=self._scale, format=self.format, big=self._big)

    def __mul__(self, factor: int) -> Quantity:
        if not isinstance(factor, int):
            return NotImplemented
        product = self._unscaled * factor
        big = self._big or not _INT64_MIN <= product <= _INT64_MAX
        return Quantity(product, scale=self._scale, format=self.format, big=big)

    def __bool__(self) -> bool:
        return self._unscaled != 0

    def _plus(self, other: Quantity, amount: int) -> Quantity:
        # Go switches to the other operand's format when the receiver is zero (quantity.go Add, Sub).
        format_ = other.format if self._unscaled == 0 else self.format
        big = self._big or other._big
        if not big:
            if amount == 0:
                return Quantity(self._unscaled, scale=self._scale, format=format_)
            if self._unscaled == 0:
                return Quantity(amount, scale=other._scale, format=format_)
        scale = min(self._scale, other._scale)
        for side in (self, other):
            if side._scale - scale > _MAX_RESCALE:
                raise QuantityError(
                    f"cannot add {self} and {other}: their sizes are more than {_MAX_RESCALE} digits apart"
                )
        total = self._unscaled * 10 ** (self._scale - scale) + amount * 10 ** (other._scale - scale)
        big = big or not _INT64_MIN <= total <= _INT64_MAX
        return Quantity(total, scale=scale, format=format_, big=big)

    def __str__(self) -> str:
        text = self._text
        if text is None:
            text = self._canonical()
            object.__setattr__(self, "_text", text)
        return text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def _canonical(self) -> str:
        if self._unscaled == 0:
            return "0"
        format_ = self.format
        whole = 0
        if format_ is Format.BINARY_SI:
            small = Quantity(1024)
            if self.compare(small) < 0 and self.compare(-small) > 0:
                format_ = Format.DECIMAL_SI
            else:
                whole, exact = _rescale(self._unscaled, self._scale, 0)
                if not exact:
                    format_ = Format.DECIMAL_SI
        if format_ is Format.BINARY_SI:
            exponent = 0
            while whole % 1024 == 0:
                whole //= 1024
                exponent += 10
            return f"{whole}{_BINARY_NAMES.get(exponent, '')}"
        number, exponent = _strip(self._unscaled, self._scale)
        shift = exponent % 3
        number *= 10**shift
        exponent -= shift
        if format_ is Format.DECIMAL_EXPONENT:
            return _to_text(number) if exponent == 0 else f"{_to_text(number)}e{exponent}"
        # An exponent without a name loses its suffix in Kubernetes too (suffix.go constructBytes).
        return f"{_to_text(number)}{_DECIMAL_NAMES.get(exponent, '')}"


def _rebuild(unscaled: int, scale: int, format_: Format, big: bool, text: str | None) -> Quantity:
    return Quantity(unscaled, scale=scale, format=format_, big=big, text=text)


def _strip(unscaled: int, scale: int) -> tuple[int, int]:
    """Move factors of ten from the number into the scale."""
    if unscaled == 0:
        return 0, 0
    while unscaled % 10 == 0:
        unscaled //= 10
        scale += 1
    return unscaled, scale


def _magnitude(unscaled: int, scale: int) -> int:
    return Decimal(unscaled).adjusted() + 1 + scale


# Amounts may have up to _MAX_RESCALE digits, but int() and str() refuse more than 4,300. Decimal has no such limit.
def _to_int(digits: str) -> int:
    return int(Decimal(digits))


def _to_text(number: int) -> str:
    return str(number) if _INT64_MIN <= number <= _INT64_MAX else str(Decimal(number))


def _rescale(unscaled: int, scale: int, wanted: int) -> tuple[int, bool]:
    """Return the amount at scale ``wanted``, rounded away from zero, and whether it is exact."""
    if unscaled == 0 or scale == wanted:
        return unscaled, True
    difference = scale - wanted
    if difference > _MAX_RESCALE:
        raise QuantityError(f"the amount has more than {_MAX_RESCALE} digits")
    if difference > 0:
        return unscaled * 10**difference, True
    # Less than one unit: avoids the computation of a huge power of ten.
    if -difference > Decimal(unscaled).adjusted() + 2:
        return (1 if unscaled > 0 else -1), False
    quotient, remainder = divmod(abs(unscaled), 10**-difference)
    if remainder:
        quotient += 1
    return (quotient if unscaled > 0 else -quotient), remainder == 0


def _digits_end(text: str, start: int) -> int:
    end = start
    while end < len(text) and text[end] in _DIGITS:
        end += 1
    return end


def _split(text: str) -> tuple[bool, str, str, str]:
    """Split into sign, digits before and after the point, and suffix. Raises QuantityError for a malformed tail."""
    end = len(text)
    start = 1 if text[0] in "+-" else 0
    positive = text[0] != "-"
    while start < end and text[start] == "0":
        start += 1
    if start == end:
        return positive, "0", "", ""
    stop = _digits_end(text, start)
    number = text[start:stop] or "0"
    fraction = ""
    if stop < end and text[stop] == ".":
        after = _digits_end(text, stop + 1)
        fraction = text[stop + 1 : after]
        stop = after
    suffix_start = stop
    while stop < end and text[stop] in _SUFFIX_LETTERS:
        stop += 1
    if stop < end and text[stop] in "+-":
        stop += 1
    if _digits_end(text, stop) != end:
        raise QuantityError(_FORMAT_WRONG)
    return positive, number, fraction, text[suffix_start:]


def _read_suffix(suffix: str) -> tuple[int, int, Format]:
    """Return base, exponent and family of a suffix."""
    exponent = _DECIMAL_SUFFIXES.get(suffix)
    if exponent is not None:
        return 10, exponent, Format.DECIMAL_SI
    exponent = _BINARY_SUFFIXES.get(suffix)
    if exponent is not None:
        return 2, exponent, Format.BINARY_SI
    if len(suffix) > 1 and suffix[0] in "eE":
        digits = suffix[2:] if suffix[1] in "+-" else suffix[1:]
        if digits and all(ch in _DIGITS for ch in digits) and len(digits) <= 30:
            exponent = int(suffix[1:])
            if _INT64_MIN <= exponent <= _INT64_MAX:
                # Go truncates to int32 here.
                return 10, (exponent + 2**31) % 2**32 - 2**31, Format.DECIMAL_EXPONENT
    raise QuantityError(_SUFFIX)


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    if not text:
        raise QuantityError(_FORMAT_WRONG)
    if text == "0":
        return Quantity(0, text="0")
    positive, number, fraction, suffix = _split(text)
    base, exponent, format_ = _read_suffix(suffix)
    scale, mantissa = 0, 1
    if base == 10:
        scale = exponent
        precision = _FAST_PATH_DIGITS - len(number) - len(fraction)
    elif not fraction:
        mantissa = 1 << exponent
        precision = 15 - len(number) - exponent * 3 // 10 - 1
    else:
        precision = -1
    digits = number + fraction
    # Go's int64 path (ParseQuantity); other amounts become inf.Dec, which `as_int64` must reject.
    if precision >= 0 and scale - len(fraction) >= _NANO:
        scale -= len(fraction)
        shifted = int(digits)
        result = shifted * mantissa
        if result <= _INT64_MAX:
            if format_ is Format.BINARY_SI:
                keep = exponent % 10 == 0 and shifted & 0x07 != 0
            else:
                keep = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
            return Quantity(result if positive else -result, scale=scale, format=format_, text=text if keep else None)
    # Only this path rejects a number without digits: ".Ki" is zero, ".Pi" is invalid.
    if len(digits) > _MAX_RESCALE or _DIGITS.isdisjoint(text[: len(text) - len(suffix)]):
        raise QuantityError(_NUMERIC)
    return _parse_big(positive, digits, len(fraction), base, exponent, format_)


def _parse_big(positive: bool, digits: str, places: int, base: int, exponent: int, format_: Format) -> Quantity:
    """Return an amount of any precision, rounded to nano, with binary amounts limited to 2^63-1 (the slow path)."""
    amount, scale = _to_int(digits), -places
    if base == 10:
        scale += exponent
    else:
        amount <<= exponent
    if amount:
        # Kubernetes always rounds to nano here, which also fixes the scale of the result.
        amount, _ = _rescale(amount, scale, _NANO)
        scale = _NANO
    if format_ is Format.BINARY_SI:
        if amount > _INT64_MAX * 10**9:
            amount, scale = _INT64_MAX, 0
        elif 0 < amount < 10**9:
            format_ = Format.DECIMAL_SI
    return Quantity(amount if positive else -amount, scale=scale, format=format_, big=True)
