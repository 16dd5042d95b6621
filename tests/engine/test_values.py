"""Values and expectations in the sentences of features."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.values import expectation, read_value
from dra_conformance.engine.vocabulary import Sentence

CLAIM = {
    "metadata": {"labels": {"a.b/c": "x"}},
    "results": [{"request": "a", "device": "d-1"}, {"request": "b", "device": "d-0"}],
    "conditions": [{"type": "Ready", "status": "True", "by": {"who": "me"}}],
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a list of 2 {name: r$n}", [{"name": "r0"}, {"name": "r1"}]),
        ('a map of 2 "c$n" to {value: $n}', {"c0": {"value": 0}, "c1": {"value": 1}}),
        ('the text "ab" 3 times', "ababab"),
        ("a list", "a list"),
        ("null", None),
        ("{a: [1]}", {"a": [1]}),
    ],
)
def test_values_are_yaml_or_generated(text: str, value: object) -> None:
    assert read_value(text) == value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("results[*].device", ["d-1", "d-0"]),
        ("results[request=b][*].device", ["d-0"]),
        ("results[request=b][0].device", "d-0"),
        ("results[request=c][0].device", None),
        ("conditions[by.who=me][*].type", ["Ready"]),
        ("metadata.labels['a.b/c']", "x"),
        ("absent[*].device", []),
        ("absent[type=x]", []),
    ],
)
def test_field_paths_select_from_lists(path: str, value: object) -> None:
    assert manifests.look_up(CLAIM, path) == value


@pytest.mark.parametrize("path", ["results[*].device", "results[request=b]"])
def test_a_path_that_selects_cannot_be_set(path: str) -> None:
    with pytest.raises(SpecificationError, match="may name several fields"):
        manifests.set_at({"results": [{}]}, path, 1)


@pytest.mark.parametrize(
    ("text", "met", "not_met"),
    [
        ("set", [0, "x", False, [1]], [None, [], {}, ""]),
        ("empty", [None, [], {}, ""], [0, "x", [None]]),
        ('like "a-[0-9]+"', ["a-12"], ["a-", "xa-1", None, 1]),
        ("containing part", ["a part of it", ["part", "x"]], ["p", [], None, ["parts"]]),
        ("containing [a, b]", [["b", "c", "a"]], [["a"], None]),
        ("containing {a: 1}", [{"a": 1, "b": 2}, [{"a": 1, "c": 3}]], [{"a": 2}, {}, None]),
        ("without [a]", [["b"], [], None], [["a", "b"]]),
        ("other than 'True'", ["False", None], ["True"]),
        ("in any order [b, a, a]", [["a", "b", "a"]], [["a", "b"], None, ["a", "b", "b"]]),
        ("in any order [[b, a], [c]]", [[["c"], ["a", "b"]]], [[["a", "b", "c"]]]),
        ("as JSON [{a: 1}]", ['[{"a": 1}]'], ["[", None, [{"a": 1}]]),
        ("the present time", ["2026-01-02T03:04:35Z"], ["2026-01-02T03:06:00Z", None]),
        ("an earlier time", ["2026-01-02T03:03:00Z"], ["2026-01-02T03:03:35Z", "2026-01-02T03:06:00Z", None]),
        ("null", [None], [[], ""]),
        ("{a: 1}", [{"a": 1}], [{"a": 1, "b": 2}]),
    ],
)
def test_expectations(text: str, met: list[Any], not_met: list[Any]) -> None:
    wanted = expectation(text, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert [value for value in met if not wanted.is_met(value)] == []
    assert [value for value in not_met if wanted.is_met(value)] == []


@pytest.mark.parametrize("text", ['the Pod "a" has "b" 1', 'the BindRequest of pod "a" has "b" 1'])
def test_a_sentence_names_an_object(text: str) -> None:
    fields = Sentence('the {object:object} has "{path}" {value}').parse_arguments(text)
    assert fields is not None
    assert fields["object"] == text.removeprefix("the ").removesuffix(' has "b" 1')


@pytest.mark.parametrize("text", ['the pod "a" has "b" 1', 'the Pod a has "b" 1', 'the Pod "a" of "n" has "b" 1'])
def test_other_words_are_not_an_object(text: str) -> None:
    assert not Sentence('the {object:object} has "{path}" {value}').is_matching(text)
