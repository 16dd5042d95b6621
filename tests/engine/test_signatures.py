"""Tests of the comparison of signatures of mutants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dra_conformance.engine.signatures import difference


def original(first: int, second: int = 2, *, third: int, fourth: int = 4) -> int:
    return first + second + third + fourth


@pytest.mark.parametrize(
    "new",
    [
        original,
        lambda *args, **more: 0,
        lambda a, b=0, *, third, fourth=0: 0,
        lambda *args, third, **more: 0,
        lambda a, b=0, *, fourth=0, **more: 0,
        lambda a, b=0, c=0, *, third=0, fourth=0, fifth=0: 0,
    ],
)
def test_a_function_that_takes_every_call_may_replace_the_original(new: Callable[..., int]) -> None:
    assert difference(original, new) == ""


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (lambda a, *, third, fourth=0: 0, "too many positional arguments"),
        (lambda a, b, *, third, fourth=0: 0, "missing a required argument: 'b'"),
        (lambda a, b=0, *, third: 0, "unexpected keyword argument 'fourth'"),
        (lambda a, b=0, *, third, fourth: 0, "missing a required"),
        (lambda a, b, third, fourth: 0, "missing a required"),
        (None, "NoneType cannot be called"),
        ("text", "str cannot be called"),
    ],
)
def test_the_reason_why_a_call_would_fail_is_returned(new: Any, reason: str) -> None:
    assert reason in difference(original, new)


def test_constants_and_builtins_are_not_compared() -> None:
    assert difference(4, None) == ""
    assert difference(dict, str.strip) == ""
