"""Deviations of Kubernetes releases from the intended behaviour: one row for each, with its releases.

Data only. The ids are those of `verification/differential/known.yaml` if the differential test finds the deviation.

Source: k8s.io/dynamic-resource-allocation v0.34.13, v0.35.10, v0.36.2, v0.36.6 and v0.37.2, read, and run against the
reference by `verification.differential`. Without an issue, `source` is the pull request that introduced or fixed the
deviation, from the history of k8s.io/dynamic-resource-allocation; `place` is the position in the code of the newest
release that has it, and the smallest case that shows it is in `tests/differential/deviations`.
"""

from __future__ import annotations

from dataclasses import dataclass

_BEFORE_1_37 = frozenset({"1.34", "1.35", "1.36", "1.36.2"})
_ONLY_1_37 = frozenset({"1.37"})
_ALL = _BEFORE_1_37 | _ONLY_1_37
_ONLY_1_36 = frozenset({"1.36", "1.36.2"})
_WITH_LISTS = _ONLY_1_36 | _ONLY_1_37
_COUNTERS_OF_POOLS = frozenset({"1.35"}) | _WITH_LISTS
_BY_POOL_NAME = frozenset({"1.35", "1.36.2"})
_BEFORE_ROLLBACK = frozenset({"1.34", "1.35", "1.36.2"})
_BEFORE_1_36 = frozenset({"1.34", "1.35"})
_ONLY_1_34 = frozenset({"1.34"})


@dataclass(frozen=True, slots=True)
class Deviation:
    """One deviation.

    `source` is upstream's issue, or else the pull request that introduced or fixed it; `rule` is the rule with the
    intended behaviour, if there is one; `module` is the module of this package that reproduces it; `releases` have it;
    `place` is the position in upstream's code, for those without an issue.
    """

    id: str
    source: str
    module: str
    text: str
    rule: str = ""
    releases: frozenset[str] = _ALL
    place: str = ""


DEVIATIONS: tuple[Deviation, ...] = (
    Deviation(
        "exhaustive-search",
        "kubernetes/kubernetes#131730",
        "walk",
        "Every combination is tried, also where counting shows that none can work; the attempt may time out.",
        rule="DRA-136",
    ),
    Deviation(
        "all-with-constraint",
        "kubernetes/kubernetes#125488 (came with it; no issue)",
        "walk",
        "A constraint that forbids a device of an All request ends the whole attempt as soon as the walk meets it.",
        place="structured/internal/incubating/allocator_incubating.go allocateDevice (must)",
    ),
    Deviation(
        "all-passes-over-full-devices",
        "kubernetes/kubernetes#140769",
        "engine",
        "A request for all devices passes over shared devices with too little capacity left.",
        rule="DRA-155b",
        releases=_BEFORE_1_37,
    ),
    Deviation(
        "alternatives-before-devices",
        "kubernetes/kubernetes#128586 (came with it; the order was discussed there, no issue)",
        "walk",
        "A later request's next alternative is tried before an earlier request is given another device.",
        place="structured/internal/incubating/allocator_incubating.go allocateOne (loop over subrequests)",
    ),
    Deviation(
        "admin-pick-blocks-others",
        "kubernetes/kubernetes#131299 (came with it, for issue #131269)",
        "walk",
        "A device picked with admin access is in use for the rest of the attempt, and a share of one takes capacity.",
        rule="DRA-234b",
        place="structured/internal/incubating/allocator_incubating.go allocateDevice (allocatingDevices), deviceInUse",
    ),
    Deviation(
        "admin-access-consumes-counters",
        "kubernetes/kubernetes#140729",
        "walk",
        "Admin access to a partition needs room in its shared counters.",
        rule="DRA-237",
    ),
    Deviation(
        "admin-access-consumes-capacity",
        "kubernetes/kubernetes#132522 (came with it; no issue)",
        "walk",
        "Admin access to a shared device needs room in its capacity.",
        rule="DRA-237c",
        place="structured/internal/incubating/allocator_incubating.go allocateOne (CmpRequestOverCapacity)",
    ),
    Deviation(
        "shares-without-capacity",
        "kubernetes/kubernetes#140437",
        "walk",
        "A further share of a device without capacity takes the device's counters again.",
        rule="DRA-211",
        releases=_COUNTERS_OF_POOLS - _ONLY_1_37,
    ),
    Deviation(
        "negative-shares",
        "kubernetes/kubernetes#140442",
        "shares",
        "A negative request is given a share of which the device has more left for others.",
        rule="DRA-205c",
        releases=_BEFORE_1_37,
    ),
    Deviation(
        "ranges-in-64-bits",
        "kubernetes/kubernetes#140161",
        "shares",
        "A range with steps is computed in 64-bit integers: fractions are rounded up, and larger numbers wrap around.",
        rule="DRA-204b",
        releases=_BEFORE_1_37,
    ),
    Deviation(
        "unusable-capacity-ends-attempt",
        "kubernetes/kubernetes#140442 (came with its fix; no issue)",
        "shares",
        "A negative share, or one beyond 64 bits of a range with steps, ends the attempt; other devices are not tried.",
        releases=_ONLY_1_37,
        place="structured/internal/incubating/consumable_capacity.go CmpRequestOverCapacity",
    ),
    Deviation(
        "shares-do-not-block",
        "kubernetes/kubernetes#140798",
        "walk",
        "A device that no longer allows several allocations is given to a claim alone beside those who share it.",
        rule="DRA-201b",
    ),
    Deviation(
        "stable-ignores-newer-fields",
        "kubernetes/kubernetes#132522 (came with it; no issue)",
        "variants",
        "With the newer gates off, capacity requests are passed over instead of refused.",
        place="structured/internal/stable/allocator_stable.go",
    ),
    Deviation(
        "stable-hides-multiple-allocations",
        "kubernetes/kubernetes#132522 (came with it; no issue)",
        "variants",
        "With the newer gates off, allowMultipleAllocations is false for every selector.",
        place="structured/internal/stable/allocator_stable.go selectorsMatch",
    ),
    Deviation(
        "distinct-without-gate",
        "kubernetes/kubernetes#132522 (came with it; no issue)",
        "variants",
        "distinctAttribute is kept although the gate that brought it is off.",
        place="structured/internal/incubating/allocator_incubating.go Allocate",
    ),
    Deviation(
        "older-generation-survives",
        "kubernetes/kubernetes#135056 (says that it is no full solution; no issue)",
        "gather",
        "A generation whose slices for this node are as many as it has slices is used although a newer one exists.",
        rule="DRA-148",
        place="structured/internal/incubating/pools_incubating.go GatherPools (isComplete before checkSlicesInPool)",
    ),
    Deviation(
        "contradictory-slice-counts",
        "kubernetes/kubernetes#141117 (kept on purpose: #141118)",
        "gather",
        "Where slices of one generation name different counts, the first that the node meets is believed.",
        place="structured/internal/incubating/pools_incubating.go GatherPools (slicesForPool[0])",
    ),
    Deviation(
        "counters-concern-every-node",
        "kubernetes/kubernetes#134189 (came with it; that the attempt ends is #141829)",
        "gather",
        "A pool with shared counters concerns every node, so an unready one stops All requests everywhere.",
        releases=_COUNTERS_OF_POOLS,
        place="structured/internal/stable/pools_stable.go GatherPools (SharedCounters are always relevant)",
    ),
    Deviation(
        "selector-on-other-nodes-device",
        "kubernetes/kubernetes#130764 (came with it; no issue)",
        "selecting",
        "Selectors are asked about devices of other nodes, and their failure there ends the attempt.",
        place="structured/internal/incubating/allocator_incubating.go isSelectable (selectors before NodeMatches)",
    ),
    Deviation(
        "first-of-constraint-unchecked",
        "kubernetes/kubernetes#137190 (came with it; no issue)",
        "trackers",
        "With list attributes off, the first device under a constraint may have a list.",
        rule="DRA-169",
        releases=_WITH_LISTS,
        place="structured/internal/incubating/allocator_incubating.go matchAttributeConstraint.add, constraint.go add",
    ),
    Deviation(
        "distinct-forgets",
        "kubernetes/kubernetes#140438",
        "trackers",
        "distinctAttribute keeps one value a request: a third device may repeat the first.",
        rule="DRA-174",
        releases=_BEFORE_1_37,
    ),
    Deviation(
        "list-intersection-not-restored",
        "kubernetes/kubernetes#140300",
        "trackers",
        "After going back, matchAttribute over lists stays as narrow as the devices made it that were given up.",
        rule="DRA-176",
        releases=_ONLY_1_36,
    ),
    Deviation(
        "overcommitted-counters",
        "kubernetes/kubernetes#131659 (came with it; no issue, how counters come to be overcommitted is #140802)",
        "ledger",
        "Once any counter of a pool is overcommitted, no device with counters of the pool can be had.",
        place="structured/internal/incubating/allocator_incubating.go checkAvailableCounters",
    ),
    Deviation(
        "counters-by-pool-name",
        "kubernetes/kubernetes#140434",
        "ledger",
        "Pools of two drivers that have one name share one account of counters.",
        rule="DRA-195",
        releases=_BY_POOL_NAME,
    ),
    Deviation(
        "rejected-keeps-counters",
        "kubernetes/kubernetes#140436",
        "ledger",
        "A device that is refused for a taint or a constraint stays charged, and so does a share that is given up.",
        rule="DRA-196",
        releases=_BEFORE_ROLLBACK,
    ),
    Deviation(
        "repeated-claim-config",
        "kubernetes/kubernetes#139732",
        "configs",
        "Configuration of a claim that names several requests is in the allocation once for each.",
        rule="DRA-180",
        releases=_BEFORE_1_37,
    ),
    Deviation(
        "class-config-lists-all",
        "kubernetes/kubernetes#139731",
        "configs",
        "Configuration of a class that all requests use lists them all instead of none.",
        releases=_BEFORE_1_37,
    ),
    Deviation(
        "every-order-tried",
        "kubernetes/kubernetes#131730",
        "walk",
        "The devices of one request are tried in every order, not only in every combination.",
        releases=_BEFORE_1_36,
    ),
    Deviation(
        "second-alternative-read-as-first",
        "kubernetes/kubernetes#137347 (fixed it; no issue)",
        "walk",
        "Of an alternative with All but the first, devices after the first are wanted as the first alternative's.",
        rule="DRA-182",
        releases=_BEFORE_1_36,
        place="structured/internal/experimental/allocator_experimental.go allocateOne (subRequestIndex)",
    ),
    Deviation(
        "selectors-of-earlier-alternative",
        "kubernetes/kubernetes#137347 (fixed it; no issue)",
        "engine",
        "What All means in an alternative is looked up under the alternative before it, with that one's selectors.",
        rule="DRA-182",
        releases=_BEFORE_1_36,
        place="structured/internal/experimental/allocator_experimental.go Allocate (subRequestIndex)",
    ),
    Deviation(
        "shares-free-counters",
        "kubernetes/kubernetes#139034",
        "ledger",
        "A device of which earlier claims have shares takes nothing from its shared counters.",
        releases=_BEFORE_1_36,
    ),
    Deviation(
        "pools-in-any-order",
        "kubernetes/kubernetes#136641 (fixed it; no issue)",
        "gather",
        "Pools are tried in an order that is chance, slices in the order in which they are known.",
        rule="DRA-151",
        releases=_BEFORE_1_36,
        place="structured/internal/experimental/pools_experimental.go GatherPools (map iteration)",
    ),
    Deviation(
        "incomplete-pools-are-used",
        "kubernetes/kubernetes#134189 (fixed it; no issue)",
        "gather",
        "Devices of an incomplete pool are given to requests for a count.",
        rule="DRA-146",
        releases=_ONLY_1_34,
        place="structured/internal/experimental/allocator_experimental.go allocateOne (IsIncomplete)",
    ),
    Deviation(
        "slices-of-other-nodes-are-missed",
        "kubernetes/kubernetes#134466 (fixed it, again in #135056)",
        "gather",
        "A pool with slices for several nodes is incomplete on each of them.",
        rule="DRA-146",
        releases=_ONLY_1_34,
        place="structured/internal/experimental/pools_experimental.go GatherPools (IsIncomplete)",
    ),
    Deviation(
        "invalid-pool-ends-attempt",
        "kubernetes/kubernetes#134189 (fixed it; no issue)",
        "walk",
        "A pool that lists a device twice ends the attempt as soon as the walk meets it.",
        rule="DRA-149",
        releases=_ONLY_1_34,
        place="structured/internal/experimental/allocator_experimental.go allocateOne (IsInvalid)",
    ),
    Deviation(
        "counters-of-one-slice",
        "kubernetes/kubernetes#134189 (fixed it; no issue)",
        "ledger",
        "Counters are those of one slice: devices of the pool's other slices do not take from them.",
        rule="DRA-193",
        releases=_ONLY_1_34,
        place="structured/internal/experimental/allocator_experimental.go checkAvailableCounters",
    ),
    Deviation(
        "every-share-takes-counters",
        "kubernetes/kubernetes#134100",
        "walk",
        "Every share of a device takes the device's counters again.",
        releases=_ONLY_1_34,
        place="structured/internal/experimental/allocator_experimental.go allocateDevice",
    ),
    Deviation(
        "every-taint-keeps-off",
        "kubernetes/kubernetes#134152 (fixed it; no issue)",
        "walk",
        "A taint with an effect that is not known keeps claims from its device too.",
        releases=_ONLY_1_34,
        place="structured/internal/experimental/allocator_experimental.go allTaintsTolerated",
    ),
    Deviation(
        "distinct-compares-places",
        "kubernetes/kubernetes#135022 (fixed it; no issue)",
        "trackers",
        "distinctAttribute compares where values are kept, so that only shares of one device have the same.",
        rule="DRA-174",
        releases=_ONLY_1_34,
        place="structured/internal/experimental/constraint.go matchesAttribute (compares pointers)",
    ),
    Deviation(
        "capacity-of-another-device",
        "kubernetes/kubernetes#133705",
        "walk",
        "For the n-th device of a request, the capacity of the slice's n-th is compared; or kube-scheduler panics.",
        releases=_ONLY_1_34,
        place="structured/internal/experimental/allocator_experimental.go allocateDevice (r.deviceIndex)",
    ),
    Deviation(
        "tolerations-not-recorded",
        "kubernetes/kubernetes#134434",
        "engine",
        "An allocation does not repeat the tolerations of its requests, so that NoExecute evicts all the same.",
        releases=_ONLY_1_34,
    ),
)


RELEASES = tuple(sorted({name for one in DEVIATIONS for name in one.releases}))


class UnknownRelease(ValueError):
    """A release whose deviations are not known."""


@dataclass(frozen=True, slots=True)
class Release:
    """One release and the ids of its deviations."""

    name: str
    deviations: frozenset[str]

    @property
    def minor(self) -> int:
        """Return the minor release: 35 of `1.35`."""
        return int(self.name.split(".")[1])

    def has(self, deviation: str) -> bool:
        """Return whether the release has a deviation."""
        return deviation in self.deviations


def release(name: str) -> Release:
    """Return the deviations of a minor release (those of its newest patch that was compared, see Source), or of 1.36.2.

    Raises UnknownRelease.
    """
    found = frozenset(one.id for one in DEVIATIONS if name in one.releases)
    if not found:
        raise UnknownRelease(f"bug-compatible={name}: only the deviations of {', '.join(RELEASES)} are known")
    return Release(name, found)
