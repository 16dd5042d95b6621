"""The flags of other people's programs, as the reference components get them."""

from __future__ import annotations

import pytest

from verification.reference_programs import SEATS
from verification.reference_programs.start import converted


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["binder", "--kubeconfig", "k"], ["binder", "--kubeconfig", "k"]),
        (["binder", "--resource-reservation-namespace=n"], ["binder", "--reservation-namespace=n"]),
        (["binder", "--resource-reservation-service-account=a"], ["binder", "--reservation-service-account=a"]),
        (["binder", "--resource-reservation-allocation-timeout=4"], ["binder", "--reservation-timeout=4"]),
        (["binder", "--scheduler-name=mine"], ["binder"]),
        (["binder", "--cdi-enabled=true"], ["binder", "--cdi-enabled"]),
        (["binder", "--cdi-enabled=false"], ["binder"]),
        (
            ["binder", '--plugins={"gpusharing":{"arguments":{"cdiEnabled":"true"}}}'],
            ["binder", "--cdi-enabled"],
        ),
        (["binder", "--feature-gates=DynamicResourceAllocation=false"],) * 2,
        (
            ["kubelet-plugin", "--feature-gates=MPSSupport=true"],
            ["kubelet-plugin", "--driver-feature-gates=MPSSupport=true"],
        ),
    ],
)
def test_flags_are_converted(words: list[str], expected: list[str]) -> None:
    assert converted(words) == expected


def test_the_run_can_choose_the_flags_of_the_binder() -> None:
    assert "{flags}" in SEATS["binder"].words
