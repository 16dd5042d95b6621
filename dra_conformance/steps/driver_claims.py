"""Claims that were allocated devices of the driver under test by hand, as no control plane would do in its place."""

from __future__ import annotations

from dra_api.objects import NAMESPACES, RESOURCE_CLAIMS, Obj
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World
from dra_conformance.steps.claims import (
    allocate_by_hand,
    claim_object,
    claim_spec,
    driver_class,
    free_results,
)
from dra_conformance.steps.driver_calls import own_results


@given('a ResourceClaim "{claim}" allocated the same device as claim "{other}" on "{node}"')
def _(world: World, claim: str, other: str, node: str) -> None:
    """A claim with a hand-written allocation to devices that another claim has; a control plane would not do that."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world))))
    allocate_by_hand(world, claim, world.name(node), own_results(world, other))


@given('an admin ResourceClaim "{claim}" allocated the same device as claim "{other}" on "{node}"')
def _(world: World, claim: str, other: str, node: str) -> None:
    """A claim with admin access to the devices of another claim; the namespace is allowed to have such."""
    label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    world.client.patch(NAMESPACES, world.namespace, label)
    spec = claim_spec(driver_class(world))
    spec["devices"]["requests"][0]["exactly"]["adminAccess"] = True
    world.create(claim_object(world, claim, spec))
    results = [{**result, "adminAccess": True} for result in own_results(world, other)]
    allocate_by_hand(world, claim, world.name(node), results)


@given('a ResourceClaim "{claim}" allocated a device that the driver on "{node}" does not have')
def _(world: World, claim: str, node: str) -> None:
    """A claim with a hand-written allocation to a device that is in no slice."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world))))
    spec = next((obj["spec"] for obj in world.node(node).slices()), None)
    if spec is None:
        raise Untestable(f"the driver publishes no slice for {node}")
    result = {"request": "gpu", "driver": spec["driver"], "pool": spec["pool"]["name"], "device": "no-such-device"}
    allocate_by_hand(world, claim, world.name(node), [result])


@given(
    'a ResourceClaim "{claim}" allocated the device of claim "{other}" '
    'and one that the driver on "{node}" does not have'
)
def _(world: World, claim: str, other: str, node: str) -> None:
    """A claim that cannot be prepared for one of its devices, and has the other in common with another claim."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world), 2)))
    shared = own_results(world, other)
    results = [*shared, {**shared[0], "device": "no-such-device"}]
    allocate_by_hand(world, claim, world.name(node), results)


@given('a ResourceClaim "{claim}" that is not allocated')
def _(world: World, claim: str) -> None:
    """A claim for one device of the driver that no scheduler has seen."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world))))


@given('a ResourceClaim "{claim}" of the driver on "{node}" and of the driver "{other}"')
def _(world: World, claim: str, node: str, other: str) -> None:
    """An allocation with one device of the driver under test and one of another, each with a config of its own."""
    spec = claim_spec(driver_class(world))
    spec["devices"]["requests"].append({"name": "other", "exactly": {"deviceClassName": driver_class(world)}})
    world.create(claim_object(world, claim, spec))
    foreign = {"request": "other", "driver": other, "pool": world.name(node), "device": "other-0"}
    config = {
        "source": "FromClaim",
        "requests": ["other"],
        "opaque": {"driver": other, "parameters": {"nobody": "understands this"}},
    }
    allocate_by_hand(world, claim, world.name(node), [*free_results(world, node, 1), foreign], config=[config])


@given('a ResourceClaim "{claim}" allocated a subrequest "{subrequest}" of request "{request}" on "{node}"')
def _(world: World, claim: str, subrequest: str, request: str, node: str) -> None:
    """A claim with a prioritized list, allocated its only alternative."""
    alternative = {"name": subrequest, "deviceClassName": driver_class(world)}
    spec = {"devices": {"requests": [{"name": request, "firstAvailable": [alternative]}]}}
    world.create(claim_object(world, claim, spec))
    results = free_results(world, node, 1, request=f"{request}/{subrequest}")
    allocate_by_hand(world, claim, world.name(node), results)


@when('the allocation of claim "{claim}" is put right on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Deallocate the claim and allocate a device that exists, as a control plane does after a failure."""
    results = free_results(world, node, 1)

    def clear(obj: Obj) -> None:
        obj.setdefault("status", {}).pop("allocation", None)

    world.update(RESOURCE_CLAIMS, claim, clear, subresource="status")
    allocate_by_hand(world, claim, world.name(node), results)
