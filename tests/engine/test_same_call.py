"""What may stand in a function's place."""

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
def test_what_takes_every_call_may_stand_there(new: Callable[..., int]) -> None:
    assert difference(original, new) == ""


@pytest.mark.parametrize(
    ("new", "told"),
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
def test_what_would_break_is_told(new: Any, told: str) -> None:
    assert told in difference(original, new)


def test_constants_and_builtins_are_not_compared() -> None:
    assert difference(4, None) == ""
    assert difference(dict, str.strip) == ""
