"""Somebody who is faster: what happens to a claim or a pod while the binder is about to write the claim."""

from __future__ import annotations

from dra_api.objects import PODS, uid_of
from dra_conformance.engine.vocabulary import given, then
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps import faults
from dra_conformance.steps.claim_holders import reserve
from dra_conformance.steps.claims import pod_consumer
from dra_conformance.steps.pods import pod_object


@given('pod "{pod}" gets into claim "{claim}" while the binder writes it')
def _(world: World, pod: str, claim: str) -> None:
    """Refuse the binder's next status update with a conflict that is real: somebody else was first."""
    rival = pod_consumer(world, pod)

    faults.before_status_update(world, claim=claim, act=lambda: reserve(world, claim, [rival]))


@given('pod "{pod}" is replaced by another of its name while the binder writes claim "{claim}"')
def _(world: World, pod: str, claim: str) -> None:
    """Once the binder writes the claim: delete the pod at once and create it again, with the same name."""
    former = world.get(PODS, pod)
    world.memory[f"former/{pod}"] = uid_of(former)

    def replace() -> None:
        world.client.delete(PODS, pod, world.namespace, grace_period_seconds=0)
        claims = former["spec"]["resourceClaims"]
        world.client.create(PODS, pod_object(world, pod, claims, scheduler=former["spec"]["schedulerName"]))

    faults.before_status_update(world, claim=claim, act=replace)


@then('the API server has replaced pod "{pod}"')
def _(world: World, pod: str) -> None:
    """There is a pod of this name with another uid than before."""

    def look() -> Seen:
        uid = uid_of(world.seen(PODS, pod) or {})
        return uid not in ("", world.memory[f"former/{pod}"]), uid or "no such pod"

    world.eventually(f"pod {pod} is another one", look, expected="another uid")
