"""Request policies with fractions: the texts of kube-apiserver 1.37.2 with DRAFractionalCapacityRange."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from apiserver_emulator.dra.capacity import validate_capacity
from apiserver_emulator.dra.rules import Rules

_TENTHS = {"min": "100m", "max": "1", "step": "100m"}


def errors(policy: dict[str, Any], *, on: bool = True) -> list[str]:
    """Return the errors in a capacity of 30E with this policy."""
    rules = Rules(minor=37, gates={"DRAFractionalCapacityRange": on}, now=lambda: datetime.now(UTC))
    found = validate_capacity({"value": "30E", "requestPolicy": policy}, "c", shared=True, rules=rules)
    return [str(error).removeprefix("c.requestPolicy.") for error in found]


@pytest.mark.parametrize(
    ("default", "span", "expected"),
    [
        ("300m", _TENTHS, []),
        ("350m", _TENTHS, ['step: Invalid value: "350m": value is not a multiple of a given step (100m) from (100m)']),
        (
            "1500m",
            {"min": "1", "step": "1"},
            ['step: Invalid value: "1500m": value is not a multiple of a given step (1) from (1)'],
        ),
        ("1500m", {"min": "1", "step": "500m"}, []),
        ("300m", {"min": "-100m", "step": "100m"}, []),
        ("300m", {"min": "100u"}, ['min: Invalid value: "100u": value cannot be represented as a milli value']),
        ("300m", {**_TENTHS, "max": "9223372036854775800m"}, []),
        (
            "300m",
            {"min": "100m", "max": "10P"},
            ['max: Invalid value: "10P": value cannot be represented as a milli value'],
        ),
        (
            "300m",
            {"min": "100m", "max": "1e100000000"},
            [
                'max: Invalid value: "10e99999999": max is larger than capacity value: 30E',
                'max: Invalid value: "10e99999999": value cannot be represented as a milli value',
            ],
        ),
    ],
)
def test_ranges_with_fractions(default: str, span: dict[str, str], expected: list[str]) -> None:
    found = errors({"default": default, "validRange": span})
    assert [text.removeprefix("validRange.") for text in found] == expected


def test_whole_numbers_without_the_gate() -> None:
    assert not errors({"default": "350m", "validRange": _TENTHS}, on=False)
    assert errors({"default": "100m", "validValues": ["100m", "200m"]}, on=False) == [
        'validValues[1]: Duplicate value: "1"'
    ]


@pytest.mark.parametrize(
    ("values", "duplicate"),
    [
        (["100m", "200m"], ""),
        (["100m", "100m"], "0.100"),
        (["0.1", "100m"], ""),
        (["1", "1e0"], "1"),
        (["1Ki", "1024"], "1024"),
        (["1000", "1k"], "1000"),
    ],
)
def test_values_are_compared_by_their_decimals(values: list[str], duplicate: str) -> None:
    expected = [f'validValues[1]: Duplicate value: "{duplicate}"'] if duplicate else []
    assert errors({"default": values[0], "validValues": values}) == expected
