"""Expected values in the tables of features."""

from __future__ import annotations

from typing import Any

import pytest

from dra_conformance.core import expectations
from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.expectations import Expectation

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
        ("name", "/gpu-[0-9]/"),
        ("name", "absent or /gpu-.*/"),
        ("other", "absent or /gpu-.*/"),
        ("attributes.uuid", "present"),
        ("attributes.model", "absent"),
        ("attributes['a.test/node']", "{int: 1} or {ints: [1]}"),
        ("allowMultipleAllocations", "true"),
        ("capacity", "only memory"),
        ("capacity.memory.value", "1048576"),
        ("capacity.memory.value", "1024Ki"),
        ("capacity.memory.max", "same as capacity.memory.value"),
    ],
)
def test_a_field_as_expected(path: str, text: str) -> None:
    assert Expectation(path, text).met(DEVICE)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("name", "gpu-1"),
        ("name", "/gpu/"),
        ("name", "absent"),
        ("attributes", "/.*/"),
        ("attributes.model", "present"),
        ("attributes.model", "/.*/"),
        ("allowMultipleAllocations", "1Mi"),
        ("capacity", "only memory, cores"),
        ("capacity.memory", "only value"),
        ("capacity.memory.value", "2Mi"),
        ("capacity.cores.value", "same as capacity.shares.value"),
        ("capacity.memory.value", "same as name"),
    ],
)
def test_a_field_that_is_not_as_expected(path: str, text: str) -> None:
    assert not Expectation(path, text).met(DEVICE)


def test_differences_have_what_was_found() -> None:
    rows = expectations.read([["field", "value"], ["name", "gpu-1"], ["capacity", "present"], ["other", "present"]])

    assert expectations.differences(rows, DEVICE) == {"name": "gpu-0", "other": None}
    assert expectations.wanted(rows) == {"name": "gpu-1", "capacity": "present", "other": "present"}


def test_a_row_with_three_cells_is_an_error_of_the_specification() -> None:
    with pytest.raises(SpecificationError, match="two columns"):
        expectations.read([["field", "value"], ["name", "gpu-1", "really"]])
