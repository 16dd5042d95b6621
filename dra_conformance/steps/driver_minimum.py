"""A driver as its users see it: by the Kubernetes API and in the container, without a call of ours to the driver."""

from __future__ import annotations

from dra_api.objects import PODS, RESOURCE_CLAIMS, Obj, uid_of
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.kubelet.errors import KubeletError
from dra_conformance.steps.claims import claim_spec, driver_class, results_of, template_object
from dra_conformance.steps.pods import by_template, events_about, pod_object, scheduler_of


@given('a ResourceClaimTemplate "{template}" for a device of the driver')
def _(world: World, template: str) -> None:
    """A template of claims for one device of the driver under test, by the user's DeviceClass where there is one."""
    world.create(template_object(world, template, claim_spec(driver_class(world))))


@given('a pod "{pod}" using template "{template}" with time to end')
def _(world: World, pod: str, template: str) -> None:
    """A pod whose deletion waits for its kubelet, 30 seconds at most, as pods have it that say nothing."""
    obj = pod_object(world, pod, [by_template("gpu", template)], scheduler=scheduler_of(world))
    obj["spec"]["terminationGracePeriodSeconds"] = 30
    world.create(obj)


def look_running(world: World, pod: str) -> Seen:
    """Whether a pod runs; if not, its phase and what its events tell."""
    phase = ((world.seen(PODS, pod) or {}).get("status") or {}).get("phase")
    return phase == "Running", {"phase": phase, "events": events_of(world, pod)}


def events_of(world: World, pod: str) -> list[str]:
    """Reason and message of each event about a pod."""
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

    def look() -> Seen:
        claims = [claim["metadata"]["name"] for claim in world.all_seen(RESOURCE_CLAIMS) if _owned(claim, uid)]
        return world.seen(PODS, pod) is None and not claims, claims or "the pod is there"

    world.require(f"pod {pod} and its claims are gone", look, within=max(world.run.patience, 20.0))
    world.heard()


def _owned(claim: Obj, uid: str) -> bool:
    return any(owner.get("uid") == uid for owner in claim["metadata"].get("ownerReferences") or ())


@when('pod "{pod}" is given its device on "{node}"')
def _(world: World, pod: str, node: str) -> None:
    """Wait until scheduler and binder have bound the pod to the node; what the driver does comes after that."""

    def look() -> Seen:
        bound = ((world.seen(PODS, pod) or {}).get("spec") or {}).get("nodeName")
        return bound == world.name(node), bound or events_of(world, pod) or "not bound"

    world.require(f"pod {pod} is bound to {node}", look, within=max(world.run.patience, 20.0))


@then('the driver on "{node}" comes to publish at least one device')
def _(world: World, node: str) -> None:
    """ResourceSlices of the driver's name and the node's come to hold a device."""
    component = world.node(node)

    def look() -> Seen:
        return bool(component.devices()), {"slices": len(component.slices()), "devices": len(component.devices())}

    world.eventually("the driver publishes devices", look, expected="a device", within=max(world.run.patience, 20.0))


@then('pod "{pod}" comes to have a claim that is allocated a device on "{node}"')
def _(world: World, pod: str, node: str) -> None:
    """The pod's own claim comes to have an allocation result of the driver under test, from the node's pool."""
    wanted = {"driver": world.run.options.driver_name, "pools": sorted(_pools(world, node))}

    def look() -> Seen:
        uid = uid_of(world.seen(PODS, pod) or {})
        results = [r for claim in world.all_seen(RESOURCE_CLAIMS) if _owned(claim, uid) for r in results_of(claim)]
        ok = bool(results) and all(r["driver"] == wanted["driver"] and r["pool"] in wanted["pools"] for r in results)
        return ok, results or "not allocated"

    world.eventually(f"the claim of {pod} is allocated", look, expected=wanted)


def _pools(world: World, node: str) -> set[str]:
    return {obj["spec"]["pool"]["name"] for obj in world.node(node).slices()}


@then('pod "{pod}" is prepared on "{node}" without an error')
def _(world: World, pod: str, node: str) -> None:
    """Its container comes to be started with CDI devices or none, and no event tells of a failed preparation."""
    try:
        world.node(node).kubelet.wait_running(world.namespace, pod, max(world.run.patience, 20.0))
        seen = [text for text in events_of(world, pod) if "FailedPrepareDynamicResources" in text]
        world.check(not seen, f"pod {pod} is prepared", expected="no FailedPrepareDynamicResources", observed=seen)
    except KubeletError as error:
        observed = {"kubelet": str(error), "events": events_of(world, pod)}
        world.check(False, f"pod {pod} is prepared", expected="a started container", observed=observed)


@then('container "{container}" of pod "{pod}" on "{node}" has a variable of the driver\'s')
def _(world: World, container: str, pod: str, node: str) -> None:
    """The environment that the container's CDI devices bring is not empty."""
    try:
        view = world.node(node).kubelet.wait_running(world.namespace, pod, world.run.patience)[container]
    except KubeletError as error:
        raise Untestable(str(error)) from error
    world.check(bool(view.env), "variables of the driver", expected="at least one", observed=sorted(view.env))


@then('no event of pod "{pod}" tells "{reason}"')
def _(world: World, pod: str, reason: str) -> None:
    """No event about the pod has this reason, once all has come to rest."""

    def look() -> Seen:
        seen = [text for text in events_of(world, pod) if text.startswith(reason)]
        return not seen, seen or "none"

    world.stays(f"events of {pod}", look, expected=f"no {reason}")
