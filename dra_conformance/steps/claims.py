"""DeviceClasses, ResourceClaims and templates: what scenarios create, and how claims are allocated and reserved."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from dra_api.allocations import results_of
from dra_api.clock import SOON, timestamp
from dra_api.objects import PODS, RESOURCE_CLAIMS, Obj, name_of, uid_of
from dra_conformance.components.node import GPU_DRIVER
from dra_conformance.core import manifests
from dra_conformance.core.errors import NotApplicable, Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.nodes import simulated_driver
from dra_conformance.steps.references import claim_name


@dataclass
class DriverClass:
    """The DeviceClass that the scenario made for the driver under test."""

    name: str = ""


def class_object(world: World, alias: str, spec: Obj) -> Obj:
    """Return a DeviceClass."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": world.name(alias)},
        "spec": spec,
    }


def device_class(world: World, alias: str, expression: str, *, resource: str = "") -> Obj:
    """Create a DeviceClass with one selector, and with an extendedResourceName if `resource` is given."""
    spec: Obj = {"selectors": [{"cel": {"expression": expression}}]}
    if resource:
        spec["extendedResourceName"] = resource
    created = world.create(class_object(world, alias, spec))
    if resource:
        world.settle()  # all components must know all classes before a pod requests the resource
    return created


def claim_spec(class_name: str, count: int = 1) -> Obj:
    """Return the spec of a claim with one request, `gpu`."""
    exactly: Obj = {"deviceClassName": class_name}
    # ExactCount and 1 are the API server's defaults.
    if count != 1:
        exactly |= {"allocationMode": "ExactCount", "count": count}
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def claim_object(world: World, name: str, spec: Obj) -> Obj:
    """Return a ResourceClaim in the scenario's namespace."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": world.namespace},
        "spec": spec,
    }


def allocation_of(claim: Obj | None) -> Obj:
    """Return the allocation of a claim, or an empty mapping."""
    return dict(((claim or {}).get("status") or {}).get("allocation") or {})


def devices_of(claim: Obj | None) -> list[str]:
    """Return the names of the allocated devices."""
    return [str(result["device"]) for result in results_of(claim)]


def consumers(claim: Obj | None) -> list[Obj]:
    """Return `reservedFor` of a claim."""
    return list(((claim or {}).get("status") or {}).get("reservedFor") or [])


def pod_consumer(world: World, pod: str) -> Obj:
    """Return a pod as an entry of `reservedFor`."""
    return {"resource": "pods", "name": pod, "uid": uid_of(world.get(PODS, pod))}


def simulated_results(world: World, node: str, devices: str, *, request: str = "gpu") -> list[Obj]:
    """Return allocation results with devices of the simulated driver for one request."""
    driver, pool = simulated_driver(world), world.name(node)
    return [{"request": request, "driver": driver, "pool": pool, "device": device} for device in words(devices)]


def allocation_on(node: str, results: list[Obj], config: list[Obj] | None = None) -> Obj:
    """Return an allocation for one node, as a scheduler writes it."""
    return {
        "devices": {"results": results, **({"config": config} if config else {})},
        "nodeSelector": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]},
            ]
        },
    }


def allocate_by_hand(
    world: World,
    claim: str,
    node: str,
    results: list[Obj],
    *,
    pods: list[Obj] | None = None,
    config: list[Obj] | None = None,
) -> Obj:
    """Write an allocation (and reservations) to a claim's status, in place of scheduler and binder."""
    reserved = [{"resource": "pods", "name": name_of(pod), "uid": uid_of(pod)} for pod in pods or ()]

    def change(obj: Obj) -> None:
        status = obj.setdefault("status", {})
        status["allocation"] = allocation_on(node, results, config)
        status["allocation"]["allocationTimestamp"] = timestamp(world.clock.now())
        # In the same update: the API server refuses reservations of a claim without an allocation.
        if reserved:
            status["reservedFor"] = [*(status.get("reservedFor") or []), *reserved]

    return world.update(RESOURCE_CLAIMS, claim, change, subresource="status")


def free_results(world: World, alias: str, count: int, *, request: str = "gpu", exclusive: bool = False) -> list[Obj]:
    """Return results with the first free devices of the driver under test on a node.

    A device that allows multiple allocations is allocated as a scheduler does it for a request without an amount: a
    share of all that it has, or of what its policy says. `exclusive` leaves out such devices. GPUs for pass-through are
    always left out: they are other names of GPUs in the list. Whole GPUs come before MIG devices, which do not permit
    all that GPUs do, except in the profile driver-mig; in the profile driver-gpu there are no MIG devices.

    Raises Untestable if the driver has fewer than `count`, and NotApplicable if all of its devices are left out.
    """
    node = world.node(alias)
    if exclusive and all(device.get("allowMultipleAllocations") for device in node.devices()):
        raise NotApplicable("every device of the driver allows multiple allocations")
    held = {
        (result["driver"], result["pool"], result["device"])
        for claim in world.client.list(RESOURCE_CLAIMS).items  # not the observer, which may lag
        for result in results_of(claim)
    }
    profiles = world.scenario.tags.profiles
    results: list[Obj] = []
    mig: list[Obj] = []
    for obj in node.slices():
        for device in obj["spec"].get("devices") or ():
            entry = (obj["spec"]["driver"], obj["spec"]["pool"]["name"], device["name"])
            partial = _kind_of_gpu(entry[0], device) not in ("", "gpu")
            if partial and "driver-gpu" in profiles:
                continue
            # The claims of these steps tolerate no taint, so no scheduler would allocate a tainted device to them.
            if entry in held or device.get("taints") or passed_through(entry[0], device):
                continue
            if not (exclusive and device.get("allowMultipleAllocations")):
                result = {"request": request, "driver": entry[0], "pool": entry[1], "device": entry[2]}
                (mig if partial and "driver-mig" not in profiles else results).append({**result, **share_of(device)})
    results += mig
    if len(results) < count:
        raise Untestable(f"the scenario needs {count} free devices on {alias}; the driver has {len(results)}")
    return results[:count]


def share_of(device: Obj) -> Obj:
    """Return the share id and the consumed capacity of a device that allows multiple allocations; else nothing."""
    if not device.get("allowMultipleAllocations"):
        return {}
    capacity = device.get("capacity") or {}
    consumed = {name: (one.get("requestPolicy") or {}).get("default") or one["value"] for name, one in capacity.items()}
    return {"shareID": str(uuid4()), **({"consumedCapacity": consumed} if consumed else {})}


def passed_through(driver: str, device: Obj) -> bool:
    """Return whether a device is a GPU of gpu.nvidia.com for pass-through."""
    return _kind_of_gpu(driver, device) == "vfio"


def _kind_of_gpu(driver: str, device: Obj) -> str:
    """Return the type of a device of gpu.nvidia.com: gpu, mig or vfio; nothing for another driver's."""
    kind = (device.get("attributes") or {}).get("type") or {}
    return str(kind.get("string", "")) if driver == GPU_DRIVER else ""


def driver_class(world: World) -> str:
    """Return a DeviceClass for all devices of the driver under test: the user's own, or one created here."""
    if world.run.options.device_class:
        return world.run.options.device_class
    known = world.state(DriverClass)
    if not known.name:
        expression = f'device.driver == "{world.run.options.driver_name}"'
        known.name = name_of(device_class(world, "driver", expression))
    return known.name


def all_simulated(world: World) -> str:
    """Return the CEL expression that selects every device of the simulated driver."""
    return f'device.driver == "{simulated_driver(world)}"'


# -- objects that scenarios create -------------------------------------------------------------------------------------


@given('a DeviceClass "{name}" for those devices')
def _(world: World, name: str) -> None:
    """Create a class that selects every device of the simulated driver."""
    device_class(world, name, all_simulated(world))


@given('a DeviceClass "{name}" for those devices with extended resource "{resource}"')
@when('a DeviceClass "{name}" for those devices with extended resource "{resource}" is created')
def _(world: World, name: str, resource: str) -> None:
    """Create a class for every device of the simulated driver, with an extendedResourceName."""
    device_class(world, name, all_simulated(world), resource=world.text(resource))


@given("a DeviceClass \"{name}\" selecting '{expression}'")
@when("a DeviceClass \"{name}\" selecting '{expression}' is created")
def _(world: World, name: str, expression: str) -> None:
    """Create a class with one CEL selector; `$(sim)` in it is the simulated driver."""
    device_class(world, name, world.text(expression))


@given('a ResourceClaim "{claim}" for {count:d} of "{name}"')
def _(world: World, claim: str, count: int, name: str) -> None:
    """Create a claim with one request, `gpu`, for devices of a class."""
    world.create(claim_object(world, claim, claim_spec(world.name(name), count)))


@given('a ResourceClaim "{claim}" for {count:d} of "{name}" selecting \'{expression}\'')
def _(world: World, claim: str, count: int, name: str, expression: str) -> None:
    """Create a claim whose request has a CEL selector of its own."""
    spec = claim_spec(world.name(name), count)
    selector = {"cel": {"expression": world.text(expression)}}
    spec["devices"]["requests"][0]["exactly"]["selectors"] = [selector]
    world.create(claim_object(world, claim, spec))


@given('a ResourceClaim "{claim}" with:')
def _(world: World, claim: str, docstring: str) -> None:
    """Create a claim with this `spec.devices` (YAML); `$(class:gpu)` is the name of a class of the scenario."""
    devices = manifests.parse_value(world.text(docstring))
    world.create(claim_object(world, claim, {"devices": devices}))


@given('a ResourceClaimTemplate "{template}" for {count:d} of "{name}"')
def _(world: World, template: str, count: int, name: str) -> None:
    """Create a template of claims with one request, `gpu`."""
    world.create(template_object(world, template, claim_spec(world.name(name), count)))


def template_object(world: World, name: str, spec: Obj) -> Obj:
    """Return a ResourceClaimTemplate in the scenario's namespace."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": world.namespace},
        "spec": {"spec": spec},
    }


# -- allocation and reservation ----------------------------------------------------------------------------------------


@then('claim "{claim}" is allocated the devices "{devices}"')
def _(world: World, claim: str, devices: str) -> None:
    """The claim comes to be allocated exactly these devices, in any order."""
    wanted, name = sorted(words(devices)), claim_name(world, claim)

    def look() -> Seen[list[Any]]:
        held = devices_of(world.seen(RESOURCE_CLAIMS, name))
        return sorted(held) == wanted, sorted(held)

    world.eventually(f"claim {claim} is allocated", look, expected=wanted)


@then('request "{request}" of claim "{claim}" is allocated the devices "{devices}"')
def _(world: World, request: str, claim: str, devices: str) -> None:
    """The allocation results of one request come to be exactly these devices, in any order."""
    wanted = sorted(words(devices))

    def look() -> Seen[list[Any]]:
        results = results_of(world.seen(RESOURCE_CLAIMS, claim))
        seen = sorted(str(result["device"]) for result in results if str(result["request"]) == request)
        return seen == wanted, seen

    world.eventually(f"request {request} of {claim} is allocated", look, expected=wanted)


@then('exactly {count:d} of the claims "{claims}" are allocated')
def _(world: World, count: int, claims: str) -> None:
    """This number of the claims comes to be allocated, and it is still this number once the system is idle."""
    names = words(claims)

    def look() -> Seen[str]:
        held = [name for name in names if devices_of(world.seen(RESOURCE_CLAIMS, name))]
        return len(held) == count, f"{len(held)} claims: {in_words(held)}"

    world.wait(look)
    # `stays` looks once when the system is idle; the wait before it gives slow components time to get there.
    world.stays(f"{count} of the claims are allocated", look, expected=f"{count} claims")


@then('claim "{claim}" stays unallocated')
def _(world: World, claim: str) -> None:
    """The claim is not allocated once the system is idle."""

    def look() -> Seen[list[Any]]:
        held = devices_of(world.seen(RESOURCE_CLAIMS, claim))
        return not held, held

    world.stays(f"claim {claim} is not allocated: its devices", look, expected=[])


@then('claim "{claim}" is deallocated')
def _(world: World, claim: str) -> None:
    """The claim exists and comes to have no devices."""

    def look() -> Seen[list[Any] | None]:
        seen = world.seen(RESOURCE_CLAIMS, claim)
        held = devices_of(seen)
        return seen is not None and not held, None if seen is None else held

    world.eventually(f"claim {claim} is deallocated: its devices", look, expected=[])


@then('claim "{claim}" is reserved for pod "{pod}"')
def _(world: World, claim: str, pod: str) -> None:
    """`reservedFor` comes to contain the pod with its uid."""
    name = claim_name(world, claim)

    def look() -> Seen[str]:
        owner = world.seen(PODS, pod)
        users = consumers(world.seen(RESOURCE_CLAIMS, name))
        wanted = {"resource": "pods", "name": pod, "uid": uid_of(owner or {})}
        return owner is not None and wanted in users, in_words(users)

    world.eventually(f"claim {claim} is reserved for {pod}", look, expected=f"an entry for pod {pod} with its uid")


def reserved_exactly(world: World, claim: str, pods: list[str]) -> Seen[list[Any] | None]:
    """Return whether `reservedFor` has exactly one entry for each of the pods, with its uid, and no other entry."""
    found = world.seen(RESOURCE_CLAIMS, claim_name(world, claim))
    if found is None:
        return False, None
    seen = consumers(found)
    # A Counter, because a set would hide a pod that is reserved twice.
    wanted = Counter((pod, uid_of(world.seen(PODS, pod) or {})) for pod in pods)
    found_ones = Counter((str(one.get("name")), str(one.get("uid"))) for one in seen)
    names = {uid_of(world.seen(PODS, pod) or {}): pod for pod in pods}
    # An entry with the name of a pod and another uid does not name the pod.
    shown = [name if names.get(uid) == name else f"{name} ({uid})" for name, uid in found_ones.elements()]
    return found_ones == wanted, sorted(shown)


@then('claim "{claim}" is reserved for exactly the pods "{pods}"')
def _(world: World, claim: str, pods: str) -> None:
    """`reservedFor` comes to contain each of these pods once, with its uid, and no other consumer."""
    names = words(pods)
    world.eventually(
        f"claim {claim} is reserved", lambda: reserved_exactly(world, claim, names), expected=sorted(names)
    )


@then('claim "{claim}" stays reserved for exactly the pods "{pods}"')
def _(world: World, claim: str, pods: str) -> None:
    """`reservedFor` comes to contain exactly these pods, and does not change for some time."""
    names = words(pods)

    def look() -> Seen[list[Any] | None]:
        return reserved_exactly(world, claim, names)

    world.wait(look)
    # If idleness can be observed, no component has work left; a margin is enough for late watches.
    seconds = SOON if world.run.observes_idle else 0.5
    world.stays(f"claim {claim} stays reserved for {pods}", look, expected=sorted(names), seconds=seconds)
