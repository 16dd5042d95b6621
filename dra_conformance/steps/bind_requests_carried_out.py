"""What the binder made of a BindRequest: its phase and reason, and what claims and pods got.

Source: KAI-Scheduler release 0.17 (pkg/binder/controllers/bindrequest_controller.go).
"""

from __future__ import annotations

from dra_api.objects import BIND_REQUESTS, PODS, RESOURCE_CLAIMS, meta, name_of
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import then
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.bind_requests import WRITTEN, entries_of, holds, status_of
from dra_conformance.steps.claims import allocation_of
from dra_conformance.steps.pods import condition, look_bound


@then('BindRequest "{name}" comes to phase {phase:word}')
def _(world: World, name: str, phase: str) -> None:
    """The binder's judgement comes to be this."""

    def look() -> Seen:
        seen = status_of(world.seen(BIND_REQUESTS, name))
        return seen.get("phase") == phase, seen or "no status"

    world.eventually(f"BindRequest {name} is {phase}", look, expected=phase)


@then('BindRequest "{name}" stays {phase:word}')
def _(world: World, name: str, phase: str) -> None:
    """The binder's judgement is this, and remains so."""

    def look() -> Seen:
        seen = status_of(world.seen(BIND_REQUESTS, name))
        return seen.get("phase") == phase, seen or "no status"

    world.stays(f"BindRequest {name} stays {phase}", look, expected=phase)


@then('BindRequest "{name}" stays without phase')
def _(world: World, name: str) -> None:
    """The binder has not judged the request."""

    def look() -> Seen:
        seen = world.seen(BIND_REQUESTS, name)
        return seen is not None and not status_of(seen).get("phase"), status_of(seen) if seen else "no BindRequest"

    world.stays(f"BindRequest {name} is not judged", look, expected="no phase")


@then('BindRequest "{name}" fails with a reason')
def _(world: World, name: str) -> None:
    """The phase comes to be Failed, and status.reason tells something."""
    _fails(world, name, "")


@then('BindRequest "{name}" fails with a reason that names "{text}"')
def _(world: World, name: str, text: str) -> None:
    """The phase comes to be Failed, and status.reason holds this text."""
    _fails(world, name, world.text(text))


@then('BindRequest "{name}" fails, or succeeds with annotation "{key}" on pod "{pod}"')
def _(world: World, name: str, key: str, pod: str) -> None:
    """Failed and the pod unbound, or Succeeded and the pod bound with the annotation; so it comes to be and remains."""

    def look() -> Seen:
        found = world.seen(PODS, pod) or {}
        phase = status_of(world.seen(BIND_REQUESTS, name)).get("phase")
        node, told = (found.get("spec") or {}).get("nodeName"), (meta(found).get("annotations") or {}).get(key)
        holds = (not node and phase == "Failed") or bool(node and phase == "Succeeded" and told)
        return holds, {"phase": phase, "nodeName": node, key: told}

    world.eventually(
        f"pod {pod} is unbound or has {key}", look, expected="Failed and unbound, or Succeeded, bound and annotated"
    )
    world.stays(f"pod {pod} is unbound or has {key}", look, expected="as it was")


def _fails(world: World, name: str, text: str) -> None:
    def look() -> Seen:
        seen = status_of(world.seen(BIND_REQUESTS, name))
        reason = str(seen.get("reason") or "")
        return seen.get("phase") == "Failed" and bool(reason) and text in reason, seen or "no status"

    world.eventually(f"BindRequest {name} fails", look, expected=f"phase Failed, a reason that names {text!r}")


@then('BindRequest "{name}" counts {count:d} failed attempts')
def _(world: World, name: str, count: int) -> None:
    """status.failedAttempts comes to this number (0: also absent) and does not pass it."""

    def look() -> Seen:
        seen = status_of(world.seen(BIND_REQUESTS, name))
        return int(seen.get("failedAttempts") or 0) == count and bool(seen.get("phase")), seen

    world.wait(look)
    world.stays(f"BindRequest {name} counts attempts", look, expected=count)


@then('claim "{claim}" holds the allocation that BindRequest "{name}" gives "{reference}"')
def _(world: World, claim: str, name: str, reference: str) -> None:
    """Devices, configuration and node selector of the claim are those of the entry."""
    wanted = entries_of(world.get(BIND_REQUESTS, name)).get(reference) or {}
    wanted = {key: value for key, value in wanted.items() if key != "allocationTimestamp"}

    def look() -> Seen:
        seen = allocation_of(world.seen(RESOURCE_CLAIMS, claim))
        return holds(seen, wanted), seen or "not allocated"

    world.eventually(f"claim {claim} is allocated as requested", look, expected=wanted)


@then('pod "{pod}" stays bound to "{node}"')
def _(world: World, pod: str, node: str) -> None:
    """The pod is on this node and stays there."""

    def look() -> Seen:
        bound, where = look_bound(world, pod)
        return bound and where == world.name(node), where

    world.stays(f"pod {pod} stays where it is", look, expected=world.name(node))


@then('pod "{pod}" has annotation "{key}" {value}')
def _(world: World, pod: str, key: str, value: str) -> None:
    """An annotation of the pod comes to this text (`null`: it is not there); a JSON text is compared as JSON."""
    wanted = manifests.parse_value(world.text(value))

    def look() -> Seen:
        found = (meta(world.seen(PODS, pod) or {}).get("annotations") or {}).get(key)
        read = manifests.parse_value(found) if isinstance(found, str) and isinstance(wanted, (dict, list)) else found
        return read == wanted, found

    world.eventually(f"annotation {key} of {pod}", look, expected=wanted)


@then('pod "{pod}" is not said to be bound')
def _(world: World, pod: str) -> None:
    """The condition PodBound is not True, also after everything has come to rest."""

    def look() -> Seen:
        found = condition(world.seen(PODS, pod), "PodBound")
        return found.get("status") != "True", found or "no such condition"

    world.stays(f"pod {pod} is not said to be bound", look, expected="no condition PodBound=True")


@then("nobody but the harness has created a BindRequest")
def _(world: World) -> None:
    """Every BindRequest of the namespace was written by hand."""
    mine = set(world.memory.get(WRITTEN, ()))

    def look() -> Seen:
        found = {name_of(request) for request in world.all_seen(BIND_REQUESTS)}
        return found <= mine, sorted(found - mine)

    world.stays("the binder creates no BindRequest", look, expected=f"{sorted(mine)} at most")
