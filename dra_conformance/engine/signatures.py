"""Compares signatures: can a mutant's function be called like the function that it replaces?

A mutant with other parameters raises TypeError wherever it is called, so that no scenario judges its fault. Two calls
are bound to the new signature: one with all parameters of the original, one with the required ones. Positional
parameters are passed by position, the others by name. Nothing is called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def difference(original: Any, new: Any) -> str:
    """Return why a call of `original` fails on `new`; empty if it does not fail, or if `original` is not callable."""
    if not callable(original):
        return ""
    if not callable(new):
        return f"{type(new).__name__} cannot be called"
    try:
        old, other = inspect.signature(original), inspect.signature(new)
    except ValueError:
        return ""  # a builtin without a signature
    for needed in (lambda one: True, _is_required):
        positional, names = _call(old, needed)
        try:
            other.bind(*positional, **names)
        except TypeError as error:
            return f"it takes {other}, the original takes {old}: {error}"
    return ""


def _is_required(one: inspect.Parameter) -> bool:
    return one.default is inspect.Parameter.empty


def _call(
    signature: inspect.Signature, needed: Callable[[inspect.Parameter], bool]
) -> tuple[list[None], dict[str, None]]:
    chosen = [one for one in signature.parameters.values() if needed(one)]
    by_name = {one.name: None for one in chosen if one.kind is inspect.Parameter.KEYWORD_ONLY}
    return [None for one in chosen if one.kind in _POSITIONAL], by_name
