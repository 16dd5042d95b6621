"""Whether a function may stand in another's place: what calls the one can call the other.

A mutant that takes other arguments than what it replaces dies of a TypeError wherever it is called, and no scenario has
judged the fault that it stands for. Two calls are tried on paper: one with every parameter, one with the required ones;
positional parameters go by place, the others by name. Parameters that callers pass by name although they need not are
not looked at. Signatures come from the functions themselves; nothing is called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def difference(original: Any, new: Any) -> str:
    """How a call of `original` would break on `new`; empty where it would not, and where `original` is no function."""
    if not callable(original):
        return ""
    if not callable(new):
        return f"{type(new).__name__} cannot be called"
    try:
        old, other = inspect.signature(original), inspect.signature(new)
    except ValueError:
        return ""  # a builtin tells nothing of its parameters
    for needed in (lambda one: True, _is_required):
        places, names = _call(old, needed)
        try:
            other.bind(*places, **names)
        except TypeError as error:
            return f"it takes {other}, what it replaces takes {old}: {error}"
    return ""


def _is_required(one: inspect.Parameter) -> bool:
    return one.default is inspect.Parameter.empty


def _call(
    signature: inspect.Signature, needed: Callable[[inspect.Parameter], bool]
) -> tuple[list[None], dict[str, None]]:
    chosen = [one for one in signature.parameters.values() if needed(one)]
    by_name = {one.name: None for one in chosen if one.kind is inspect.Parameter.KEYWORD_ONLY}
    return [None for one in chosen if one.kind in _BY_PLACE], by_name
