"""Reduce a case while a property holds: the smallest reproduction of a disagreement.

Works on plain JSON: removes list items and optional fields, then simplifies the rest, until nothing more can be
removed. Deterministic. The caller's predicate decides everything, including whether a smaller case still makes sense.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from dra_api.objects import Obj

Path: TypeAlias = tuple[str | int, ...]
Test: TypeAlias = Callable[[Obj], bool]

# Required by the API server, or filled in by it.
_KEEP = frozenset(
    """metadata name namespace driver pool spec features nodes slices classes claims taken requests devices
    allocationMode count deviceClassName operator generation resourceSliceCount cel expression exactly value
    min default counters counterSet""".split()  # noqa: SIM905
)


def smallest(case: Obj, still: Test, *, most: int = 3000) -> Obj:
    """Return the smallest case reached from `case` for which `still` holds, after at most `most` attempts."""
    best = case
    attempts = 0
    progress = True
    while progress and attempts < most:
        progress = False
        for candidate in _simpler(best):
            attempts += 1
            if attempts >= most:
                break
            # Start again with the smaller case: its paths are others.
            if still(candidate):
                best, progress = candidate, True
                break
    return best


def _simpler(case: Obj) -> Iterator[Obj]:
    """Smaller cases, boldest first. Slices' counts follow the slices that are left out."""
    # Short paths first: they remove the most.
    for path in sorted(_paths(case), key=len):
        parent = _at(case, path[:-1])
        if not isinstance(parent, list) and path[-1] in _KEEP:
            continue
        # Optional fields are removed as a whole: an empty list or map inside is often not a valid object.
        if len(parent) > 1 or len(path) <= 2 or path[-2] == "devices":
            yield _without(case, path)
    for path in _paths(case):
        value = _at(case, path)
        # A number or flag that does not matter becomes the plainest one.
        for simple in _plainer(value):
            changed = copy.deepcopy(case)
            _at(changed, path[:-1])[path[-1]] = simple
            yield changed


def _plainer(value: Any) -> Iterator[Any]:
    if value is True:
        yield False
    elif isinstance(value, int) and not isinstance(value, bool) and value > 1:
        yield from (1, value - 1)


def _without(case: Obj, path: Path) -> Obj:
    changed = copy.deepcopy(case)
    parent = _at(changed, path[:-1])
    gone = parent[path[-1]]
    del parent[path[-1]]
    if path[:-1] == ("slices",):
        pool = gone["spec"]["pool"]
        for slice_ in changed["slices"]:
            other = slice_["spec"]["pool"]
            same_pool = slice_["spec"]["driver"] == gone["spec"]["driver"] and other["name"] == pool["name"]
            if same_pool and other.get("generation") == pool.get("generation"):
                other["resourceSliceCount"] = max(1, other["resourceSliceCount"] - 1)
    return changed


def _paths(value: Any, here: Path = ()) -> Iterator[Path]:
    """Every place below `value`."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield (*here, key)
        yield from _paths(below, (*here, key))


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value
