"""Allocations and reservations that a scenario writes itself, in place of scheduler and binder."""

from __future__ import annotations

from collections.abc import Sequence

from dra_api.clock import timestamp
from dra_api.objects import PODS, RESOURCE_CLAIMS, Obj
from dra_conformance.core.invented_names import invented
from dra_conformance.core.values import read_value
from dra_conformance.engine.vocabulary import given, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claim_users import without_users
from dra_conformance.steps.claims import allocation_on, claim_object, claim_spec, pod_consumer, simulated_results
from dra_conformance.steps.pods import by_name, create_other_namespace, create_pod, pod_object, scheduler_of
from dra_conformance.steps.references import claim_name

DELETE_PROTECTION = "resource.kubernetes.io/delete-protection"


def reserve(world: World, claim: str, more: list[Obj]) -> Obj:
    """Add entries to `reservedFor` of a claim and return the updated claim; they replace a pod in name only."""

    def change(obj: Obj) -> None:
        status = obj.setdefault("status", {})
        status["reservedFor"] = [*without_users(world, status.get("reservedFor") or []), *more]

    return world.update(RESOURCE_CLAIMS, claim_name(world, claim), change, subresource="status")


def allocate(world: World, claim: str, node: str, reserved: list[Obj]) -> None:
    """Allocate a claim as a scheduler does: with delete protection, one device for its first request."""
    name = claim_name(world, claim)

    def protect(obj: Obj) -> None:
        held = obj["metadata"].setdefault("finalizers", [])
        if DELETE_PROTECTION not in held:
            held.append(DELETE_PROTECTION)

    def change(obj: Obj) -> None:
        result = {"request": "gpu", "driver": invented("paper"), "pool": world.name(node), "device": "d"}
        obj.setdefault("status", {})["allocation"] = allocation_on(world.name(node), [result])
        if reserved:
            obj["status"]["reservedFor"] = reserved

    # The finalizer first and in an update of its own, as kube-scheduler does: a status update keeps the old metadata.
    world.update(RESOURCE_CLAIMS, name, protect)
    world.update(RESOURCE_CLAIMS, name, change, subresource="status")


def hold(world: World, claim: str, devices: str, node: str, reserved: Sequence[Obj] = ()) -> None:
    """Allocate devices of the simulated driver to the first request of a claim, reserved in the same update."""

    def change(obj: Obj) -> None:
        request = obj["spec"]["devices"]["requests"][0]["name"]
        results = simulated_results(world, node, devices, request=request)
        allocation = allocation_on(world.name(node), results)
        allocation["allocationTimestamp"] = timestamp(world.clock.now())
        obj.setdefault("status", {})["allocation"] = allocation
        if reserved:
            obj["status"]["reservedFor"] = list(reserved)

    world.update(RESOURCE_CLAIMS, claim_name(world, claim), change, subresource="status")


@given('claim "{claim}" is allocated by hand on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Allocate a device of a driver that does not run to a claim, without reservation."""
    allocate(world, claim, node, [])


@given('claim "{claim}" is allocated by hand on "{node}" for pods "{pods}"')
def _(world: World, claim: str, node: str, pods: str) -> None:
    """Allocate a device of a driver that does not run to a claim, and reserve the claim for pods."""
    allocate(world, claim, node, [pod_consumer(world, pod) for pod in words(pods)])


@given('claim "{claim}" is reserved by hand for pods "{pods}"')
def _(world: World, claim: str, pods: str) -> None:
    """Add pods to `reservedFor`, in place of a scheduler, and wait until all components have received the change."""
    if more := [pod_consumer(world, pod) for pod in words(pods)]:
        reserve(world, claim, more)
    world.settle()


@given('claim "{claim}" is also reserved for {entries}')
@when('claim "{claim}" is also reserved for {entries}')
def _(world: World, claim: str, entries: str) -> None:
    """Add consumers to `reservedFor`: one entry or a list of them, as YAML or as `a list of N …`."""
    value = read_value(world.text(entries))
    reserve(world, claim, value if isinstance(value, list) else [value])
    world.catch_up()
    world.settle()


@given('claim "{claim}" holds the devices "{devices}" of "{node}"')
def _(world: World, claim: str, devices: str, node: str) -> None:
    """Allocate devices of the simulated driver to the first request of a claim, without reservation."""
    hold(world, claim, devices, node)
    world.settle()  # the scheduler may receive it later than the harness, and would rightly decide on older data


@given('claim "{claim}" holds the devices "{devices}" of "{node}" for pods "{pods}"')
def _(world: World, claim: str, devices: str, node: str, pods: str) -> None:
    """Allocate devices of the simulated driver to the first request of a claim, and reserve the claim for pods."""
    hold(world, claim, devices, node, [pod_consumer(world, pod) for pod in words(pods)])
    world.settle()


@given('a pod "{pod}" that uses a ResourceClaim "{claim}" for {count:d} of "{name}" is bound in another namespace')
def _(world: World, pod: str, claim: str, count: int, name: str) -> None:
    """Create a claim and its pod outside the scenario's namespace, and wait until the scheduler has bound the pod."""
    other = create_other_namespace(world)
    made = claim_object(world, claim, claim_spec(world.name(name), count))
    made["metadata"]["namespace"] = other
    world.create(made)
    obj = pod_object(world, pod, [by_name(claim)], scheduler=scheduler_of(world))
    obj["metadata"]["namespace"] = other
    create_pod(world, obj)
    world.cleanup.callback(world.client.delete, PODS, pod, other, grace_period_seconds=0)

    def look() -> Seen[str]:
        node = ((world.observer.get(PODS, pod, other) or {}).get("spec") or {}).get("nodeName")
        return bool(node), node or "not bound"

    world.require(f"pod {pod} of the other namespace is bound", look)
    world.settle()


@given('claim "{claim}" in use holds the "{one}" devices "{ones}" and the "{two}" devices "{twos}" of "{node}"')
def _(world: World, claim: str, one: str, ones: str, two: str, twos: str, node: str) -> None:
    """Create a claim that is allocated devices of two simulated drivers; `0, 2` of `gpu` are gpu-0 and gpu-2."""
    requests, results = [], []
    for kind, numbers in ((one, words(ones)), (two, words(twos))):
        exactly = {"deviceClassName": world.name(kind), "allocationMode": "ExactCount", "count": len(numbers)}
        requests.append({"name": kind, "exactly": exactly})
        base = {"request": kind, "driver": invented(f"{kind}-{world.suffix}"), "pool": world.name(node)}
        results += [{**base, "device": f"{kind}-{number}"} for number in numbers]
    world.create(claim_object(world, claim, {"devices": {"requests": requests}}))

    def change(obj: Obj) -> None:
        obj.setdefault("status", {})["allocation"] = allocation_on(world.name(node), results)

    world.update(RESOURCE_CLAIMS, claim, change, subresource="status")
    world.settle()  # all schedulers must know that these devices are in use
