"""The node-selector matcher against the semantics of component-helpers nodeaffinity and apimachinery labels."""

from __future__ import annotations

import pytest

from dra_api.objects import Obj
from reference_impl import node_selector
from reference_impl.node_selector import NodeFacts, NodeSelectorError

NODE = NodeFacts("n1", {"zone": "z1", "gen": "3", "empty": ""})


def expression(key: str, operator: str, *values: str) -> Obj:
    return {"key": key, "operator": operator, "values": list(values)}


def selector(*terms: Obj) -> Obj:
    return {"nodeSelectorTerms": list(terms)}


@pytest.mark.parametrize(
    ("term", "matches"),
    [
        ({"matchFields": [expression("metadata.name", "In", "n1")]}, True),
        ({"matchFields": [expression("metadata.name", "In", "n2")]}, False),
        ({"matchFields": [expression("metadata.name", "NotIn", "n2")]}, True),
        ({"matchExpressions": [expression("zone", "In", "z2", "z1")]}, True),
        ({"matchExpressions": [expression("none", "In", "z1")]}, False),
        ({"matchExpressions": [expression("zone", "NotIn", "z2")]}, True),
        ({"matchExpressions": [expression("none", "NotIn", "z2")]}, True),
        ({"matchExpressions": [expression("zone", "Exists"), expression("none", "Exists")]}, False),
        ({"matchExpressions": [expression("empty", "Exists")]}, True),
        ({"matchExpressions": [expression("none", "DoesNotExist")]}, True),
        ({"matchExpressions": [expression("gen", "Gt", "2")]}, True),
        ({"matchExpressions": [expression("gen", "Gt", "3")]}, False),
        ({"matchExpressions": [expression("gen", "Lt", "3")]}, False),
        ({"matchExpressions": [expression("gen", "Lt", "4")]}, True),
        ({"matchExpressions": [expression("zone", "Gt", "2")]}, False),
        ({"matchExpressions": [expression("none", "Lt", "2")]}, False),
        (
            {
                "matchExpressions": [expression("zone", "In", "z1")],
                "matchFields": [expression("metadata.name", "In", "n2")],
            },
            False,
        ),
        ({}, False),
    ],
)
def test_terms(term: Obj, matches: bool) -> None:
    assert node_selector.matches(selector(term), NODE) is matches
    assert node_selector.matches(selector({}, term), NODE) is matches


def test_no_selector_matches_every_node_and_no_terms_match_none() -> None:
    assert node_selector.matches(None, NODE)
    assert not node_selector.matches(selector(), NODE)


@pytest.mark.parametrize(
    "term",
    [
        {"matchExpressions": [expression("gen", "Gt", "1_0")]},
        {"matchExpressions": [expression("gen", "Lt", "99999999999999999999")]},
        {"matchExpressions": [expression("gen", "Gt", "-5")]},
        {"matchExpressions": [expression("gen", "Gt", " 1")]},
        {"matchExpressions": [expression("none", "Exists"), expression("gen", "Gt", "x")]},
    ],
)
def test_invalid_terms_are_reported_unless_another_term_matches(term: Obj) -> None:
    with pytest.raises(NodeSelectorError):
        node_selector.matches(selector(term, {"matchExpressions": [expression("none", "Exists")]}), NODE)
    assert not node_selector.matches_if_valid(selector(term), NODE)
    assert node_selector.matches(selector(term, {"matchExpressions": [expression("zone", "Exists")]}), NODE)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-0", 0),
        ("+5", 5),
        ("-5", -5),
        ("007", 7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("0" * 5000 + "7", 7),
        ("9223372036854775808", None),
        ("-9223372036854775809", None),
        ("99999999999999999999", None),
        ("9" * 5000, None),
        ("1_0", None),
        (" 7", None),
        ("7 ", None),
        ("7\n", None),
        ("", None),
        ("+", None),
        ("--5", None),
        ("0x10", None),
        ("1e3", None),
        ("1.0", None),
        ("\u0667", None),
    ],
)
def test_integers_parse_as_in_go(text: str, number: int | None) -> None:
    assert node_selector.parse_int64(text) == number
