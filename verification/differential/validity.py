"""The allocation checker's verdict on an outcome: the allocation is valid, or none exists if none was found.

The checker has its own rules and search, so it decides which side is wrong. It shares CEL, quantities and versions with
the reference (see `dra_conformance.oracle`).
"""

from __future__ import annotations

from dra_api.objects import Obj
from dra_conformance.oracle import Case, Cluster, Settings, check, could_all_be_allocated, read_claim
from verification.differential.reference import Fact, gates_off

# The number of picks that the checker may try before its answer is unknown.
BUDGET = 2_000
_V1 = "resource.k8s.io/v1"


def settings_of(case: Obj) -> Settings:
    """Return the case's features as gates of release 1.37."""
    return Settings(release=37, gates_off=gates_off(case))


def cluster_of(case: Obj) -> Cluster:
    """The case's cluster; each result in use belongs to a claim of its own."""
    objects = [{"apiVersion": "v1", "kind": "Node", **obj} for obj in case["nodes"]]
    objects += [{"apiVersion": _V1, "kind": "ResourceSlice", **obj} for obj in case["slices"]]
    objects += [{"apiVersion": _V1, "kind": "DeviceClass", **obj} for obj in case["classes"]]
    for number, result in enumerate(case["taken"]):
        name = f"taken-{number}"
        owner = _claim({"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": {"devices": {}}})
        owner["status"] = {"allocation": {"devices": {"results": [result]}}}
        objects.append(owner)
    return Cluster.of(objects)


def problem(case: Obj, fact: Fact) -> str:
    """Return what is wrong with one side's outcome on one node, or an empty string."""
    if fact.outcome == "allocated":
        return _violation(case, fact)
    return _overlooked(case, fact) if fact.outcome == "unallocatable" else ""


def _violation(case: Obj, fact: Fact) -> str:
    claims = [
        read_claim({**_claim(obj), "status": {"allocation": allocation}})
        for obj, allocation in zip(case["claims"], fact.allocations, strict=True)
    ]
    cluster = cluster_of(case).with_claims(claims)
    for claim in claims:
        for violation in check(Case(cluster, claim, settings_of(case))).violations:
            return f"{violation.rule}: {violation.message} ({violation.path})"
    return ""


def _overlooked(case: Obj, fact: Fact) -> str:
    claims = [read_claim(_claim(obj)) for obj in case["claims"]]
    answer = could_all_be_allocated(cluster_of(case), claims, settings=settings_of(case), node=fact.node, budget=BUDGET)
    if answer.verdict != "yes":
        return ""
    picks = ", ".join(f"{pick.request}={'/'.join(pick.device)}" for pick in answer.witness)
    return f"overlooked: {picks} would do"


def _claim(obj: Obj) -> Obj:
    return {"apiVersion": _V1, "kind": "ResourceClaim", **obj}
