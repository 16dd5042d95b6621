"""Allocations of capacity: claims that request shares of devices, and the shares that they are allocated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dra_api.allocations import results_of
from dra_api.clock import timestamp
from dra_api.objects import RESOURCE_CLAIMS, Obj
from dra_api.quantity import Quantity
from dra_conformance.core import manifests
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.claims import claim_object, claim_spec


@dataclass
class Reports:
    """Versions of claims just after a scenario wrote a device condition."""

    versions: dict[str, int] = field(default_factory=dict)


@given('a ResourceClaim "{claim}" for {count:d} of "{name}" with capacity {wanted}')
def _(world: World, claim: str, count: int, name: str, wanted: str) -> None:
    """Create a claim with one request, `gpu`, for some capacity of each device."""
    spec = claim_spec(world.name(name), count)
    requests = {key: str(value) for key, value in manifests.parse_value(wanted).items()}
    spec["devices"]["requests"][0]["exactly"]["capacity"] = {"requests": requests}
    world.create(claim_object(world, claim, spec))


@given('a ResourceClaim "{claim}" for all of "{name}" with capacity {wanted}')
def _(world: World, claim: str, name: str, wanted: str) -> None:
    """Create a claim with one request, `gpu`, for some capacity of every device of a node."""
    requests = {key: str(value) for key, value in manifests.parse_value(wanted).items()}
    exactly = {"deviceClassName": world.name(name), "allocationMode": "All", "capacity": {"requests": requests}}
    world.create(claim_object(world, claim, {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}))


@then('request "{request}" of claim "{claim}" takes {amounts}')
def _(world: World, request: str, claim: str, amounts: str) -> None:
    """The result of the request comes to consume exactly these capacities, compared as quantities."""
    wanted = {name: Quantity.parse(str(value)) for name, value in manifests.parse_value(amounts).items()}

    def look() -> Seen[list[Any]]:
        mine = [one for one in results_of(world.seen(RESOURCE_CLAIMS, claim)) if one["request"] == request]
        taken = [
            {name: Quantity.parse(str(value)) for name, value in (one.get("consumedCapacity") or {}).items()}
            for one in mine
        ]
        return taken == [wanted], [one.get("consumedCapacity") for one in mine]

    expected = [{name: str(value) for name, value in manifests.parse_value(amounts).items()}]
    world.eventually(f"request {request} of {claim} takes its share", look, expected=expected)


@then('the shares of claims "{claims}" have distinct ids')
def _(world: World, claims: str) -> None:
    """Every result of these claims comes to have a shareID, and no two are equal."""

    def look() -> Seen[str]:
        ids = [one.get("shareID") for name in words(claims) for one in results_of(world.seen(RESOURCE_CLAIMS, name))]
        return len(ids) > 0 and all(ids) and len(set(ids)) == len(ids), in_words(ids)

    world.eventually(f"shares of {claims} have distinct ids", look, expected="different shareIDs")


# -- binding conditions ------------------------------------------------------------------------------------------------


_DEVICE = ("driver", "pool", "device", "shareID")


@when('device "{device}" of claim "{claim}" reports "{kind}" {status:word}')
def _(world: World, device: str, claim: str, kind: str, status: str) -> None:
    """Write a condition of an allocated device into `status.devices`, in place of its driver.

    Of several shares of the device it is the first that has not reported the condition.
    """

    def change(obj: Obj) -> None:
        held = [result for result in results_of(obj) if result["device"] == device]
        if not held:
            raise Untestable(f"claim {claim} is not allocated the device {device}")
        devices = obj["status"].setdefault("devices", [])
        shares = [{key: one[key] for key in _DEVICE if key in one} for one in held]
        reported = [
            {key: one[key] for key in _DEVICE if key in one}
            for one in devices
            if any(condition["type"] == kind for condition in one.get("conditions") or ())
        ]
        where = next((one for one in shares if one not in reported), shares[0])
        mine = next((one for one in devices if where.items() <= one.items()), None)
        if mine is None:
            devices.append(mine := {**where, "conditions": []})
        kept = [one for one in mine.get("conditions") or () if one["type"] != kind]
        at = timestamp(world.clock.now())
        new = {"type": kind, "status": status, "reason": "Reported", "message": "by hand", "lastTransitionTime": at}
        mine["conditions"] = [*kept, new]

    updated = world.update(RESOURCE_CLAIMS, claim, change, subresource="status")
    world.state(Reports).versions[claim] = int(updated["metadata"]["resourceVersion"])


@then('claim "{claim}" is allocated again, without device conditions')
def _(world: World, claim: str) -> None:
    """After the last reported condition, the claim comes to be allocated and reserved, with empty `status.devices`."""
    reported = world.state(Reports).versions[claim]

    def look() -> Seen[dict[str, Any]]:
        seen = world.seen(RESOURCE_CLAIMS, claim) or {}
        status = seen.get("status") or {}
        later = bool(seen) and int(seen["metadata"]["resourceVersion"]) > reported
        again = status.get("allocation") is not None and not status.get("devices") and bool(status.get("reservedFor"))
        return later and again, {
            "allocated": status.get("allocation") is not None,
            "devices": status.get("devices") or [],
            "later": later,
            "reserved": bool(status.get("reservedFor")),
        }

    expected = {"allocated": True, "devices": [], "later": True, "reserved": True}
    world.eventually(f"claim {claim} is allocated again, without reports", look, expected=expected)
