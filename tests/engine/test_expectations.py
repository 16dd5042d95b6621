"""Expected values in the tables of features."""

from __future__ import annotations

from typing import Any

import pytest

from dra_conformance.core import expectations
from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.expectations import ExpectedField

DEVICE: dict[str, Any] = {
    "name": "gpu-0",
    "allowMultipleAllocations": True,
    "attributes": {"uuid": {"string": "GPU-1"}, "a.test/node": {"ints": [1]}},
    "capacity": {"memory": {"value": "1Mi", "max": "1048576"}},
}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("name", "gpu-0"),
        ("name", "like 'gpu-[0-9]'"),
        ("name", "null or like 'gpu-.*'"),
        ("other", "null or like 'gpu-.*'"),
        ("attributes.uuid", "set"),
        ("attributes.model", "null"),
        ("attributes['a.test/node']", "{int: 1} or {ints: [1]}"),
        ("allowMultipleAllocations", "true"),
        ("capacity", "with the keys [memory]"),
        ("capacity.memory.value", "1048576"),
        ("capacity.memory.value", "1024Ki"),
        ("capacity.memory.max", "same as capacity.memory.value"),
    ],
)
def test_a_field_as_expected(path: str, text: str) -> None:
    assert ExpectedField(path, text).is_met(DEVICE)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("name", "gpu-1"),
        ("name", "like gpu"),
        ("name", "null"),
        ("attributes", "like .*"),
        ("attributes.model", "set"),
        ("attributes.model", "like .*"),
        ("allowMultipleAllocations", "1Mi"),
        ("capacity", "with the keys [cores, memory]"),
        ("capacity.memory", "with the keys [value]"),
        ("capacity.memory.value", "2Mi"),
        ("capacity.cores.value", "same as capacity.shares.value"),
        ("capacity.memory.value", "same as name"),
    ],
)
def test_a_field_that_is_not_as_expected(path: str, text: str) -> None:
    assert not ExpectedField(path, text).is_met(DEVICE)


def test_differences_have_what_was_found() -> None:
    rows = expectations.read([["field", "value"], ["name", "gpu-1"], ["capacity", "set"], ["other", "set"]])

    assert expectations.differences(rows, DEVICE) == {"name": "gpu-0", "other": None}
    assert expectations.wanted(rows) == {"name": "gpu-1", "capacity": "set", "other": "set"}


def test_expected_and_observed_fields_are_shown_in_the_same_form() -> None:
    """A value as the value; a condition, and a quantity, as text."""
    rows = [("name", "gpu-1"), ("name", "gpu-0 or gpu-1"), ("capacity", "set"), ("capacity.memory.value", "4")]
    shown = [(one.shown, one.show(DEVICE)) for one in (ExpectedField(*row) for row in rows)]

    assert shown[0] == ("gpu-1", "gpu-0")
    assert shown[1] == ("gpu-0 or gpu-1", "gpu-0")
    assert all(isinstance(expected, str) and isinstance(observed, str) for expected, observed in shown)
    assert expectations.seen(expectations.read([["field", "value"], ["name", "x"]]), DEVICE) == {"name": "gpu-0"}


def test_a_row_with_three_cells_is_refused() -> None:
    with pytest.raises(SpecificationError, match="two columns"):
        expectations.read([["field", "value"], ["name", "gpu-1", "really"]])
