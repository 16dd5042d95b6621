"""Known differences of Karpenter's allocator, each proven for each case.

An entry of `karpenter.yaml` names either a change, which takes out of the case what Karpenter does not read (the entry
explains a difference if Karpenter's answer is right for the changed case), or a predicate over the difference.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from dra_api.objects import Obj
from dra_api.quantity import Quantity
from verification.differential import reference
from verification.differential.karpenter import Difference, differences
from verification.differential.known import cel_failed, pools_of

ENTRIES = Path(__file__).with_name("karpenter.yaml")


@dataclass(frozen=True, slots=True)
class Known:
    """One entry of karpenter.yaml; either `change` or `predicate` is set."""

    id: str
    source: str
    explanation: str
    change: Callable[[Obj], None] | None
    predicate: Callable[[Difference], bool] | None


def load(path: Path = ENTRIES) -> list[Known]:
    """Return the entries. Raises KeyError if a change or predicate does not exist."""
    return [
        Known(
            row["id"],
            row["source"],
            row["explanation"],
            CHANGES[row["change"]] if "change" in row else None,
            PREDICATES[row["predicate"]] if "predicate" in row else None,
        )
        for row in yaml.safe_load(path.read_text())
    ]


def explain(entries: Sequence[Known], difference: Difference) -> str:
    """Return the id of the entry that explains a difference, several joined by ` + `, or an empty string."""
    changing = [entry for entry in entries if entry.change is not None]
    for entry in changing:
        if _after(difference, [entry]) is None:
            return entry.id
    if found := _explained(entries, difference, []):
        return found
    # Several at once: leave out each that is not needed.
    needed = changing
    for one in changing:
        fewer = [entry for entry in needed if entry is not one]
        if _explained(entries, difference, fewer):
            needed = fewer
    return _explained(entries, difference, needed)


def _explained(entries: Sequence[Known], difference: Difference, changing: Sequence[Known]) -> str:
    """Return the ids of these changes, and of a predicate that explains what is left after them."""
    left = _after(difference, changing)
    names = [entry.id for entry in changing]
    if left is not None:
        names += [entry.id for entry in entries if entry.predicate is not None and entry.predicate(left)][:1]
        if len(names) == len(changing):
            return ""
    return " + ".join(names)


def _after(difference: Difference, changing: Sequence[Known]) -> Difference | None:
    """Return what is wrong with Karpenter's answer for the changed case."""
    case = copy.deepcopy(difference.case)
    for entry in changing:
        if entry.change is not None:
            entry.change(case)
    case["nodes"] = [case["nodes"][difference.at]]
    return next(differences(case, [difference.answer]), None)


def _devices(case: Obj) -> Iterator[Obj]:
    return (device for slice_ in case["slices"] for device in slice_["spec"].get("devices") or ())


def _requests(case: Obj) -> Iterator[Obj]:
    for claim in case["claims"]:
        for request in claim["spec"]["devices"].get("requests") or ():
            if "exactly" in request:
                yield request["exactly"]


# -- changes -----------------------------------------------------------------------------------------------------------


def no_taints(case: Obj) -> None:
    """Devices have no taints."""
    for device in _devices(case):
        device.pop("taints", None)


def no_nodes_of_devices(case: Obj) -> None:
    """Devices that name their nodes themselves do not exist."""
    for slice_ in case["slices"]:
        if slice_["spec"].get("perDeviceNodeSelection") and not slice_["spec"].get("sharedCounters"):
            slice_["spec"]["devices"] = []


def no_admin_access(case: Obj) -> None:
    """No request has admin access."""
    for request in _requests(case):
        request.pop("adminAccess", None)


def no_limits_of_whole_devices(case: Obj) -> None:
    """A device that is not shared has as much as anybody requests."""
    wanted = {name for request in _requests(case) for name in (request.get("capacity") or {}).get("requests") or {}}
    for device in _devices(case):
        if not device.get("allowMultipleAllocations"):
            device["capacity"] = (device.get("capacity") or {}) | {name: {"value": "100E"} for name in wanted}


def no_fields_of_nodes(case: Obj) -> None:
    """Node selectors of slices have no matchFields; one with nothing else selects all nodes."""
    for slice_ in case["slices"]:
        spec = slice_["spec"]
        terms = (spec.get("nodeSelector") or {}).get("nodeSelectorTerms") or ()
        for term in terms:
            term.pop("matchFields", None)
        if terms and not any(term.get("matchExpressions") for term in terms):
            del spec["nodeSelector"]
            spec["allNodes"] = True


def no_use_of_the_other_kind(case: Obj) -> None:
    """Nobody has a shared device alone, or shares of one that is no longer shared."""
    newest: dict[tuple[str, str], int] = {}
    for pool, generation, _ in pools_of(case):
        newest[pool] = max(generation, newest.get(pool, generation))
    shared = {
        (*pool, device["name"])
        for slice_, (pool, generation, _) in zip(case["slices"], pools_of(case), strict=True)
        for device in slice_["spec"].get("devices") or ()
        if generation == newest[pool] and device.get("allowMultipleAllocations")
    }
    case["taken"] = [
        result
        for result in case["taken"]
        if ("shareID" in result) == ((result["driver"], result["pool"], result["device"]) in shared)
    ]


CHANGES: dict[str, Callable[[Obj], None]] = {
    change.__name__: change
    for change in (
        no_taints,
        no_nodes_of_devices,
        no_admin_access,
        no_limits_of_whole_devices,
        no_fields_of_nodes,
        no_use_of_the_other_kind,
    )
}

# -- predicates --------------------------------------------------------------------------------------------------------


def says_so(difference: Difference) -> bool:
    """Karpenter's message says that it does not support what the claim requests."""
    ours = ("only Exactly requests are supported", "DistinctAttribute constraints not done yet")
    return difference.kind == "too-few" and any(words in difference.message for words in ours)


def selector_failed(difference: Difference) -> bool:
    """A selector failed on a device, which the reference treats as an error, as kube-scheduler does."""
    return difference.kind == "too-many" and cel_failed(difference.message)


def another_pool_is_unready(difference: Difference) -> bool:
    """A request for all devices was refused because of an incomplete or invalid pool."""
    unready = ("is invalid (duplicate", "is incomplete (missing")
    return difference.kind == "too-few" and any(words in difference.message for words in unready)


def all_of_nothing(difference: Difference) -> bool:
    """A request for all devices got none: it cannot be satisfied even alone, with nothing in use."""
    if "devices" not in difference.answer:
        return False
    case = {**difference.case, "nodes": [difference.case["nodes"][difference.at]], "taken": []}
    for claim in difference.case["claims"]:
        for request in claim["spec"]["devices"].get("requests") or ():
            alone = {**claim, "spec": {"devices": {"requests": [request]}}}
            everything = request["exactly"].get("allocationMode") == "All"
            if everything and reference.allocate({**case, "claims": [alone]})[0].outcome != "allocated":
                return True
    return False


def one_device_twice(difference: Difference) -> bool:
    """A shared device serves one request, or one claim, twice."""
    return any(
        len({(pick["driver"], pick["pool"], pick["device"]) for pick in picks}) < len(picks)
        for picks in difference.answer.get("devices") or ()
    )


def full_devices_count(difference: Difference) -> bool:
    """A request for all devices includes shared devices that cannot give it what it requests."""
    shared = any(device.get("allowMultipleAllocations") for device in _devices(difference.case))
    everything = any(request.get("allocationMode") == "All" for request in _requests(difference.case))
    return difference.kind == "too-few" and shared and everything


def contradictory_slice_counts(difference: Difference) -> bool:
    """Slices of one generation announce different counts, or there are more than announced."""
    counts: dict[tuple[tuple[str, str], int], list[int]] = {}
    for pool, generation, count in pools_of(difference.case):
        counts.setdefault((pool, generation), []).append(count)
    return any(len(set(announced)) > 1 or len(announced) > announced[0] for announced in counts.values())


def a_counter_is_used_up(difference: Difference) -> bool:
    """Devices of a pool with counters were not taken."""
    return difference.kind == "too-few" and any(device.get("consumesCounters") for device in _devices(difference.case))


def fractions_of_counters(difference: Difference) -> bool:
    """A device consumes a fraction of a counter, and more than there is was given away."""
    values = (
        Quantity.parse(str(counter["value"]))
        for device in _devices(difference.case)
        for entry in device.get("consumesCounters") or ()
        for counter in entry["counters"].values()
    )
    return difference.kind in ("too-many", "invalid") and any(value.milli_value % 1000 for value in values)


PREDICATES: dict[str, Callable[[Difference], bool]] = {
    predicate.__name__: predicate
    for predicate in (
        says_so,
        selector_failed,
        another_pool_is_unready,
        all_of_nothing,
        one_device_twice,
        full_devices_count,
        contradictory_slice_counts,
        a_counter_is_used_up,
        fractions_of_counters,
    )
}
