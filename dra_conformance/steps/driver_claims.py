"""Claims of the driver under test whose allocation is written by hand, also such that no scheduler would write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from dra_api.allocations import results_of
from dra_api.clock import timestamp
from dra_api.objects import NAMESPACES, RESOURCE_CLAIMS, Obj
from dra_conformance.core import manifests
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World
from dra_conformance.steps.claim_users import allocate_in_use
from dra_conformance.steps.claims import (
    claim_object,
    claim_spec,
    driver_class,
    free_results,
)
from dra_conformance.steps.driver_calls import own_results

CONFIG_API = "resource.nvidia.com/v1beta1"
"""The API version of the configuration kinds of gpu.nvidia.com and compute-domain.nvidia.com."""


def requests_for(class_name: str, results: Sequence[Mapping[str, Any]]) -> list[Obj]:
    """Return claim requests that fit these allocation results; `gpu/big` is alternative `big` of request `gpu`."""
    counts: dict[str, int] = {}
    admin = {result["request"] for result in results if result.get("adminAccess")}
    for result in results:
        counts[result["request"]] = counts.get(result["request"], 0) + 1
    found: list[Obj] = []
    for name, count in counts.items():
        request, _, alternative = name.partition("/")
        if alternative:
            first = {"name": alternative, "deviceClassName": class_name}
            found.append({"name": request, "firstAvailable": [first]})
        else:
            whole = {**claim_spec(class_name, count)["devices"]["requests"][0], "name": request}
            if name in admin:
                whole["exactly"]["adminAccess"] = True
            found.append(whole)
    return found


def permit_admin_access(world: World) -> None:
    """Label the scenario's namespace, so that its claims may have admin access."""
    label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    world.client.patch(NAMESPACES, world.namespace, label)


def full_results(world: World, node: str, results: Sequence[Mapping[str, Any]]) -> list[Obj]:
    """Fill in what short allocation results leave out: driver, pool and share id.

    The device `free` is a device that no claim has; `deviceOf: CLAIM` is the first device of another claim, with
    `number: N` the one at this position.
    """
    # A driver may give its pool another name than the node's.
    own_pool = next((obj["spec"]["pool"]["name"] for obj in world.node(node).slices()), world.name(node))
    own_driver = world.run.options.driver_name
    wanted = sum(result.get("device") == "free" for result in results)
    free = iter(free_results(world, node, wanted))
    found: list[Obj] = []
    for result in results:
        short = dict(result)
        other = short.pop("deviceOf", None)
        foreign = short.get("driver", own_driver) != own_driver
        base: Obj = {"driver": own_driver, "pool": world.name(node) if foreign else own_pool}
        number = short.pop("number", 0)
        if other is not None:
            base = {key: own_results(world, other)[number][key] for key in ("driver", "pool", "device")}
        elif short.get("device") == "free":
            base = next(free)
            del short["device"]
        # Only a share of a device has consumed capacity, and a scheduler gives each share an id.
        if "consumedCapacity" in short:
            short["shareID"] = str(uuid4())
        found.append({**base, **short})
    return found


def full_configuration(world: World, entries: Sequence[Mapping[str, Any]]) -> list[Obj]:
    """Fill in what short configuration entries leave out: source, requests (all) and driver."""
    return [
        {
            "source": entry.get("source", "FromClaim"),
            "requests": entry.get("requests", []),
            "opaque": {
                "driver": entry.get("driver", world.run.options.driver_name),
                "parameters": entry["parameters"],
            },
        }
        for entry in entries
    ]


def create_allocated(
    world: World,
    claim: str,
    node: str,
    results: Sequence[Mapping[str, Any]],
    config: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Create a claim and write its allocation; short results and configuration entries are completed."""
    requests = requests_for(driver_class(world), results)
    if any(result.get("adminAccess") for result in results):
        permit_admin_access(world)
    world.create(claim_object(world, claim, {"devices": {"requests": requests}}))
    full = full_results(world, node, results)
    allocate_in_use(world, claim, world.name(node), full, full_configuration(world, config))


@given('a ResourceClaim "{claim}" allocated {count:d} devices of the driver on "{node}"')
def _(world: World, claim: str, count: int, node: str) -> None:
    """Create a claim, and allocate it the first free devices of the driver under test by hand."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world), count)))
    allocate_in_use(world, claim, world.name(node), free_results(world, node, count))


@given('a ResourceClaim "{claim}" allocated a device of the driver on "{node}" that cannot be shared')
def _(world: World, claim: str, node: str) -> None:
    """Create a claim, and allocate it a free device by hand that does not allow multiple allocations."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world))))
    allocate_in_use(world, claim, world.name(node), free_results(world, node, 1, exclusive=True))


@given('a ResourceClaim "{claim}" allocated the same device as claim "{other}" on "{node}"')
def _(world: World, claim: str, other: str, node: str) -> None:
    """A claim with a hand-written allocation to the devices of another claim; no scheduler would do that."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world))))
    allocate_in_use(world, claim, world.name(node), own_results(world, other))


@given('an admin ResourceClaim "{claim}" allocated the same device as claim "{other}" on "{node}"')
def _(world: World, claim: str, other: str, node: str) -> None:
    """A claim with admin access to the devices of another claim, of which it consumes nothing.

    The namespace is labelled to permit it.
    """
    permit_admin_access(world)
    spec = claim_spec(driver_class(world))
    spec["devices"]["requests"][0]["exactly"]["adminAccess"] = True
    world.create(claim_object(world, claim, spec))
    kept = ({key: result[key] for key in result if key != "consumedCapacity"} for result in own_results(world, other))
    results = [{**result, "adminAccess": True} for result in kept]
    allocate_in_use(world, claim, world.name(node), results)


@given('a ResourceClaim "{claim}" allocated a device that the driver on "{node}" does not have')
def _(world: World, claim: str, node: str) -> None:
    """A claim with a hand-written allocation to a device that is in no slice."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world))))
    spec = next((obj["spec"] for obj in world.node(node).slices()), None)
    if spec is None:
        raise Untestable(f"the driver publishes no slice for {node}")
    result = {"request": "gpu", "driver": spec["driver"], "pool": spec["pool"]["name"], "device": "no-such-device"}
    allocate_in_use(world, claim, world.name(node), [result])


@given('a ResourceClaim "{claim}" that is not allocated')
def _(world: World, claim: str) -> None:
    """A claim for one device of the driver that no scheduler has seen."""
    world.create(claim_object(world, claim, claim_spec(driver_class(world))))


@given('a ResourceClaim "{claim}" allocated on "{node}" with:')
def _(world: World, claim: str, node: str, docstring: str) -> None:
    """A claim with the `results` and `config` (YAML) of its allocation; see `full_results`, `full_configuration`."""
    written = manifests.parse_value(world.text(docstring))
    create_allocated(world, claim, node, written["results"], written.get("config") or ())


@given('a ResourceClaim "{claim}" allocated on "{node}" with {kind:word} {fields}')
def _(world: World, claim: str, node: str, kind: str, fields: str) -> None:
    """A claim with a free device and a configuration of this kind and these fields (YAML) for its request `gpu`."""
    parameters = {"apiVersion": CONFIG_API, "kind": kind, **manifests.parse_value(fields)}
    config = [{"requests": ["gpu"], "parameters": parameters}]
    create_allocated(world, claim, node, [{"request": "gpu", "device": "free"}], config)


@given('a ResourceClaim "{claim}" allocated on "{node}" and configured by:')
def _(world: World, claim: str, node: str, datatable: list[list[str]]) -> None:
    """A claim with a free device and configurations from a table: source, request (or all), kind, fields (YAML)."""
    config = [
        {
            "source": source,
            "requests": [] if request == "all" else [request],
            "parameters": {"apiVersion": CONFIG_API, "kind": kind, **manifests.parse_value(fields)},
        }
        for source, request, kind, fields in datatable[1:]
    ]
    create_allocated(world, claim, node, [{"request": "gpu", "device": "free"}], config)


@when('claim "{claim}" is allocated another device of "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """Deallocate the claim and allocate a device that exists, as a control plane does after a failure."""
    # Before the claim is deallocated, so that its former device is not among the free ones.
    results = free_results(world, node, 1)

    def clear(obj: Obj) -> None:
        # A claim without an allocation cannot be reserved.
        for field in ("allocation", "reservedFor"):
            obj.setdefault("status", {}).pop(field, None)

    # An update of its own: the API server refuses to exchange an allocation (rule DRA-084).
    world.update(RESOURCE_CLAIMS, claim, clear, subresource="status")
    allocate_in_use(world, claim, world.name(node), results)


@given('another driver has reported on its device of claim "{claim}"')
def _(world: World, claim: str) -> None:
    """Write an entry with a condition to `status.devices`, for the claim's first device of another driver."""
    own = world.run.options.driver_name
    result = next(one for one in results_of(world.get(RESOURCE_CLAIMS, claim)) if one["driver"] != own)
    linked = {
        "type": "Linked",
        "status": "True",
        "reason": "Up",
        "message": "",
        "lastTransitionTime": timestamp(world.clock.now()),
    }
    entry = {key: result[key] for key in ("driver", "pool", "device")} | {"conditions": [linked]}

    def change(obj: Obj) -> None:
        obj["status"]["devices"] = [entry]

    world.update(RESOURCE_CLAIMS, claim, change, subresource="status")
