"""Compare two answers to one case: the outcome of every node must agree, and each side's allocation must be valid.

The choice of devices does not matter. The allocation checker, which has its own rules, decides about validity.
"""

from __future__ import annotations

from dataclasses import dataclass

from dra_api.objects import Obj
from dra_api.quantity import Quantity
from reference_impl.scheduler.bug_compatible import Release
from verification.differential import older, reference, validity
from verification.differential.reference import Fact
from verification.differential.upstream import Upstream

TIMEOUT_MS = 3000
# The kind of a disagreement if two searches in the same order found different devices.
OTHER_PICKS = "other devices or configuration"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One node on which the outcomes differ, or on which a side's allocation is invalid (`wrong`)."""

    node: str
    upstream: Fact
    reference: Fact
    wrong: str = ""

    @property
    def kind(self) -> tuple[str, str, str]:
        """The property that stays the same while a case is reduced."""
        return self.upstream.outcome, self.reference.outcome, self.wrong.partition(":")[0]

    def __str__(self) -> str:
        both = f"upstream: {show(self.upstream)}; reference: {show(self.reference)}"
        return f"node {self.node}: {both}" + (f"; {self.wrong}" if self.wrong else "")


def show(fact: Fact) -> str:
    """An outcome in a few words."""
    if fact.allocations:
        devices = [
            f"{result['request']}={result['driver']}/{result['pool']}/{result['device']}"
            for allocation in fact.allocations
            for result in allocation["devices"].get("results") or ()
        ]
        return f"{fact.outcome} {', '.join(devices)}"
    return f"{fact.outcome} ({fact.message})" if fact.message else fact.outcome


def picks(fact: Fact) -> list[Obj]:
    """Return the devices of each claim in a comparable form, without the random ids of shares."""
    return [
        {
            "results": [
                {
                    "consumed": {
                        name: Quantity.parse(value) for name, value in (result.get("consumedCapacity") or {}).items()
                    },
                    "is share": "shareID" in result,
                    **{key: result.get(key) for key in ("request", "driver", "pool", "device", "adminAccess")},
                }
                for result in allocation["devices"].get("results") or ()
            ],
            "config": allocation["devices"].get("config") or [],
            "nodeSelector": allocation.get("nodeSelector"),
        }
        for allocation in fact.allocations
    ]


def answers(upstream: Upstream, case: Obj, release: Release | None = None) -> tuple[list[Fact], list[Fact]]:
    """Upstream's and the reference's facts, node by node."""
    if release is not None:
        case = older.as_stored(case, release)
    reply = upstream.call({"timeoutMs": TIMEOUT_MS, **case})
    theirs = [
        Fact(fact["node"], fact["outcome"], fact.get("message", ""), tuple(fact.get("allocations") or ()))
        for fact in reply["nodes"]
    ]
    return theirs, reference.allocate(case, release)


def disagreements(
    upstream: Upstream, case: Obj, release: Release | None = None
) -> tuple[list[Fact], list[Disagreement]]:
    """Return the outcomes of the reference, and a disagreement for every node with a difference.

    With `release` the reference has the deviations of that release. Validity then proves nothing, but both sides
    search in the same order, so that even devices and configuration must be equal.
    """
    theirs, ours = answers(upstream, case, release)
    found: list[Disagreement] = []
    if release is not None:
        for their, our in zip(theirs, ours, strict=True):
            if their.outcome != our.outcome:
                found.append(Disagreement(their.node, their, our))
            elif picks(their) != picks(our):
                found.append(Disagreement(their.node, their, our, OTHER_PICKS))
        return ours, found
    for their, our in zip(theirs, ours, strict=True):
        if their.outcome != our.outcome:
            found.append(Disagreement(their.node, their, our))
        for side, fact in (("upstream", their), ("reference", our)):
            if reason := validity.problem(case, fact):
                found.append(Disagreement(their.node, their, our, f"{side} is invalid: {reason}"))
    return ours, found
