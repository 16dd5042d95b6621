"""The driver as users see it: through the Kubernetes API and in the container, without direct calls to the driver."""

from __future__ import annotations

from typing import Any

from dra_api.allocations import results_of
from dra_api.objects import PODS, RESOURCE_CLAIMS, Obj, uid_of
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.claims import claim_spec, driver_class, template_object
from dra_conformance.steps.pods import (
    by_template,
    create_pod,
    events_about,
    phase_of,
    phase_with_reason,
    pod_object,
    scheduler_of,
)


@given('a ResourceClaimTemplate "{template}" for a device of the driver')
def _(world: World, template: str) -> None:
    """A template of claims for one device of the driver under test, with the user's DeviceClass if there is one."""
    world.create(template_object(world, template, claim_spec(driver_class(world))))


@given('a pod "{pod}" using template "{template}" with the default grace period')
def _(world: World, pod: str, template: str) -> None:
    """A pod whose deletion waits for its kubelet, 30 seconds at most."""
    obj = pod_object(world, pod, [by_template("gpu", template)], scheduler=scheduler_of(world))
    obj["spec"]["terminationGracePeriodSeconds"] = 30
    create_pod(world, obj)


def look_running(world: World, pod: str) -> Seen[str]:
    """Return whether a pod runs, and its phase with the reason."""
    return phase_of(world, pod) == "Running", phase_with_reason(world, pod)


def events_of(world: World, pod: str) -> list[str]:
    """Return reason and message of each event about a pod."""
    return [
        f"{event.get('reason')}: {event.get('message') or event.get('note')}"
        for event in events_about(world, "Pod", pod)
    ]


@given('pod "{pod}" runs')
def _(world: World, pod: str) -> None:
    """Wait until the pod is in phase Running; the scenario cannot go on without it."""
    world.require(f"pod {pod} runs", lambda: look_running(world, pod), within=max(world.run.patience, 20.0))


@given('pod "{pod}" is deleted and gone')
def _(world: World, pod: str) -> None:
    """Delete a pod and wait until its object and its claims are gone; the scenario cannot go on without it."""
    uid = uid_of(world.get(PODS, pod))
    world.client.delete(PODS, pod, world.namespace)

    def look() -> Seen[str]:
        claims = [claim["metadata"]["name"] for claim in world.all_seen(RESOURCE_CLAIMS) if _owned(claim, uid)]
        gone = world.seen(PODS, pod) is None
        return gone and not claims, f"pod {'gone' if gone else 'not gone'}, claims {in_words(claims)}"

    world.require(f"pod {pod} and its claims are gone", look, within=max(world.run.patience, 20.0))
    world.wait_for_watches()


def _owned(claim: Obj, uid: str) -> bool:
    return any(owner.get("uid") == uid for owner in claim["metadata"].get("ownerReferences") or ())


@when('scheduler and binder have bound pod "{pod}" to "{node}"')
def _(world: World, pod: str, node: str) -> None:
    """Wait until the pod is bound to the node; the driver is called after that."""

    def look() -> Seen[str]:
        bound = ((world.seen(PODS, pod) or {}).get("spec") or {}).get("nodeName")
        return bound == world.name(node), str(bound or f"not bound; events: {in_words(events_of(world, pod))}")

    world.require(f"pod {pod} is bound to {node}", look, within=max(world.run.patience, 20.0))


@then('the driver on "{node}" comes to publish at least one device')
def _(world: World, node: str) -> None:
    """ResourceSlices of this driver and this node come to have a device."""
    component = world.node(node)

    def look() -> Seen[str]:
        return bool(component.devices()), f"{len(component.devices())} devices in {len(component.slices())} slices"

    expected, within = "1 or more devices", max(world.run.patience, 20.0)
    world.eventually("the driver publishes devices", look, expected=expected, within=within)


@then('pod "{pod}" comes to have a claim that is allocated a device on "{node}"')
def _(world: World, pod: str, node: str) -> None:
    """The pod's claim comes to be allocated devices of the driver under test only, from the node's pools."""
    wanted = {"driver": world.run.options.driver_name, "pools": sorted(_pools(world, node))}

    def look() -> Seen[str]:
        uid = uid_of(world.seen(PODS, pod) or {})
        results = [r for claim in world.all_seen(RESOURCE_CLAIMS) if _owned(claim, uid) for r in results_of(claim)]
        ok = bool(results) and all(r["driver"] == wanted["driver"] and r["pool"] in wanted["pools"] for r in results)
        return ok, in_words([f"{r['device']} of driver {r['driver']}, pool {r['pool']}" for r in results])

    expected = f"devices of driver {wanted['driver']}, pool {' or '.join(wanted['pools'])}"
    world.eventually(f"the claim of {pod} is allocated", look, expected=expected)


def _pools(world: World, node: str) -> set[str]:
    return {obj["spec"]["pool"]["name"] for obj in world.node(node).slices()}


@then('pod "{pod}" has no event "{reason}"')
def _(world: World, pod: str, reason: str) -> None:
    """No event about the pod has this reason after everything has settled."""

    def look() -> Seen[list[Any]]:
        seen = [text for text in events_of(world, pod) if text.startswith(reason)]
        return not seen, seen

    world.stays(f"events {reason} of {pod}", look, expected=[])
