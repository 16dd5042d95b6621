"""The pods of claims whose devices a scenario allocates by hand.

A kubelet calls a driver only for claims that are reserved for the pod (rule DRA-274), and a driver may look at
`reservedFor`. Scenarios that call drivers without pods therefore reserve each claim for a pod that is never bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dra_api.objects import Obj, uid_of
from dra_conformance.engine.world import World
from dra_conformance.steps.claims import allocate_by_hand
from dra_conformance.steps.pods import BY_HAND, add_pod, by_name, pod_object


@dataclass(slots=True)
class ClaimUsers:
    """The pods that were created for claims, by the name of the claim."""

    pods: dict[str, Obj] = field(default_factory=dict)


def user_of(world: World, claim: str) -> Obj:
    """Return the pod that uses a claim in name only; the first call creates it."""
    pods = world.state(ClaimUsers).pods
    if claim not in pods:
        # Nothing binds it, so no kubelet prepares the claim beside the scenario.
        pods[claim] = add_pod(world, pod_object(world, f"user-of-{claim}", [by_name(claim)], scheduler=BY_HAND))
    return pods[claim]


def allocate_in_use(world: World, claim: str, node: str, results: list[Obj], config: list[Obj] | None = None) -> Obj:
    """Write an allocation to a claim, and reserve the claim for its pod, in place of scheduler and binder."""
    return allocate_by_hand(world, claim, node, results, pods=[user_of(world, claim)], config=config)


def without_users(world: World, reserved: list[Obj]) -> list[Obj]:
    """Return the entries of `reservedFor` that are not for such a pod."""
    uids = {uid_of(pod) for pod in world.state(ClaimUsers).pods.values()}
    return [entry for entry in reserved if entry.get("uid") not in uids]
