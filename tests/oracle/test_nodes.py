"""Node selectors of the allocation checker match as those of apimachinery do."""

from __future__ import annotations

import pytest

from dra_conformance.oracle.nodes import NodeView, parse_int, selects
from dra_conformance.oracle.schema import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm


def matches(operator: str, label: str | None, *values: str) -> bool | None:
    requirement = NodeSelectorRequirement(key="gpus", operator=operator, values=list(values))
    selector = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=[requirement])])
    return selects(selector, NodeView("n1", {} if label is None else {"gpus": label}))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("7", 7),
        ("+7", 7),
        ("-7", -7),
        ("-0", 0),
        ("007", 7),
        ("0" * 5000 + "7", 7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("-9223372036854775809", None),
        ("99999999999999999999", None),
        ("9" * 5000, None),
        ("1_0", None),
        (" 7", None),
        ("7 ", None),
        ("7\n", None),
        ("٧", None),
        ("1e3", None),
        ("0x10", None),
        ("1.0", None),
        ("--7", None),
        ("+", None),
        ("", None),
    ],
)
def test_integers_parse_as_in_go(text: str, value: int | None) -> None:
    assert parse_int(text) == value


@pytest.mark.parametrize(
    ("operator", "label", "values", "expected"),
    [
        ("Gt", "10", ["5"], True),
        ("Gt", "5", ["5"], False),
        ("Lt", "4", ["5"], True),
        ("Gt", "1_0", ["5"], False),
        ("Gt", "99999999999999999999", ["5"], False),
        ("Lt", "-99999999999999999999", ["5"], False),
        ("Gt", "10", ["0_5"], False),
        ("Gt", "10", [], False),
        ("Gt", "10", ["5", "20"], False),
        ("Gt", None, ["5"], False),
        ("Lt", None, ["5"], False),
        ("NotIn", None, ["5"], True),
    ],
)
def test_comparisons_need_two_integers(operator: str, label: str | None, values: list[str], expected: bool) -> None:
    assert matches(operator, label, *values) is expected


def test_a_node_without_known_labels_has_no_answer() -> None:
    requirement = NodeSelectorRequirement(key="gpus", operator="Exists")
    selector = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=[requirement])])
    assert selects(selector, NodeView("n1")) is None
