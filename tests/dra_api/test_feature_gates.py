"""The value of `--feature-gates`, as component-base's featuregate.Set parses it."""

from __future__ import annotations

import pytest

from dra_api.feature_gates import ALLOCATOR_FEATURES, GATES, FeatureGateError, parse_gates


@pytest.mark.parametrize(
    ("text", "gates"),
    [
        ("", {}),
        ("A=true,B=false", {"A": True, "B": False}),
        (" A = True ,, B=0,", {"A": True, "B": False}),
        ("A=true,A=F", {"A": False}),
    ],
)
def test_gates_are_parsed(text: str, gates: dict[str, bool]) -> None:
    assert parse_gates(text) == gates


@pytest.mark.parametrize("text", ["A", "A=", "A=yes", "A=tRUE", "=true", "A=true=false"])
def test_other_values_are_refused(text: str) -> None:
    with pytest.raises(FeatureGateError, match=f"'{text}': must be NAME=true or NAME=false"):
        parse_gates(text)


def test_an_unknown_gate_is_refused() -> None:
    assert parse_gates("A=true", known={"A"}) == {"A": True}
    with pytest.raises(FeatureGateError, match="unrecognized feature gate: B; known gates: A"):
        parse_gates("B=true", known={"A"})


def test_features_of_the_allocator_need_known_gates() -> None:
    assert {gate for gates in ALLOCATOR_FEATURES.values() for gate in gates} <= GATES
