"""Quantities against k8s.io/apimachinery/pkg/api/resource 0.36.6.

The rows of PARSED were printed by that package (ParseQuantity, String, Value, MilliValue, AsInt64).
"""

from __future__ import annotations

import math
import pickle
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dra_api.quantity import Format, Quantity, QuantityError

PARSED = [
    # text, canonical, value, milli value, exact int64
    ("0", "0", 0, 0, 0),
    ("00", "0", 0, 0, 0),
    ("+", "0", 0, 0, 0),
    (".", "0", 0, 0, 0),
    ("40Gi", "40Gi", 42949672960, 42949672960000, 42949672960),
    ("1024Mi", "1Gi", 1073741824, 1073741824000, 1073741824),
    ("1025Ki", "1025Ki", 1049600, 1049600000, 1049600),
    ("1.5Gi", "1536Mi", 1610612736, 1610612736000, None),
    (".5Gi", "512Mi", 536870912, 536870912000, None),
    ("0.5Ki", "512", 512, 512000, None),
    ("512", "512", 512, 512000, 512),
    ("100m", "100m", 1, 100, None),
    ("0.1", "100m", 1, 100, None),
    ("1.1", "1100m", 2, 1100, None),
    ("1.500", "1.500", 2, 1500, None),
    ("1.23456789012n", "2n", 1, 1, None),
    ("1e3", "1e3", 1000, 1000000, 1000),
    ("1E3", "1E3", 1000, 1000000, 1000),
    ("12e-3", "12e-3", 1, 12, None),
    ("100k", "100k", 100000, 100000000, 100000),
    ("1000k", "1M", 1000000, 1000000000, 1000000),
    ("1500k", "1500k", 1500000, 1500000000, 1500000),
    ("0.5M", "500k", 500000, 500000000, 500000),
    ("5E", "5E", 5 * 10**18, 5 * 10**21, 5 * 10**18),
    ("+5Gi", "+5Gi", 5368709120, 5368709120000, 5368709120),
    ("-3k", "-3k", -3000, -3000000, -3000),
    ("05", "05", 5, 5000, 5),
    ("8Ki", "8Ki", 8192, 8192000, 8192),
    ("2048Ki", "2Mi", 2097152, 2097152000, 2097152),
    ("12345678901234567890", "12345678901234567890", 12345678901234567890, 12345678901234567890000, None),
    # A decimal exponent without a name loses its suffix in Kubernetes.
    ("1000E", "1", 10**21, 10**24, None),
    # Binary amounts are capped at the largest int64.
    ("16Ei", "9223372036854775807", 2**63 - 1, (2**63 - 1) * 1000, None),
]

FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NUMERIC = "unable to parse numeric part of quantity"
SUFFIX = "unable to parse quantity's suffix"
REFUSED = [
    ("", FORMAT),
    ("abc", FORMAT),
    ("1 Gi", FORMAT),
    ("1.2.3", FORMAT),
    ("1Gi ", FORMAT),
    ("--1", SUFFIX),
    ("1e1.5", FORMAT),
    ("1K", SUFFIX),
    ("1gi", FORMAT),
    ("1GiB", FORMAT),
    ("1e", SUFFIX),
    ("1ki", SUFFIX),
    ("+.Pi", NUMERIC),
]


@pytest.mark.parametrize(("text", "canonical", "value", "milli", "exact"), PARSED)
def test_parse_and_print(text: str, canonical: str, value: int, milli: int, exact: int | None) -> None:
    quantity = Quantity.parse(text)
    assert (str(quantity), quantity.value, quantity.milli_value) == (canonical, value, milli)
    assert quantity.as_int64() == exact


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_errors_use_kubernetes_words(text: str, message: str) -> None:
    with pytest.raises(QuantityError) as caught:
        Quantity.parse(text)
    assert str(caught.value) == message
    assert not Quantity.is_valid(text)


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("1", "1000m", 0),
        ("1Gi", "1024Mi", 0),
        ("1Gi", "1G", 1),
        ("50Mi", "100Mi", -1),
        ("-1", "1", -1),
        ("0", "-0", 0),
        ("1e100000000", "1", 1),
        ("-1e100000000", "1e100000000", -1),
        ("1e100000000", "9e99999999", 1),
    ],
)
def test_order(left: str, right: str, order: int) -> None:
    a, b = Quantity.parse(left), Quantity.parse(right)
    assert a.compare(b) == order
    assert b.compare(a) == -order
    assert (a == b) is (order == 0)
    assert (a < b) is (order < 0)
    if order == 0:
        assert hash(a) == hash(b)


@pytest.mark.parametrize(
    ("left", "right", "total", "difference"),
    [
        ("1Gi", "1Gi", "2Gi", "0"),
        ("1Gi", "512Mi", "1536Mi", "512Mi"),
        ("1", "100m", "1100m", "900m"),
        ("0", "1Gi", "1Gi", "-1Gi"),
        ("1k", "1Ki", "2024", "-24"),
        ("1Ki", "1k", "2024", "24"),
        ("9223372036854775807", "1", "9223372036854775808", "9223372036854775806"),
        ("1500m", "1.5", "3", "0"),
    ],
)
def test_sums(left: str, right: str, total: str, difference: str) -> None:
    a, b = Quantity.parse(left), Quantity.parse(right)
    assert (str(a + b), str(a - b)) == (total, difference)


def test_a_quantity_is_a_value() -> None:
    quantity = Quantity.parse("40Gi")
    with pytest.raises(AttributeError):
        quantity.format = Format.DECIMAL_SI
    assert pickle.loads(pickle.dumps(quantity)) == quantity  # noqa: S301 - our own bytes
    assert repr(quantity) == "Quantity('40Gi')"
    assert bool(quantity)
    assert not Quantity(0)
    assert str(Quantity(3, format=Format.BINARY_SI) * 1024) == "3Ki"
    assert (quantity == "40Gi") is False
    assert quantity.as_approximate_float() == 40.0 * 2**30
    assert Quantity.parse("100m").as_approximate_float() == pytest.approx(0.1)


def test_absurd_sizes_are_refused_not_computed() -> None:
    huge, one = Quantity.parse("1e100000000"), Quantity.parse("1")
    with pytest.raises(QuantityError, match="digits"):
        _ = huge + one
    with pytest.raises(QuantityError, match="digits"):
        _ = huge.value
    with pytest.raises(QuantityError):
        Quantity.parse("1" * 30_000)


NUMBERS = st.one_of(st.integers(-(10**8), 10**8).map(str), st.decimals(-1000, 1000, places=3).map(str))
SUFFIXES = st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "Ti", "e3", "E-2"])
FACTORS: dict[str, int | Decimal] = {
    "": 1,
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "e3": 10**3,
    "E-2": Decimal("0.01"),
}


@settings(max_examples=400, derandomize=True, deadline=None)
@given(NUMBERS, SUFFIXES)
def test_canonical_text_keeps_the_amount(number: str, suffix: str) -> None:
    quantity = Quantity.parse(number + suffix)
    assert Quantity.parse(str(quantity)) == quantity
    exact = Decimal(number) * FACTORS[suffix]
    if abs(exact) < 2**63 - 1:
        unscaled, scale, _, _ = quantity.parts()
        # Nothing below a nano survives, and it is rounded away from zero.
        assert abs(Decimal(unscaled).scaleb(scale) - exact) < Decimal("1e-9")


@settings(max_examples=200, derandomize=True, deadline=None)
@given(NUMBERS, SUFFIXES, NUMBERS, SUFFIXES)
def test_adding_then_subtracting_gives_back(left: str, ls: str, right: str, rs: str) -> None:
    a, b = Quantity.parse(left + ls), Quantity.parse(right + rs)
    assert (a + b) - b == a
    assert (a < b) is ((a - b).sign < 0)


@settings(max_examples=500, derandomize=True, deadline=None)
@given(st.text("0123456789.+-eEinumkKMGTP ", max_size=10))
def test_text_is_read_or_refused(text: str) -> None:
    if Quantity.is_valid(text):
        quantity = Quantity.parse(text)
        assert str(quantity)
        assert quantity == quantity + Quantity(0)


@pytest.mark.parametrize(
    ("text", "value"), [("9" * 400, math.inf), ("-" + "9" * 400, -math.inf), ("9" * 400 + "n", math.inf)]
)
def test_the_float_of_an_amount_out_of_range_is_infinite(text: str, value: float) -> None:
    assert Quantity.parse(text).as_approximate_float() == value


def test_an_amount_may_have_thousands_of_digits() -> None:
    digits = "9" * 5000
    found = Quantity.parse(digits)
    assert str(found) == digits
    assert found == Quantity.parse(f"{digits}000m")
    assert found < Quantity.parse(f"{digits}1")
