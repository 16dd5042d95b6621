"""Fields that the errors of v1beta1 requests name, in which `exactly` does not exist."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from apiserver_emulator.dra.requests import validate_spec
from apiserver_emulator.dra.rules import Rules


@pytest.mark.parametrize(
    ("fields", "in_v1", "in_v1beta1"),
    [
        ({"count": -1}, "exactly.count", "exactly.count"),
        ({"deviceClassName": "G_"}, "exactly.deviceClassName", "exactly.deviceClassName"),
        ({"allocationMode": "Some"}, "exactly.allocationMode", "allocationMode"),
        ({"allocationMode": ""}, "exactly.allocationMode", "exactly.allocationMode"),
        ({"selectors": [{"cel": {"expression": "true"}}] * 33}, "exactly.selectors", "selectors"),
        (
            {"tolerations": [{"key": "k", "operator": "Some"}]},
            "exactly.tolerations[0].operator",
            "tolerations[0].operator",
        ),
        (
            {"tolerations": [{"operator": "Exists", "value": "v"}]},
            "exactly.tolerations[0].value",
            "exactly.tolerations[0].value",
        ),
    ],
)
@pytest.mark.parametrize("path", ["spec", "spec.spec"])
def test_declarative_validation_names_the_fields_of_the_request(
    path: str, fields: dict[str, Any], in_v1: str, in_v1beta1: str
) -> None:
    request = {"deviceClassName": "g", "allocationMode": "ExactCount", "count": 1, **fields}
    spec = {"devices": {"requests": [{"name": "r", "exactly": request}]}}

    def fields_of(version: str, minor: int) -> list[str]:
        rules = Rules(minor=minor, gates={}, now=lambda: datetime.now(UTC), version=version)
        return [error.field for error in validate_spec(spec, path, rules)]

    here = f"{path}.devices.requests[0]."
    assert fields_of("v1", 37) == fields_of("v1beta1", 36) == [here + in_v1]
    assert fields_of("v1beta1", 37) == [here + in_v1beta1]
