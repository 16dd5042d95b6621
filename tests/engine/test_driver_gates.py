"""Tests of the gates that a scenario states by a tag: they are added to the flags of the driver."""

from __future__ import annotations

import pytest

from dra_conformance.components.node import gate_list, with_gates

ON = {"NVMLDeviceHealthCheck": True}


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ((), ("--feature-gates=NVMLDeviceHealthCheck=true",)),
        (("--pod-uid=a",), ("--feature-gates=NVMLDeviceHealthCheck=true", "--pod-uid=a")),
        (("--feature-gates=MPSSupport=true",), ("--feature-gates=MPSSupport=true,NVMLDeviceHealthCheck=true",)),
        (("--feature-gates=NVMLDeviceHealthCheck=false",), ("--feature-gates=NVMLDeviceHealthCheck=false",)),
    ],
)
def test_a_gate_of_a_tag_is_added_unless_the_flags_name_it(flags: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert with_gates(flags, ON) == expected
    assert with_gates(flags, {}) == flags


def test_gates_in_the_environment_have_the_form_of_the_flag() -> None:
    assert gate_list({"A": True, "B": False}) == "A=true,B=false"
