"""Pods: with claims by name or from templates, bound by a scheduler or by hand, and what becomes of them."""

from __future__ import annotations

from typing import Any

from dra_api.objects import EVENTS, PODS, Obj
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World

# Pods with this scheduler's name are scheduled by nobody: the scenario does it by hand.
BY_HAND = "dra-conformance-by-hand"


def pod_object(
    world: World, name: str, claims: list[Obj], *, scheduler: str = "", containers: list[Obj] | None = None
) -> Obj:
    """A pod whose containers use all of its claims."""
    spec: Obj = {
        "containers": containers
        or [
            {
                "name": "main",
                "image": "registry.k8s.io/pause:3.10",
                "resources": {"claims": [{"name": claim["name"]} for claim in claims]},
            }
        ],
        "resourceClaims": claims,
        "terminationGracePeriodSeconds": 0,
    }
    if scheduler:
        spec["schedulerName"] = scheduler
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": world.namespace, **_for_kai(scheduler)},
        "spec": spec,
    }


def _for_kai(scheduler: str) -> Obj:
    """Labels without which KAI's podgrouper puts a pod into no queue (KAI docs/queues)."""
    return {"labels": {"kai.scheduler/queue": "default-queue"}} if scheduler == "kai-scheduler" else {}


def by_name(claim: str) -> Obj:
    """A pod's reference to an existing claim, under the claim's own name."""
    return {"name": claim, "resourceClaimName": claim}


def by_template(name: str, template: str) -> Obj:
    """A pod's reference to a template."""
    return {"name": name, "resourceClaimTemplateName": template}


def scheduler_of(world: World) -> str:
    """The schedulerName of pods that the scheduler under test shall take; nobody's when the scenario has none."""
    if "scheduler" not in world.scenario.tags.components:
        return BY_HAND
    return "kai-scheduler" if "kai" in world.scenario.tags.needs else ""


def look_bound(world: World, pod: str) -> Seen:
    """Whether a pod is bound, and where."""
    seen = world.seen(PODS, pod)
    node = ((seen or {}).get("spec") or {}).get("nodeName")
    return bool(node), node or ("not bound" if seen else "no such pod")


def condition(pod: Obj | None, kind: str) -> Obj:
    """A condition of a pod; empty where it has none of this type."""
    for found in ((pod or {}).get("status") or {}).get("conditions") or ():
        if found.get("type") == kind:
            return dict(found)
    return {}


@given('a pod "{pod}" using claim "{claim}"')
def _(world: World, pod: str, claim: str) -> None:
    """A pod that names an existing claim."""
    world.create(pod_object(world, pod, [by_name(claim)], scheduler=scheduler_of(world)))


@when('a pod "{pod}" using claim "{claim}" is created')
def _(world: World, pod: str, claim: str) -> None:
    """The same, as what happens in the scenario."""
    world.create(pod_object(world, pod, [by_name(claim)], scheduler=scheduler_of(world)))


@given('a pod "{pod}" using claims "{claims}"')
def _(world: World, pod: str, claims: str) -> None:
    """A pod that names several claims, comma-separated."""
    names = words(claims)
    world.create(pod_object(world, pod, [by_name(name) for name in names], scheduler=scheduler_of(world)))


@given('a pod "{pod}" using template "{template}"')
def _(world: World, pod: str, template: str) -> None:
    """A pod with a claim from a template, under the name `gpu`."""
    world.create(pod_object(world, pod, [by_template("gpu", template)], scheduler=scheduler_of(world)))


@when('a pod "{pod}" using template "{template}" is created')
def _(world: World, pod: str, template: str) -> None:
    """The same, as what happens in the scenario."""
    world.create(pod_object(world, pod, [by_template("gpu", template)], scheduler=scheduler_of(world)))


@when('pods "{prefix}" 1 to {count:d} each using template "{template}" are created')
def _(world: World, prefix: str, count: int, template: str) -> None:
    """Pods prefix-1 …, each with a claim of its own from the template, under the name `gpu`."""
    for number in range(1, count + 1):
        pod = pod_object(world, f"{prefix}-{number}", [by_template("gpu", template)], scheduler=scheduler_of(world))
        world.create(pod)


@given('a pod "{pod}" without claims')
@when('a pod "{pod}" without claims is created')
def _(world: World, pod: str) -> None:
    """A pod that needs no devices."""
    world.create(pod_object(world, pod, [], scheduler=scheduler_of(world)))


@given('pod "{pod}" is bound by hand to "{node}"')
def _(world: World, pod: str, node: str) -> None:
    """Bind a pod through pods/binding, in the place of scheduler and binder."""
    world.client.bind(world.get(PODS, pod), world.name(node))


@when('pod "{pod}" is bound by hand to "{node}"')
def _(world: World, pod: str, node: str) -> None:
    """The same, as what happens in the scenario."""
    world.client.bind(world.get(PODS, pod), world.name(node))


@when('pod "{pod}" is deleted')
def _(world: World, pod: str) -> None:
    """Delete a pod in good order."""
    world.client.delete(PODS, pod, world.namespace)


@when('pod "{pod}" is force-deleted')
def _(world: World, pod: str) -> None:
    """Delete a pod with a grace period of 0, which takes it from the API server at once; everybody hears of it."""
    world.client.delete(PODS, pod, world.namespace, grace_period_seconds=0)
    world.settle()


@when('pod "{pod}" ends as {phase:word}')
def _(world: World, pod: str, phase: str) -> None:
    """Write a terminal phase (Succeeded or Failed) into the status of a pod, in the place of a kubelet."""

    def change(obj: Obj) -> None:
        obj.setdefault("status", {})["phase"] = phase

    world.update(PODS, pod, change, subresource="status")


@then('pod "{pod}" is bound to "{node}"')
def _(world: World, pod: str, node: str) -> None:
    """The pod comes to be bound to this node."""

    def look() -> Seen:
        bound, where = look_bound(world, pod)
        return bound and where == world.name(node), where

    world.eventually(f"pod {pod} is bound", look, expected=world.name(node))


@then('pod "{pod}" is bound')
def _(world: World, pod: str) -> None:
    """The pod comes to be bound to some node."""
    world.eventually(f"pod {pod} is bound", lambda: look_bound(world, pod), expected="a node")


@then('pod "{pod}" stays unbound')
def _(world: World, pod: str) -> None:
    """The pod is on no node, also after everything has come to rest."""

    def look() -> Seen:
        bound, where = look_bound(world, pod)
        return not bound, where

    world.stays(f"pod {pod} is not bound", look, expected="not bound")


@then('pod "{pod}" comes to phase {phase:word}')
def _(world: World, pod: str, phase: str) -> None:
    """The pod comes to this phase."""

    def look() -> Seen:
        seen = ((world.seen(PODS, pod) or {}).get("status") or {}).get("phase")
        return seen == phase, seen

    world.eventually(f"pod {pod} is {phase}", look, expected=phase)


@then('pod "{pod}" has condition {kind:word} {status:word} with reason "{reason}"')
def _(world: World, pod: str, kind: str, status: str, reason: str) -> None:
    """A condition of the pod comes to this status and reason."""

    def look() -> Seen:
        found = condition(world.seen(PODS, pod), kind)
        return found.get("status") == status and found.get("reason") == reason, found or "no such condition"

    world.eventually(f"condition {kind} of {pod}", look, expected={"status": status, "reason": reason})


@then('the condition {kind:word} of pod "{pod}" says "{text}"')
def _(world: World, kind: str, pod: str, text: str) -> None:
    """The message of a condition of the pod comes to hold this text."""
    wanted = world.text(text)

    def look() -> Seen:
        message = condition(world.seen(PODS, pod), kind).get("message") or ""
        return wanted in message, message or "no message"

    world.eventually(f"message of condition {kind} of {pod}", look, expected=f"a message with {wanted!r}")


def events_about(world: World, kind: str, name: str) -> list[dict[str, Any]]:
    """Events whose object is this one."""
    return [
        event
        for event in world.all_seen(EVENTS)
        if (event.get("involvedObject") or event.get("regarding") or {}).get("kind") == kind
        and (event.get("involvedObject") or event.get("regarding") or {}).get("name") == name
    ]


@when('the event "{reason}" of pod "{pod}" had the time to be told again')
def _(world: World, reason: str, pod: str) -> None:
    """Wait until the event was counted up or recorded anew, a second at most: to tell it once is right as well."""

    def look() -> bool:
        told = [event for event in events_about(world, "Pod", pod) if event.get("reason") == reason]
        return sum(int(event.get("count") or 1) for event in told) > 1

    world.log.wait_for(look, 1.0)


@then('pod "{pod}" gets a {kind:word} event "{reason}"')
def _(world: World, pod: str, kind: str, reason: str) -> None:
    """An event (Normal or Warning) with this reason comes to be recorded for the pod."""

    def look() -> Seen:
        seen = [(event.get("type"), event.get("reason")) for event in events_about(world, "Pod", pod)]
        return (kind, reason) in seen, seen or "no event"

    world.eventually(f"event {reason} for {pod}", look, expected=f"{kind} {reason}")


@then('pod "{pod}" is being deleted or gone')
def _(world: World, pod: str) -> None:
    """The pod comes to be deleted."""

    def look() -> Seen:
        seen = world.seen(PODS, pod)
        return seen is None or "deletionTimestamp" in seen["metadata"], "there" if seen else "gone"

    world.eventually(f"pod {pod} is deleted", look, expected="deleted")
