"""Patterns that Python would backtrack on take time linear in the text and match the same."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dra_api.cel import linear
from dra_api.cel.errors import CelRuntimeError
from dra_api.cel.functions import find, find_all, matches
from dra_api.cel.patterns import compile_pattern

LONG = "a" * 3000


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$",
        "^(a|a)*$",
        "^(a|aa)+$",
        "^(a*)*$",
        "(a*)*b",
        "^(([a-z])+.)+[A-Z]$",
        "(.*)*x",
        "a*a*a*a*b",
        "^(a?){900}a{900}b",
    ],
)
def test_nested_quantifiers_take_linear_time(pattern: str) -> None:
    # With Python's engine this takes longer than the age of the universe, or minutes in the polynomial cases.
    assert matches(LONG + "!", pattern) is False


def test_matches_of_nested_quantifiers() -> None:
    assert matches("aaab", "^(a+)+b$")
    assert find("xxaaay", "(a+)+") == "aaa"
    assert find("abab-", "(?:ab?)*?-") == "abab-"
    assert find_all("a1b22c", "[a-z]?[0-9]*") == ["a1", "b22", "c"]
    assert find_all("ab", "x*y*") == ["", "", ""]


def test_a_program_over_the_limit_is_refused() -> None:
    with pytest.raises(CelRuntimeError, match="expression too large"):
        compile_pattern("((a{1,1000}){1,1000}){1,1000}")


@settings(max_examples=1000, deadline=None, derandomize=True)
@given(st.text("ab(|)[]*+?^$.\\b1,-i:{}\n", max_size=10), st.text("ab1A\n", max_size=8))
def test_both_engines_find_the_same(pattern: str, text: str) -> None:
    with suppress(CelRuntimeError):
        compiled = compile_pattern(pattern).compiled
        program = linear.Program(compiled.pattern)
        found = compiled.search(text)
        assert program.matches(text) == (found is not None), pattern
        if found is not None and not re.search(r"\([^)]*[*?|][^)]*\)[*+{]", pattern):
            # Engines differ in where a repetition of an empty match ends.
            assert next(program.spans(text)) == found.span(), pattern
