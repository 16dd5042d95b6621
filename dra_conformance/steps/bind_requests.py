"""BindRequests that a scenario writes in place of the scheduler.

Source: KAI-Scheduler docs/dra/README.md (the documented revision) and release 0.17 (pkg/scheduler/cache/cache.go,
pkg/binder/controllers/bindrequest_controller.go); rules KAI-001 to KAI-235.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dra_api.objects import BIND_REQUESTS, PODS, Obj, name_of, owner_reference
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World
from dra_conformance.steps.binder_sign import wait_observed
from dra_conformance.steps.claims import allocation_on, simulated_results


@dataclass
class Written:
    """The names of the BindRequests that the scenario wrote."""

    names: set[str] = field(default_factory=set)


def request_object(world: World, name: str, pod: str, node: str, entries: list[Obj] | None = None) -> Obj:
    """Return a BindRequest as release 0.17 writes it; the pod owns it if it exists."""
    owner = world.client.find(PODS, pod, world.namespace)
    metadata: Obj = {"name": name, "namespace": world.namespace, "labels": {"selected-node": world.name(node)}}
    if owner is not None:
        # A response may lack apiVersion and kind, which an owner reference needs.
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
    """Create a BindRequest for a binder that has observed all earlier writes, and keep its name."""
    wait_observed(world)
    world.create(obj)
    world.state(Written).names.add(name_of(obj))


def entry(world: World, reference: str, node: str, devices: str, config: list[Obj] | None = None) -> Obj:
    """Return an entry of resourceClaimAllocations: the pod's own name of the claim, and its allocation."""
    return {
        "name": reference,
        "allocation": allocation_on(world.name(node), simulated_results(world, node, devices), config),
    }


@given('a BindRequest "{name}" of pod "{pod}" to "{node}"')
@when('a BindRequest "{name}" of pod "{pod}" to "{node}" is created')
def _(world: World, name: str, pod: str, node: str) -> None:
    """Create a BindRequest without claims."""
    write(world, request_object(world, name, pod, node))


@given('a BindRequest "{name}" of pod "{pod}" to "{node}" giving claim "{claim}" the devices "{devices}"')
@when('a BindRequest "{name}" of pod "{pod}" to "{node}" giving claim "{claim}" the devices "{devices}" is created')
def _(world: World, name: str, pod: str, node: str, claim: str, devices: str) -> None:
    """Create a BindRequest that allocates simulated devices to one claim, by the pod's own name for it."""
    write(world, request_object(world, name, pod, node, [entry(world, claim, node, devices)]))


@when(
    'a BindRequest "{name}" of pod "{pod}" to "{node}" giving claim "{claim}" the devices "{devices}", with '
    "backoffLimit {limit:d}, is created"
)
def _(world: World, name: str, pod: str, node: str, claim: str, devices: str, limit: int) -> None:
    """Create a BindRequest that allocates simulated devices to one claim, and whose binding may be tried again."""
    obj = request_object(world, name, pod, node, [entry(world, claim, node, devices)])
    obj["spec"]["backoffLimit"] = limit
    write(world, obj)


@given('a BindRequest "{name}" of pod "{pod}" to "{node}" giving:')
@when('a BindRequest "{name}" of pod "{pod}" to "{node}" is created giving:')
def _(world: World, name: str, pod: str, node: str, docstring: str) -> None:
    """Create a BindRequest with several entries; the YAML maps the pod's own names of claims to devices."""
    wanted: dict[str, str] = manifests.parse_value(docstring)
    entries = [entry(world, claim, node, devices) for claim, devices in wanted.items()]
    write(world, request_object(world, name, pod, node, entries))


@given('a BindRequest "{name}" of pod "{pod}" to "{node}" with:')
@when('a BindRequest "{name}" of pod "{pod}" to "{node}" is created with:')
def _(world: World, name: str, pod: str, node: str, docstring: str) -> None:
    """Create a BindRequest with additional fields in its spec (YAML; `null` removes a field)."""
    obj = request_object(world, name, pod, node)
    for key, value in manifests.parse_value(world.text(docstring)).items():
        manifests.set_at(obj["spec"], key, value)
    write(world, obj)
