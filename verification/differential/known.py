"""Known differences of upstream, each with a function that recognises it: explained, not ignored.

`known.yaml` has the entries: an id, the function in this module, the upstream issue or the place in upstream's code,
and the explanation. An entry explains a disagreement only if its function returns true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import yaml

from dra_api.objects import Obj
from dra_api.quantity import Quantity
from reference_impl.scheduler.bug_compatible import Release
from verification.differential.compare import OTHER_PICKS, Disagreement

ENTRIES = Path(__file__).with_name("known.yaml")
Predicate: TypeAlias = Callable[[Obj, Disagreement], bool]
_NEWEST = 37
_DERIVED_FAILED = "evaluate derived attribute"
_BREACH = "a claim constraint would not be satisfied"
# The features that upstream's stable and incubating allocators support.
_STABLE = frozenset({"AdminAccess", "PrioritizedList", "PartitionableDevices", "DeviceTaints"})
_INCUBATING = _STABLE | {"DeviceBindingAndStatus", "ConsumableCapacity", "FractionalCapacityRange"}


@dataclass(frozen=True, slots=True)
class Known:
    """One entry of known.yaml."""

    id: str
    predicate: Predicate
    source: str
    explanation: str
    about: str = "upstream"  # or oracle
    chance: bool = False  # whether upstream itself answers now so and now so
    until: int = 99  # the last minor release that it applies to


def load(path: Path = ENTRIES, *, minor: int = _NEWEST) -> list[Known]:
    """Return the entries that apply to minor release `minor`. Raises ValueError if a predicate does not exist."""
    found = []
    for row in yaml.safe_load(path.read_text()) or ():
        predicate = PREDICATES.get(row["predicate"])
        if predicate is None:
            raise ValueError(f"{path.name}: {row['id']}: no predicate {row['predicate']}")
        about, chance = row.get("about", "upstream"), bool(row.get("chance"))
        until = int(row.get("until", 99))
        found.append(Known(row["id"], predicate, row["source"], row["explanation"], about, chance, until))
    return [entry for entry in found if minor <= entry.until]


def by_chance(release: Release | None = None) -> list[Known]:
    """Return the entries that remain even if the reference has the release's deviations: upstream leaves the order
    open.

    `release` defaults to the newest.
    """
    minor = release.minor if release else _NEWEST
    return [entry for entry in load(minor=minor) if entry.chance]


def explain(entries: list[Known], case: Obj, disagreement: Disagreement) -> Known | None:
    """Return the first entry that explains a disagreement.

    An invalid allocation of the reference is never explained by upstream's behaviour.
    """
    # An entry about upstream must not excuse a mistake of the reference.
    if disagreement.wrong.startswith("reference"):
        entries = [entry for entry in entries if entry.about == "oracle"]
    return next((entry for entry in entries if entry.predicate(case, disagreement)), None)


def variant(case: Obj) -> str:
    """Return the upstream allocator that the case's features select (structured/allocator.go NewAllocator)."""
    on = {name for name, value in (case.get("features") or {}).items() if value}
    return "stable" if on <= _STABLE else "incubating" if on <= _INCUBATING else "experimental"


def device_requests(case: Obj) -> Iterator[Obj]:
    """Every request and alternative of every claim."""
    for claim in case["claims"]:
        for request in claim["spec"]["devices"].get("requests") or ():
            yield from request.get("firstAvailable") or ()
            if request.get("exactly"):
                yield request["exactly"]


def constraints(case: Obj) -> Iterator[Obj]:
    """Every constraint of every claim."""
    for claim in case["claims"]:
        yield from claim["spec"]["devices"].get("constraints") or ()


def devices(case: Obj) -> Iterator[Obj]:
    """Every device of every slice."""
    for slice_ in case["slices"]:
        yield from slice_["spec"].get("devices") or ()


def watched(case: Obj) -> bool:
    """Whether any request or alternative wants admin access."""
    return any(request.get("adminAccess") for request in device_requests(case))


def consumed(case: Obj) -> bool:
    """Whether others have used of the capacity of a shared device."""
    return any(result.get("consumedCapacity") for result in case["taken"])


def gets_on(found: Disagreement) -> bool:
    """Upstream takes a device that it should not: it ends well, or gets to a selector that fails further on."""
    return found.upstream.outcome == "allocated" or cel_failed(found.upstream.message)


def goes_on(found: Disagreement) -> bool:
    """Upstream refuses a device that it should take, and finds no other or continues with another.

    Either side then reaches devices and requests that the other does not, and their selectors may fail.
    """
    return (
        found.upstream.outcome == "unallocatable"
        or cel_failed(found.upstream.message)
        or cel_failed(found.reference.message)
    )


# -- predicates --------------------------------------------------------------------------------------------------------


def a_walk_timed_out(case: Obj, found: Disagreement) -> bool:
    """An exhaustive search did not end in time: upstream's, or that of a reference that walks like it."""
    return "timeout" in (found.upstream.outcome, found.reference.outcome)


def stable_ignores_newer_fields(case: Obj, found: Disagreement) -> bool:
    """The stable allocator does not support capacity requests and distinctAttribute, so it cannot refuse them."""
    return variant(case) == "stable" and "feature is disabled" in found.reference.message


def newer_variants_ignore_the_distinct_gate(case: Obj, found: Disagreement) -> bool:
    """Incubating and experimental apply distinctAttribute even if its gate is off."""
    return variant(case) != "stable" and "distinctAttribute is used, but the feature" in found.reference.message


def admin_pick_blocks_others(case: Obj, found: Disagreement) -> bool:
    """A device picked with admin access counts as in use for every later request of the same attempt."""
    return goes_on(found) and watched(case) and len([*device_requests(case)]) > 1


def admin_access_consumes_counters(case: Obj, found: Disagreement) -> bool:
    """A request with admin access needs room in the counters of a device."""
    return goes_on(found) and watched(case) and any("consumesCounters" in d for d in devices(case))


def admin_access_consumes_capacity(case: Obj, found: Disagreement) -> bool:
    """A request with admin access to a shared device needs room in its capacity."""
    return goes_on(found) and watched(case) and consumed(case) and variant(case) != "stable"


def shares_do_not_block(case: Obj, found: Disagreement) -> bool:
    """A device has shares and does not allow several allocations."""
    several = {
        (slice_["spec"]["driver"], slice_["spec"]["pool"]["name"], device["name"])
        for slice_ in case["slices"]
        for device in slice_["spec"].get("devices") or ()
        if device.get("allowMultipleAllocations")
    }
    shared = {(result["driver"], result["pool"], result["device"]) for result in case["taken"] if result.get("shareID")}
    return gets_on(found) and bool(shared - several) and variant(case) != "stable"


def selector_evaluated_on_other_nodes_device(case: Obj, found: Disagreement) -> bool:
    """With perDeviceNodeSelection, selectors see devices that are not for this node, and fail on them."""
    per_device = any(slice_["spec"].get("perDeviceNodeSelection") for slice_ in case["slices"])
    return per_device and cel_failed(found.upstream.message)


def all_with_constraint(case: Obj, found: Disagreement) -> bool:
    """An `All` request under a constraint is an error upstream, depending on the order of the search."""
    if _DERIVED_FAILED in found.upstream.message and found.reference.outcome == "unallocatable":
        return any(request.get("allocationMode") == "All" for request in device_requests(case))
    return _BREACH in found.upstream.message or (_BREACH in found.reference.message and goes_on(found))


def alternatives_come_before_devices(case: Obj, found: Disagreement) -> bool:
    """A later request's next alternative is tried before an earlier request gets another device; one selector fails."""
    requests = [request for claim in case["claims"] for request in claim["spec"]["devices"].get("requests") or ()]
    choice = any(len(request.get("firstAvailable") or ()) > 1 for request in requests[1:])
    upstream, ours = found.upstream, found.reference
    failed = (cel_failed(upstream.message) and ours.outcome == "allocated") or (
        cel_failed(ours.message) and upstream.outcome == "allocated"
    )
    return choice and failed


def unusable_capacity_ends_the_attempt(case: Obj, found: Disagreement) -> bool:
    """A request that a device's range cannot express, or a negative one, is an error instead of no match."""
    del case
    return "range arithmetic" in found.upstream.message or "capacity value is negative" in found.upstream.message


def counters_concern_every_node(case: Obj, found: Disagreement) -> bool:
    """A slice with counters makes its pool concern every node, so an unready pool of one node stops `All` on others."""
    unready = "is currently being updated" in found.upstream.message or "is currently invalid" in found.upstream.message
    return (
        unready and variant(case) == "stable" and any(slice_["spec"].get("sharedCounters") for slice_ in case["slices"])
    )


def stable_pools_have_no_order(case: Obj, found: Disagreement) -> bool:
    """The stable allocator iterates over a Go map of pools, so the first device is random."""
    pools = {(slice_["spec"]["driver"], slice_["spec"]["pool"]["name"]) for slice_ in case["slices"]}
    messages = (found.upstream.message, found.reference.message)
    # Of an All request, a device in use or one that a constraint forbids comes first.
    failed = any(cel_failed(message) or _BREACH in message for message in messages)
    return variant(case) == "stable" and len(pools) > 1 and (failed or found.wrong == OTHER_PICKS)


def pools_have_no_order(case: Obj, found: Disagreement) -> bool:
    """As stable_pools_have_no_order, in all variants.

    The order also decides whether an error is met at all, and what refused devices leave behind: counters that stay
    charged, and values that distinctAttribute forgets.
    """
    pools = {(slice_["spec"]["driver"], slice_["spec"]["pool"]["name"]) for slice_ in case["slices"]}
    if len(pools) < 2:
        return False
    outcomes = {found.upstream.outcome, found.reference.outcome}
    leaves = any("consumesCounters" in device for device in devices(case)) or any(
        constraint.get("distinctAttribute") for constraint in constraints(case)
    )
    return found.wrong == OTHER_PICKS or bool(outcomes & {"error", "panic"}) or leaves


def several_generations(case: Obj, found: Disagreement) -> bool:
    """A newer generation without a slice for this node does not make the older one obsolete there."""
    del found
    generations: dict[tuple[str, str], set[int]] = {}
    for key, generation, _ in pools_of(case):
        generations.setdefault(key, set()).add(generation)
    return any(len(several) > 1 for several in generations.values())


def contradictory_slice_counts(case: Obj, found: Disagreement) -> bool:
    """Slices of one generation announce different counts, or there are more than announced."""
    del found
    generations: dict[tuple[tuple[str, str], int], list[int]] = {}
    for key, generation, count in pools_of(case):
        generations.setdefault((key, generation), []).append(count)
    return any(len(set(counts)) > 1 or len(counts) > counts[0] for counts in generations.values())


def overcommitted_counters(case: Obj, found: Disagreement) -> bool:
    """More of a counter is in use than there is, and upstream then refuses every device with counters of the pool."""
    if found.upstream.outcome not in ("unallocatable", "error"):
        return False
    in_use = {(result["driver"], result["pool"], result["device"]) for result in case["taken"]}
    left: dict[tuple[str, str, str, str], Quantity] = {}
    for slice_ in case["slices"]:
        spec = slice_["spec"]
        for counter_set in spec.get("sharedCounters") or ():
            for name, counter in counter_set["counters"].items():
                key = (spec["driver"], spec["pool"]["name"], counter_set["name"], name)
                left[key] = Quantity.parse(str(counter["value"]))
    for slice_ in case["slices"]:
        spec = slice_["spec"]
        home = (spec["driver"], spec["pool"]["name"])
        for device in spec.get("devices") or ():
            if (*home, device["name"]) in in_use:
                for entry in device.get("consumesCounters") or ():
                    for name, counter in entry["counters"].items():
                        key = (*home, entry["counterSet"], name)
                        if key in left:
                            left[key] -= Quantity.parse(str(counter["value"]))
    return any(amount < Quantity.parse("0") for amount in left.values())


def first_of_a_constraint_is_not_checked(case: Obj, found: Disagreement) -> bool:
    """With list attributes off, the first device under a constraint may have a list; only the second is refused."""
    return (
        gets_on(found)
        and not case["features"].get("ListTypeAttributes")
        and any(True for _ in constraints(case))
        and (has_lists(case) or any(request.get("derivedAttributes") for request in device_requests(case)))
    )


def stable_hides_multiple_allocations(case: Obj, found: Disagreement) -> bool:
    """The stable allocator does not pass allowMultipleAllocations to CEL, so selectors read false."""
    del found
    return variant(case) == "stable" and "device.allowMultipleAllocations" in str(case)


def has_lists(case: Obj) -> bool:
    """Whether any attribute of any device is a list."""
    values = (value for device in devices(case) for value in (device.get("attributes") or {}).values())
    # Only the names of list types end in s: ints, strings, bools, versions.
    return any(key.endswith("s") for value in values for key in value)


def pools_of(case: Obj) -> Iterator[tuple[tuple[str, str], int, int]]:
    """Of each slice: driver and pool, generation, count of slices."""
    for slice_ in case["slices"]:
        pool = slice_["spec"]["pool"]
        yield (slice_["spec"]["driver"], pool["name"]), int(pool.get("generation") or 0), pool["resourceSliceCount"]


def cel_failed(message: str) -> bool:
    """Whether a message is about a selector or a derived attribute that failed."""
    return "CEL runtime error" in message or "CEL compile error" in message or _DERIVED_FAILED in message


PREDICATES: dict[str, Predicate] = {
    predicate.__name__: predicate
    for predicate in (
        a_walk_timed_out,
        stable_ignores_newer_fields,
        newer_variants_ignore_the_distinct_gate,
        admin_pick_blocks_others,
        admin_access_consumes_counters,
        admin_access_consumes_capacity,
        shares_do_not_block,
        selector_evaluated_on_other_nodes_device,
        all_with_constraint,
        alternatives_come_before_devices,
        unusable_capacity_ends_the_attempt,
        counters_concern_every_node,
        stable_pools_have_no_order,
        pools_have_no_order,
        several_generations,
        contradictory_slice_counts,
        overcommitted_counters,
        first_of_a_constraint_is_not_checked,
        stable_hides_multiple_allocations,
    )
}
