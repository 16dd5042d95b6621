"""Karpenter's allocator as a third answer to the same cases: which nodes it gets wrong, and why.

Karpenter decides with it whether a pod fits on a node that runs or that it would start. A wrong yes is a node that does
not help, a wrong no a pod that waits for ever. It has no feature gates and the API of 1.35, so every case has all
features of that release. The allocation checker judges its choice of devices. Karpenter only simulates, so what a
scheduler merely copies into the result is filled in here.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dra_api.objects import Obj
from dra_conformance.oracle import Case, check, read_claim
from reference_impl.scheduler.bug_compatible import release
from verification.differential import generate, older, reference, validity
from verification.differential.rng import Dice
from verification.differential.upstream import Upstream

PROGRAM = Path(__file__).resolve().parent.parent / "bin" / "dra-karpenter-allocator"
RELEASE = "1.35"
"""The release of the Kubernetes API that Karpenter is built with."""
_QUESTION = ("nodes", "slices", "classes", "claims", "taken")
# Karpenter does not produce these.
_LEFT_OUT = ("status.allocation.nodeSelector", "status.allocation.devices.config")


@dataclass(frozen=True, slots=True)
class Difference:
    """Node number `at` of a case, on which Karpenter's answer is wrong.

    `kind` is `too-many` (an allocation where none is possible), `too-few` (none where one is possible), `invalid` or
    `panic`; `message` is the reference's reason, Karpenter's, the checker's or that of the panic.
    """

    case: Obj
    at: int
    answer: Obj
    kind: str
    message: str

    def __str__(self) -> str:
        return f"node {self.answer['node']}: {self.kind}: {self.message or 'no reason given'}"


@dataclass(frozen=True, slots=True)
class Result:
    """Counts of nodes by Karpenter's outcome, and the differences."""

    nodes: Counter[str]
    differences: Sequence[Difference]


def compare(program: Upstream, numbers: Iterable[int], seed: str) -> Result:
    """Compare the generated cases with these numbers; each depends on the seed and its number only."""
    nodes: Counter[str] = Counter()
    found: list[Difference] = []
    for number in numbers:
        case = generate.case(Dice(f"{seed}/{number}"))
        case["features"] = dict.fromkeys(case["features"], True)
        case = older.as_stored(case, release(RELEASE))
        answers = program.call({key: case[key] for key in _QUESTION})["nodes"]
        nodes.update(answer["outcome"] for answer in answers)
        found += differences(case, answers)
    return Result(nodes, found)


def differences(case: Obj, answers: Sequence[Obj]) -> Iterator[Difference]:
    """Yield the wrong ones among Karpenter's answers to a case."""
    for at, (ours, answer) in enumerate(zip(reference.allocate(case), answers, strict=True)):
        outcome, message = answer["outcome"], answer.get("message", "")
        if outcome == "panic":
            yield Difference(case, at, answer, "panic", message)
        elif ours.outcome == "timeout":
            continue
        elif outcome != "allocated" and ours.outcome == "allocated":
            yield Difference(case, at, answer, "too-few", message)
        elif outcome == "allocated" and ours.outcome != "allocated":
            yield Difference(case, at, answer, "too-many", ours.message)
        elif outcome == "allocated" and (wrong := _violation(case, answer)):
            yield Difference(case, at, answer, "invalid", wrong)


def _violation(case: Obj, answer: Obj) -> str:
    claims = []
    for claim, picks in zip(case["claims"], answer["devices"], strict=True):
        results = _results(case, claim, picks)
        if results is None:
            return ""
        status = {"allocation": {"devices": {"results": results}}}
        claims.append(
            read_claim({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", **claim, "status": status})
        )
    cluster = validity.cluster_of(case).with_claims(claims)
    for one in claims:
        for violation in check(Case(cluster, one, validity.settings_of(case))).violations:
            if not violation.path.startswith(_LEFT_OUT):
                return f"{violation.rule}: {violation.message} ({violation.path})"
    return ""


def _results(case: Obj, claim: Obj, picks: Sequence[Obj]) -> list[Obj] | None:
    """Return results with the names of their requests, or None if they cannot be told.

    Picks are in the order of the requests; the number of one request for all devices may be unknown.
    """
    requests = [(r["name"], r["exactly"]) for r in claim["spec"]["devices"].get("requests") or () if "exactly" in r]
    wanted = [0 if one.get("allocationMode") == "All" else int(one.get("count") or 1) for _, one in requests]
    if wanted.count(0) > 1:
        return None
    published = {
        (slice_["spec"]["driver"], slice_["spec"]["pool"]["name"], device["name"]): device
        for slice_ in case["slices"]
        for device in slice_["spec"].get("devices") or ()
    }
    results: list[Obj] = []
    for (name, one), number in zip(requests, wanted, strict=True):
        for pick in picks[len(results) : len(results) + (number or len(picks) - sum(wanted))]:
            device = published[pick["driver"], pick["pool"], pick["device"]]
            result = {"request": name, **pick}
            result |= {field: one[field] for field in ("adminAccess", "tolerations") if field in one}
            result |= {f: device[f] for f in ("bindingConditions", "bindingFailureConditions") if f in device}
            if device.get("allowMultipleAllocations"):
                result["shareID"] = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{claim['metadata']['name']}/{len(results)}"))
            results.append(result)
    return results
