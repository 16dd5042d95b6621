"""The judge of outcomes: what keeps a bound pod from using its claim."""

from __future__ import annotations

from typing import Any

import pytest

from dra_api.objects import NODES, PODS, RESOURCE_CLAIMS, Resource
from dra_conformance.steps.outcomes import look_devices_held

Obj = dict[str, Any]


class World:
    """The objects that a scenario has seen."""

    def __init__(self, claim: Obj | None) -> None:
        spec = {"nodeName": "n1", "resourceClaims": [{"name": "gpu", "resourceClaimName": "mine"}]}
        self._objects: dict[tuple[str, str], Obj] = {
            (PODS.plural, "train"): {"metadata": {"name": "train", "uid": "new"}, "spec": spec},
            (NODES.plural, "n1"): {"metadata": {"name": "n1", "labels": {"zone": "a"}}},
        }
        if claim is not None:
            self._objects[(RESOURCE_CLAIMS.plural, "mine")] = claim

    def seen(self, resource: Resource, name: str) -> Obj | None:
        return self._objects.get((resource.plural, name))

    def all_seen(self, resource: Resource) -> list[Obj]:
        return [obj for (plural, _), obj in self._objects.items() if plural == resource.plural]


def claim(*, node: str = "n1", zone: str = "", uid: str = "new", **metadata: str) -> Obj:
    fields: Obj = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    if zone:
        fields = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
    results = [{"request": "gpu", "driver": "d", "pool": "p", "device": "dev-0"}]
    allocation = {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [fields]}}
    users = [{"resource": "pods", "name": "train", "uid": uid}]
    return {"metadata": {"name": "mine", **metadata}, "status": {"allocation": allocation, "reservedFor": users}}


@pytest.mark.parametrize(
    ("stored", "problem"),
    [
        (claim(), ""),
        (claim(zone="a"), ""),
        (claim(zone="b"), "other nodes than n1"),
        (claim(node="n2"), "other nodes than n1"),
        (claim(uid="former"), "not reserved for uid new"),
        (claim(deletionTimestamp="2026-01-01T00:00:00Z"), "is being deleted"),
        ({"metadata": {"name": "mine"}}, "not allocated"),
        (None, "no such claim"),
    ],
)
def test_a_bound_pod_needs_its_own_claim_on_its_own_node(stored: Obj | None, problem: str) -> None:
    held, seen = look_devices_held(World(stored))  # type: ignore[arg-type]
    assert held is not bool(problem)
    assert problem in str(seen)
