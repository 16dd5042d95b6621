"""The YAML of reports reads back as what was written, and a text that is not valid YAML is a usage error."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from dra_conformance.core import documents
from dra_conformance.core.errors import UsageError

_TEXTS = (
    *("", "a", "yes", "No", "~", "null", "-", "- a", "a: b", "a:b", "abc:", "a #b", "#", "1", "1.5", "0x1f", "1e3"),
    *(".inf", "2020-01-01", "1:30", "<<", "=", "a\nb", "\ttab", "\x00", "\x7f", "\x85", "\u2028", "\ufeff", "é", "😀"),
    *('"q"', "it's", " a", "a ", "*x", "&x", "!t", "%", "@", "`", "{}", "[]", "a,", "?", "? a", "a\\b", "y", "---"),
    *("...", "/dev/x", "http://x:1", "a" * 900, "a" * 200 + " b" * 200),
)


@pytest.mark.parametrize("text", _TEXTS)
def test_a_text_reads_back_as_itself_as_value_and_as_key(text: str) -> None:
    for value in (text, [text], {text: text}, [[text], {"k": [text, {text: []}]}]):
        assert yaml.safe_load(documents.dump(value)) == value


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1,
        -1.5,
        1e-7,
        float("inf"),
        {},
        [],
        {"a": None, "b": {}, "c": [{}, [1, [2]], 3]},
        [{"a": 1, "b": [2]}],
    ],
)
def test_other_values_read_back_as_themselves(value: Any) -> None:
    assert yaml.safe_load(documents.dump(value)) == value


def test_texts_that_are_not_valid_unicode_get_replacement_characters() -> None:
    assert yaml.safe_load(documents.dump({"a": "\ud800"})) == {"a": "?"}


def test_tuples_are_written_as_lists() -> None:
    assert yaml.safe_load(documents.dump({"a": (), "b": (1, (2,))})) == {"a": [], "b": [1, [2]]}


def test_lists_and_mappings_are_indented_as_in_kubernetes_documents() -> None:
    value = {"spec": {"devices": [{"name": "a", "tags": ["x", "y z"]}], "count": 2}}
    assert documents.dump(value) == ("spec:\n  devices:\n  - name: a\n    tags:\n    - x\n    - y z\n  count: 2\n")


def test_the_text_is_that_of_the_serializer_of_pyyaml() -> None:
    value = {
        "texts": list(_TEXTS),
        "of": {text: [text, {}] for text in _TEXTS},
        "others": [None, True, 1, 1.0, 1e-7, b"a"],
    }
    expected = yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=110)
    assert documents.dump(value) == expected


def test_an_object_that_occurs_twice_is_written_twice() -> None:
    same = ["x"]
    assert documents.dump([same, same]) == "- - x\n- - x\n"


@pytest.mark.parametrize("value", [object(), {1}])
def test_a_value_that_yaml_text_of_a_report_does_not_have_is_refused(value: object) -> None:
    with pytest.raises((TypeError, yaml.YAMLError)):
        documents.dump({"a": value})


@pytest.mark.parametrize(
    "value",
    ["2026-13-45", "9" * 5000, "!!bool x", "!!int ''", "!!float x", "!!timestamp x", "\ud800", "[", "*a"],
    ids=ascii,
)
def test_a_value_that_its_type_does_not_have_is_a_usage_error(value: str) -> None:
    with pytest.raises(UsageError, match=r"^here.*: not valid YAML: "):
        documents.load_all(f"a: {value}", where="here")


@pytest.mark.parametrize("fan_out", [9, 101])
def test_merge_keys_cannot_expand_without_bound(fan_out: int) -> None:
    text = "a0: &a0 {x: 1}\n"
    for level in range(1, 12):
        text += f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * fan_out)}]}}\n"
    with pytest.raises(UsageError, match=r"^here, document 1: its aliases expand"):
        documents.load_all(text, where="here")


def test_merge_keys_are_read() -> None:
    (found,) = documents.load_all("a: &a {x: 1, y: 1}\nb: {<<: *a, y: 2}\nc: {<<: [*a, {z: 3}]}", where="here")
    assert (found["b"], found["c"]) == ({"x": 1, "y": 2}, {"x": 1, "y": 1, "z": 3})
