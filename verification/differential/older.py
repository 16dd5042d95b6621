"""Convert cases to what the API server of an older release would have stored: newer fields are dropped.

Pure functions over cases. Before 1.37 there was no feature for ranges with fractions, before 1.36 there were no list
attributes. In 1.34 shared counters were in the slice of the devices that consume them, and slices with counters only
did not exist.
"""

from __future__ import annotations

import copy

from dra_api.objects import Obj
from reference_impl.scheduler.bug_compatible import Release

_LISTS = ("ints", "bools", "strings", "versions")


def as_stored(case: Obj, release: Release) -> Obj:
    """The case in the shapes of `release`."""
    if release.minor >= 37:
        return case
    made = copy.deepcopy(case)
    made["features"]["FractionalCapacityRange"] = False
    if release.minor >= 36:
        return made
    made["features"]["ListTypeAttributes"] = False
    for slice_ in made["slices"]:
        for device in slice_["spec"].get("devices") or ():
            attributes = device.get("attributes") or {}
            for name in [name for name, value in attributes.items() if any(kind in value for kind in _LISTS)]:
                del attributes[name]
    if release.minor < 35:
        made["slices"] = _with_own_counters(made["slices"])
    return made


def _with_own_counters(slices: list[Obj]) -> list[Obj]:
    """Every slice with the counters of its pool's generation; those with nothing else are left out and not counted."""
    counters: dict[tuple[str, str, int], list[Obj]] = {}
    gone: dict[tuple[str, str, int], int] = {}
    kept: list[Obj] = []
    for slice_ in slices:
        if shared := slice_["spec"].pop("sharedCounters", None):
            counters.setdefault(_generation(slice_), []).extend(shared)
            gone[_generation(slice_)] = gone.get(_generation(slice_), 0) + 1
        else:
            kept.append(slice_)
    for slice_ in kept:
        key = _generation(slice_)
        if key in counters:
            slice_["spec"]["sharedCounters"] = copy.deepcopy(counters[key])
            pool = slice_["spec"]["pool"]
            pool["resourceSliceCount"] = max(pool["resourceSliceCount"] - gone[key], 1)
    return kept


def _generation(slice_: Obj) -> tuple[str, str, int]:
    pool = slice_["spec"]["pool"]
    return slice_["spec"]["driver"], pool["name"], int(pool.get("generation") or 0)
