"""Pods that use claims of a scripted driver, bound by hand to a node whose kubelet is under test."""

from __future__ import annotations

from dra_api.objects import PODS, Obj
from dra_conformance.engine.vocabulary import given, then, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claim_holders import reserve
from dra_conformance.steps.claims import pod_consumer
from dra_conformance.steps.pods import BY_HAND, by_name, events_about, pod_object


@given('a pod "{pod}" with the reserved claims "{claims}"')
def _(world: World, pod: str, claims: str) -> None:
    """A pod whose only container uses these claims, which are reserved for it."""
    _pod(world, pod, words(claims), None)


@given('a pod "{pod}" with the reserved claim "{claim}" and the containers:')
def _(world: World, pod: str, claim: str, datatable: list[list[str]]) -> None:
    """A pod with the containers of the table: name, and the request that it uses (`all`, `none` or a request)."""
    containers: list[Obj] = []
    for name, request in datatable[1:]:
        container: Obj = {"name": name, "image": "registry.k8s.io/pause:3.10"}
        if request != "none":
            used = {"name": claim} if request == "all" else {"name": claim, "request": request}
            container["resources"] = {"claims": [used]}
        containers.append(container)
    _pod(world, pod, [claim], containers)


def _pod(world: World, pod: str, claims: list[str], containers: list[Obj] | None) -> None:
    obj = pod_object(world, pod, [by_name(c) for c in claims], scheduler=BY_HAND, containers=containers)
    # With no grace period the API server would not wait for the kubelet.
    obj["spec"]["terminationGracePeriodSeconds"] = 30
    world.create(obj)
    for claim in claims:
        reserve(world, claim, [pod_consumer(world, pod)])


@then('pod "{pod}" does not run')
def _(world: World, pod: str) -> None:
    """The pod is in none of the phases Running and Succeeded after everything has settled."""

    def look() -> Seen:
        phase = ((world.seen(PODS, pod) or {}).get("status") or {}).get("phase")
        return phase not in ("Running", "Succeeded"), phase

    world.stays(f"pod {pod} does not run", look, expected="Pending")


@then('an event of pod "{pod}" says "{text}"')
def _(world: World, pod: str, text: str) -> None:
    """An event about the pod has this text in its message."""
    wanted = world.text(text)

    def look() -> Seen:
        seen = [str(event.get("message") or event.get("note")) for event in events_about(world, "Pod", pod)]
        return any(wanted in message for message in seen), seen or "no event"

    world.eventually(f"an event of {pod}", look, expected=f"a message with {wanted!r}")
