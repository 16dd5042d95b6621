"""What schedulers decide: slices written by hand, classes that change, who gets which devices."""

from __future__ import annotations

from typing import Any

from dra_api.clock import timestamp
from dra_api.objects import DEVICE_CLASSES, RESOURCE_CLAIMS, Obj
from dra_conformance.core import manifests
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claims import claim_object, claim_spec, device_class, devices_of, results_of
from dra_conformance.steps.nodes import publish, simulated_driver
from dra_conformance.steps.pods import by_name, look_bound, pod_object, scheduler_of


def expression_of(world: World, text: str) -> str:
    """A CEL expression of a step; `$(sim)` in it is the driver on paper."""
    return world.text(text).replace("$(sim)", simulated_driver(world))


def slice_with(world: World, name: str, spec: Any) -> Obj:
    """A slice of the driver on paper: a pool of its own name in one slice unless `spec` says otherwise."""
    pool = {"name": world.name(name), "generation": 1, "resourceSliceCount": 1, **(spec.pop("pool", None) or {})}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": world.name(name)},
        "spec": {"driver": simulated_driver(world), "pool": pool, **spec},
    }


@given('a ResourceSlice "{name}" with:')
def _(world: World, name: str, docstring: str) -> None:
    """A slice of the driver on paper; the YAML below is its spec, driver and pool filled in where it has none."""
    publish(world, slice_with(world, name, manifests.parse_value(world.text(docstring))))


@when('a ResourceSlice "{name}" is published with:')
def _(world: World, name: str, docstring: str) -> None:
    """The same, as what happens in the scenario."""
    publish(world, slice_with(world, name, manifests.parse_value(world.text(docstring))))


@when("a DeviceClass \"{name}\" selecting '{expression}' is created")
def _(world: World, name: str, expression: str) -> None:
    """A class with one CEL selector, made while others wait for it."""
    device_class(world, name, expression_of(world, expression))


@when("the DeviceClass \"{name}\" comes to select '{expression}'")
def _(world: World, name: str, expression: str) -> None:
    """Replace the selectors of a class."""

    def change(obj: Obj) -> None:
        obj["spec"]["selectors"] = [{"cel": {"expression": expression_of(world, expression)}}]

    world.update(DEVICE_CLASSES, world.name(name), change)


@when('a ResourceClaim "{claim}" for {count:d} of "{name}" is created')
def _(world: World, claim: str, count: int, name: str) -> None:
    """A claim with one request, made while a pod waits for it."""
    world.create(claim_object(world, claim, claim_spec(world.name(name), count)))


@when('a pod "{pod}" using claims "{claims}" is created')
def _(world: World, pod: str, claims: str) -> None:
    """A pod that names several claims, comma-separated, as what happens in the scenario."""
    names = words(claims)
    world.create(pod_object(world, pod, [by_name(name) for name in names], scheduler=scheduler_of(world)))


@then('exactly {count:d} of the claims "{claims}" is allocated')
def _(world: World, count: int, claims: str) -> None:
    """That many of these claims come to hold devices, and it stays so."""
    names = words(claims)

    def look() -> Seen:
        held = [name for name in names if devices_of(world.seen(RESOURCE_CLAIMS, name))]
        return len(held) == count, held or "none"

    world.wait(look)
    world.stays("devices are given once", look, expected=f"{count} of {claims}")


@then('claim "{claim}" gives request "{request}" the devices "{devices}"')
def _(world: World, claim: str, request: str, devices: str) -> None:
    """The results of one request come to be exactly these devices, in any order."""
    wanted = sorted(words(devices))

    def look() -> Seen:
        results = results_of(world.seen(RESOURCE_CLAIMS, claim))
        seen = [(str(result["request"]), str(result["device"])) for result in results]
        return sorted(device for of, device in seen if of == request) == wanted, seen or "not allocated"

    world.eventually(f"request {request} of {claim} is allocated", look, expected=wanted)


@then('pod "{pod}" is bound to the node of pod "{other}"')
def _(world: World, pod: str, other: str) -> None:
    """Both pods come to be on one node."""

    def look() -> Seen:
        (bound, where), (other_bound, there) = look_bound(world, pod), look_bound(world, other)
        return bound and other_bound and where == there, {pod: where, other: there}

    world.eventually(f"pods {pod} and {other} are together", look, expected="one node")


# -- the scheduler's own set-up ----------------------------------------------------------------------------------------


@given("the scheduler binds pods itself")
def _(world: World) -> None:
    """Have the reference bind pods as kube-scheduler does; others are taken to do so (needs:direct-binding)."""
    if world.components.spec("scheduler").kind == "reference":
        world.components.restart("scheduler", settings={"publish": "direct"})


@given('the scheduler has feature gate "{gate}" off')
def _(world: World, gate: str) -> None:
    """Start the scheduler anew with a gate off, for this scenario alone; the API server keeps it on."""
    world.components.restart("scheduler", gates={gate: False})
    world.cleanup.callback(world.components.kill, "scheduler")


@when('a pod "{pod}" of priority class "{priority}" using claim "{claim}" is created')
def _(world: World, pod: str, priority: str, claim: str) -> None:
    """A pod of one of the priority classes that every cluster has."""
    obj = pod_object(world, pod, [by_name(claim)], scheduler=scheduler_of(world))
    obj["spec"]["priorityClassName"] = priority
    world.create(obj)


# -- devices that must be made ready -----------------------------------------------------------------------------------


@given('device "{device}" of claim "{claim}" reports "{kind}" {status:word}')
@when('device "{device}" of claim "{claim}" reports "{kind}" {status:word}')
def _(world: World, device: str, claim: str, kind: str, status: str) -> None:
    """Write a condition of an allocated device into `status.devices`, in the place of its driver."""

    def change(obj: Obj) -> None:
        held = [result for result in results_of(obj) if result["device"] == device]
        if not held:
            raise Untestable(f"claim {claim} does not hold the device {device}")
        where = {key: held[0][key] for key in ("driver", "pool", "device")}
        devices = obj["status"].setdefault("devices", [])
        mine = next((one for one in devices if where.items() <= one.items()), None)
        if mine is None:
            devices.append(mine := {**where, "conditions": []})
        kept = [one for one in mine.get("conditions") or () if one["type"] != kind]
        at = timestamp(world.clock.now())
        new = {"type": kind, "status": status, "reason": "Told", "message": "by hand", "lastTransitionTime": at}
        mine["conditions"] = [*kept, new]

    updated = world.update(RESOURCE_CLAIMS, claim, change, subresource="status")
    world.memory[f"reported/{claim}"] = int(updated["metadata"]["resourceVersion"])
