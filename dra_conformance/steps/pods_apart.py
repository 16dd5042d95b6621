"""Pods that are not simply scheduled: gated, held in deletion, another scheduler's, in another namespace."""

from __future__ import annotations

from dra_api.objects import PODS, Obj
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.pods import by_name, pod_object, scheduler_of


@given('a pod "{pod}" of scheduler "{scheduler}" without claims')
def _(world: World, pod: str, scheduler: str) -> None:
    """A pod that names a scheduler."""
    world.create(pod_object(world, pod, [], scheduler=scheduler))


@given('a pod "{pod}" with a scheduling gate using claim "{claim}"')
def _(world: World, pod: str, claim: str) -> None:
    """A pod that is not to be scheduled yet."""
    obj = pod_object(world, pod, [by_name(claim)], scheduler=scheduler_of(world))
    obj["spec"]["schedulingGates"] = [{"name": "dra-conformance/wait"}]
    world.create(obj)


@when('the scheduling gates of pod "{pod}" are removed')
def _(world: World, pod: str) -> None:
    """Let the pod be scheduled."""

    def change(obj: Obj) -> None:
        obj["spec"].pop("schedulingGates", None)

    world.update(PODS, pod, change)


@given('pod "{pod}" has a finalizer')
def _(world: World, pod: str) -> None:
    """Hold the pod in deletion until the scenario ends."""
    world.cleanup.callback(_let_go, world, pod)

    def change(obj: Obj) -> None:
        obj["metadata"]["finalizers"] = ["dra-conformance/hold"]

    world.update(PODS, pod, change)


def _let_go(world: World, pod: str) -> None:
    if world.client.find(PODS, pod, world.namespace) is not None:
        world.client.patch(PODS, pod, {"metadata": {"finalizers": None}}, world.namespace)


@given('a pod "{pod}" without claims in a namespace of its own')
def _(world: World, pod: str) -> None:
    """A pod outside the scenario's namespace."""
    other = f"{world.namespace}-other"
    metadata: Obj = {"name": other, "labels": {"dra-conformance/run": world.run.run_id}}
    world.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    obj = pod_object(world, pod, [], scheduler=scheduler_of(world))
    obj["metadata"]["namespace"] = other
    world.create(obj)
    world.cleanup.callback(world.client.delete, PODS, pod, other, grace_period_seconds=0)


@then('the pod "{pod}" of the other namespace stays unbound')
def _(world: World, pod: str) -> None:
    """Nobody binds it."""

    def look() -> Seen:
        seen = world.observer.get(PODS, pod, f"{world.namespace}-other")
        where = ((seen or {}).get("spec") or {}).get("nodeName")
        return seen is not None and not where, where or ("not bound" if seen else "no such pod")

    world.stays(f"pod {pod} of the other namespace is not bound", look, expected="not bound")
