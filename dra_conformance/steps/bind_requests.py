"""BindRequests: what they look like, and those written and judged by hand in scheduler's and binder's place.

Source: KAI-Scheduler docs/dra/README.md (the documented revision) and release 0.17 (pkg/scheduler/cache/cache.go,
pkg/binder/controllers/bindrequest_controller.go); rules KAI-001 to KAI-235.
"""

from __future__ import annotations

from dra_api.objects import BIND_REQUESTS, PODS, Obj, meta, name_of, owner_reference, uid_of
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World
from dra_conformance.steps.claims import allocation_on, paper_results

# Key of World.memory: the names of the BindRequests that the scenario wrote.
WRITTEN = "bind-requests"


def request_object(world: World, name: str, pod: str, node: str, entries: list[Obj] | None = None) -> Obj:
    """A BindRequest as release 0.17 writes it; owned by the pod where there is one."""
    owner = world.client.find(PODS, pod, world.namespace)
    metadata: Obj = {"name": name, "namespace": world.namespace, "labels": {"selected-node": world.name(node)}}
    if owner is not None:
        metadata["ownerReferences"] = [owner_reference({**owner, "apiVersion": "v1", "kind": "Pod"})]
    spec: Obj = {
        "podName": pod,
        "selectedNode": world.name(node),
        "receivedResourceType": "Regular",
        "receivedGPU": {"portion": "0.00"},
    }
    if entries:
        spec["resourceClaimAllocations"] = entries
    return {
        "apiVersion": BIND_REQUESTS.api_version,
        "kind": BIND_REQUESTS.kind,
        "metadata": metadata,
        "spec": spec,
    }


def write(world: World, obj: Obj) -> None:
    """Create a BindRequest and remember that it was written by hand."""
    world.create(obj)
    world.memory.setdefault(WRITTEN, []).append(name_of(obj))


def entry(world: World, reference: str, node: str, devices: str, config: list[Obj] | None = None) -> Obj:
    """One entry of resourceClaimAllocations: the pod's own name of the claim, and what it gets."""
    return {
        "name": reference,
        "allocation": allocation_on(world.name(node), paper_results(world, node, devices), config),
    }


def requests_of(world: World, pod: str) -> list[Obj]:
    """The BindRequests that name a pod, as last seen, those being deleted left out."""
    return [
        request
        for request in world.all_seen(BIND_REQUESTS)
        if (request.get("spec") or {}).get("podName") == pod and "deletionTimestamp" not in meta(request)
    ]


def request_of(world: World, pod: str) -> Obj | None:
    """The BindRequest of a pod, where there is one."""
    return next(iter(requests_of(world, pod)), None)


def entries_of(request: Obj | None) -> dict[str, Obj]:
    """Its allocations by the pod's own names for the claims."""
    found = ((request or {}).get("spec") or {}).get("resourceClaimAllocations") or ()
    return {str(item.get("name")): item.get("allocation") or {} for item in found}


def devices_in(allocation: Obj | None) -> list[str]:
    """The devices of an allocation, by name."""
    return sorted(
        str(result.get("device")) for result in ((allocation or {}).get("devices") or {}).get("results") or ()
    )


def status_of(request: Obj | None) -> Obj:
    """The status of a BindRequest; empty where it has none."""
    found = (request or {}).get("status")
    return found if isinstance(found, dict) else {}


def holds(observed: object, wanted: object) -> bool:
    """Whether `observed` has everything that `wanted` has: fields of mappings, and lists item by item."""
    if isinstance(wanted, dict):
        return isinstance(observed, dict) and all(holds(observed.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return (
            isinstance(observed, list)
            and len(observed) == len(wanted)
            and all(holds(one, two) for one, two in zip(observed, wanted, strict=True))
        )
    return observed == wanted


# -- written by hand ---------------------------------------------------------------------------------------------------


@given('a BindRequest "{name}" of pod "{pod}" to "{node}"')
@when('a BindRequest "{name}" of pod "{pod}" to "{node}" is created')
def _(world: World, name: str, pod: str, node: str) -> None:
    """Write a BindRequest without claims."""
    write(world, request_object(world, name, pod, node))


@given('a BindRequest "{name}" of pod "{pod}" to "{node}" giving claim "{claim}" the devices "{devices}"')
@when('a BindRequest "{name}" of pod "{pod}" to "{node}" giving claim "{claim}" the devices "{devices}" is created')
def _(world: World, name: str, pod: str, node: str, claim: str, devices: str) -> None:
    """Write a BindRequest that gives one claim (by the pod's own name for it) devices on paper."""
    write(world, request_object(world, name, pod, node, [entry(world, claim, node, devices)]))


@given('a BindRequest "{name}" of pod "{pod}" to "{node}" giving:')
@when('a BindRequest "{name}" of pod "{pod}" to "{node}" is created giving:')
def _(world: World, name: str, pod: str, node: str, docstring: str) -> None:
    """Write a BindRequest with several entries; the YAML below maps the pod's own names of claims to devices."""
    wanted: dict[str, str | None] = manifests.parse_value(docstring)
    entries = [
        {"name": claim} if devices is None else entry(world, claim, node, devices) for claim, devices in wanted.items()
    ]
    write(world, request_object(world, name, pod, node, entries))


@given('a BindRequest "{name}" of pod "{pod}" to "{node}" with:')
@when('a BindRequest "{name}" of pod "{pod}" to "{node}" is created with:')
def _(world: World, name: str, pod: str, node: str, docstring: str) -> None:
    """Write a BindRequest whose spec has also the fields below (YAML; `null` takes one away)."""
    obj = request_object(world, name, pod, node)
    for key, value in manifests.parse_value(world.text(docstring)).items():
        manifests.set_at(obj["spec"], key, value)
    write(world, obj)


@given('a BindRequest "{name}" of pod "{pod}" to "{node}" that is being deleted')
def _(world: World, name: str, pod: str, node: str) -> None:
    """Write a BindRequest and delete it; a finalizer keeps it until the scenario ends. The binder must be stopped."""
    obj = request_object(world, name, pod, node)
    obj["metadata"]["finalizers"] = ["dra-conformance/hold"]
    write(world, obj)
    world.client.delete(BIND_REQUESTS, name, world.namespace)
    no_finalizers = {"metadata": {"finalizers": None}}
    world.cleanup.callback(world.client.patch, BIND_REQUESTS, name, no_finalizers, world.namespace)


@given('BindRequest "{name}" outlives its pod')
def _(world: World, name: str) -> None:
    """Take the owner away from a BindRequest, so that garbage collection leaves it."""
    world.client.patch(BIND_REQUESTS, name, {"metadata": {"ownerReferences": None}}, world.namespace)


@when('BindRequest "{name}" is touched')
def _(world: World, name: str) -> None:
    """Change an annotation of a BindRequest."""
    world.client.patch(BIND_REQUESTS, name, {"metadata": {"annotations": {"touched": "yes"}}}, world.namespace)


# -- judged by hand ----------------------------------------------------------------------------------------------------


@given('BindRequest "{name}" is {phase:word} by hand')
@when('BindRequest "{name}" is {phase:word} by hand')
def _(world: World, name: str, phase: str) -> None:
    """Write a phase into the status of a BindRequest, in the place of the binder."""
    _judge(world, name, phase, None)


@given('BindRequest "{name}" is {phase:word} by hand after {count:d} attempts')
@when('BindRequest "{name}" is {phase:word} by hand after {count:d} attempts')
def _(world: World, name: str, phase: str, count: int) -> None:
    """The same, with a number of failed attempts."""
    _judge(world, name, phase, count)


@when('the BindRequest of pod "{pod}" is {phase:word} by hand')
def _(world: World, pod: str, phase: str) -> None:
    """Write a phase into the BindRequest that the scheduler wrote, and remember which it was."""
    world.require(f"pod {pod} has a BindRequest", lambda: (request_of(world, pod) is not None, "none"))
    request = request_of(world, pod)
    if request is not None:
        world.memory[f"request/{pod}"] = uid_of(request)
        _judge(world, name_of(request), phase, None)


def _judge(world: World, name: str, phase: str, attempts: int | None) -> None:
    status: Obj = {"phase": phase}
    if phase == "Failed":
        status["reason"] = "refused by hand"
    if attempts is not None:
        status["failedAttempts"] = attempts
    world.client.patch(BIND_REQUESTS, name, {"status": status}, world.namespace, subresource="status")
