"""ResourcePoolStatusRequests: a controller writes the status of each request once.

The controller counts from its caches, which may lack what a scenario has just written. A request that shows an older
state is no verdict: the next one has to show the new state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dra_api.objects import RESOURCE_POOL_STATUS_REQUESTS, Obj, name_of
from dra_api.quantity import Quantity
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.values import expectation
from dra_conformance.engine.vocabulary import then
from dra_conformance.engine.world import World, in_words
from dra_conformance.steps.objects import value_of

_QUANTITIES = ("total", "consumed", "available")


@dataclass
class PoolStatuses:
    """The requests of the scenario that have a status, by name; `made` counts all requests."""

    statuses: dict[str, Obj] = field(default_factory=dict)
    made: int = 0


def request_status(world: World, spec: object) -> str:
    """Create a ResourcePoolStatusRequest and return its name."""
    held = world.state(PoolStatuses)
    held.made += 1
    name = world.name(f"pools-{held.made}")
    resource = RESOURCE_POOL_STATUS_REQUESTS
    obj = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}
    return name_of(world.create(obj))


def status_of(world: World, name: str) -> Obj | None:
    """Return the status of a request; None if it has none yet."""
    status: Obj | None = world.client.get(RESOURCE_POOL_STATUS_REQUESTS, name).get("status")
    return status


def meets(seen: Any, wanted: Any, *, key: str = "") -> bool:
    """Return whether a value has all that `wanted` has. A `null` field is absent; a text is an expectation."""
    if isinstance(wanted, dict):
        return isinstance(seen, dict) and all(meets(seen.get(name), value, key=name) for name, value in wanted.items())
    if isinstance(wanted, list):
        if not isinstance(seen, list) or len(seen) != len(wanted):
            return False
        return all(meets(one, other, key=key) for one, other in zip(seen, wanted, strict=True))
    if wanted is not None and seen is not None and key in _QUANTITIES:
        return Quantity.parse(str(seen)) == Quantity.parse(str(wanted))
    return expectation(wanted).is_met(seen) if isinstance(wanted, str) else bool(seen == wanted)


def complete(status: Obj) -> bool:
    """Return whether a status has the condition Complete, and no condition Failed."""
    found = {str(one.get("type")): one.get("status") for one in status.get("conditions") or ()}
    return found.get("Complete") == "True" and found.get("Failed") != "True"


@then("a ResourcePoolStatusRequest for {spec} comes to report:")
def _(world: World, spec: str, docstring: str) -> None:
    """A request with this spec is Complete with these fields (YAML): the first one, or a later one."""
    wanted = manifests.parse_value(world.text(docstring))
    if not isinstance(wanted, dict):
        raise SpecificationError(f"{world.scenario.where}: a status is a mapping, not {wanted!r}")
    sent = value_of(world, spec)
    held = world.state(PoolStatuses)
    last: Obj | None = None

    def reported() -> bool:
        nonlocal last
        name = request_status(world, sent)
        if not world.poll(lambda: status_of(world, name) is not None):
            last = None
            return True  # no answer: further requests would wait as long
        last = status_of(world, name) or {}
        held.statuses[name] = last
        return complete(last) and meets(last, wanted)

    world.poll(reported)
    ok = last is not None and complete(last) and meets(last, wanted)
    world.check(ok, f"the status of a request for {spec}", expected={**wanted, "condition": "Complete"}, observed=last)


@then('a ResourcePoolStatusRequest for {spec} reports no number of devices of pool "{pool}"')
def _(world: World, spec: str, pool: str) -> None:
    """A request has no status for some seconds, or one with a validationError and no numbers for this pool."""
    name = request_status(world, value_of(world, spec))
    numbers = {"totalDevices": None, "allocatedDevices": None, "availableDevices": None, "unavailableDevices": None}

    def wrong() -> bool:
        status = status_of(world, name)
        if status is None:
            return False
        pools = [one for one in status.get("pools") or () if one.get("poolName") == pool]
        return len(pools) != 1 or not meets(pools[0], {**numbers, "validationError": "set"})

    counted = world.poll(wrong, within=world.run.quiet)
    seen = status_of(world, name)
    expected = f"no status, or a validationError and no numbers for {pool}"
    world.check(not counted, f"the status of a request for {spec}", expected=expected, observed=in_words(seen))


@then("the earlier ResourcePoolStatusRequests still report the same")
def _(world: World) -> None:
    """No status of a request has changed since it was written."""
    for name, status in world.state(PoolStatuses).statuses.items():
        now = status_of(world, name)
        world.check(now == status, f"the status of {name} stays", expected=status, observed=now)
