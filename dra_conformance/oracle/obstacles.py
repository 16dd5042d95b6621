"""Explains why claims cannot be allocated on a node, in one sentence that names the request and the obstacle.

Pure functions. An obstacle is a condition without which the claims would fit. It is found by repeating the exhaustive
search with one constraint or counter removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from dra_api.quantity import Quantity
from dra_conformance.oracle import device_requests
from dra_conformance.oracle.cluster import Cluster, DeviceUse
from dra_conformance.oracle.feasibility import could_all_be_allocated
from dra_conformance.oracle.nodes import NodeView
from dra_conformance.oracle.pools import Pool, PoolDevice, PoolId
from dra_conformance.oracle.schema import Claim, Constraint, Counter, ExactDeviceRequest, ResourceSlice
from dra_conformance.oracle.verdict import Settings

# Smaller than in `feasibility`, because the search is repeated for each constraint and counter.
_BUDGET = 20_000
# More than any real counter.
_UNLIMITED = Counter(value=Quantity.parse("1E"))


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why claims do not fit on a node: a sentence without the node's name, and an example from this node."""

    sentence: str
    example: str = ""

    def __str__(self) -> str:
        return f"{self.sentence} ({self.example})" if self.example else self.sentence


def obstacle(cluster: Cluster, claims: Sequence[Claim], node: str, *, settings: Settings | None = None) -> Obstacle:
    """Return why the claims of one pod do not fit on a node together. The caller has found that they do not."""
    chosen = settings or Settings()
    for claim in claims:
        for device_request in claim.spec.devices.requests:
            reasons = [
                _alone(cluster, claims, claim, name, request, node, chosen)
                for name, request in device_request.alternatives
            ]
            if all(reasons):
                return Obstacle(
                    "; ".join(reason.sentence for reason in reasons if reason),
                    "; ".join(reason.example for reason in reasons if reason and reason.example),
                )
    return Obstacle(_together(cluster, claims, node, chosen))


# -- one request -----------------------------------------------------------------------------------------------------


def _alone(
    cluster: Cluster,
    claims: Sequence[Claim],
    claim: Claim,
    name: str,
    request: ExactDeviceRequest,
    node_name: str,
    settings: Settings,
) -> Obstacle | None:
    """Return what keeps one request from enough devices, without regard to the others; None if nothing does."""
    who = f"claim {claim.title}, request {name}"
    device_class = cluster.classes_by_name.get(request.device_class_name)
    if device_class is None:
        return Obstacle(f"{who}: the class {request.device_class_name} does not exist")
    node = cluster.node_view(node_name)
    offered = list(_offered(cluster, node, settings))
    want = "all devices" if request.all_devices else _devices(request.count)
    problems = [
        f"pool {pool.title}: {problem}"
        for pool in cluster.pools_for(node)
        if (problem := _problem(pool, node, settings)) and next(pool.devices(node), None) is not None
    ]
    hint = "; ".join(problems)
    if request.all_devices and problems:
        return Obstacle(f"{who}: wants all devices, but a pool is incomplete or invalid", hint)
    if not offered:
        return Obstacle(f"{who}: wants {want}, but none is offered", hint)
    refused = [(entry, *device_requests.unselected(entry, request, device_class)) for entry in offered]
    for entry, reason, failed in refused:
        if failed:
            return Obstacle(f"{who}: {reason}", f"on device {'/'.join(entry.id)}")
    matching = [entry for entry, reason, _ in refused if not reason]
    # A request for all devices needs at least one.
    need = request.count if not request.all_devices else max(len(matching), 1)
    if len(matching) < need:
        return Obstacle(
            f"{who}: wants {want}, but {_only(len(matching), len(offered), 'selected by its selectors')}", hint
        )
    own = {one.key for one in claims}
    if request.all_devices:
        # Allocation mode All means all devices that are large enough.
        matching = [entry for entry in matching if not _small(entry, request, settings)]
        need = max(len(matching), 1)
    # Each text continues "but only 1 of 8 is".
    checks: list[tuple[str, Callable[[PoolDevice], str]]] = [
        ("without a taint that it does not tolerate", lambda entry: _tainted(entry, request, settings)),
        ("large enough", lambda entry: _small(entry, request, settings)),
        ("free", lambda entry: _taken(cluster, entry, request, own, settings)),
    ]
    left = matching
    for words, check in checks:
        checked = [(entry, check(entry)) for entry in left]
        good = [entry for entry, why in checked if not why]
        if len(good) < need:
            first = next((f"{'/'.join(entry.id)} {why}" for entry, why in checked if why), "")
            return Obstacle(f"{who}: wants {want}, but {_only(len(good), len(left), words)}", first)
        left = good
    return None


def _problem(pool: Pool, node: NodeView, settings: Settings) -> str:
    return pool.problem(node, partitionable=settings.on("DRAPartitionableDevices"))


def _offered(cluster: Cluster, node: NodeView, settings: Settings) -> Iterator[PoolDevice]:
    for pool in cluster.pools_for(node):
        if not _problem(pool, node, settings):
            yield from pool.devices(node)


def _tainted(entry: PoolDevice, request: ExactDeviceRequest, settings: Settings) -> str:
    found = device_requests.untolerated(entry, request) if settings.on("DRADeviceTaints") else []
    return f"is tainted {found[0].key}={found[0].value}:{found[0].effect}" if found else ""


def _small(entry: PoolDevice, request: ExactDeviceRequest, settings: Settings) -> str:
    return device_requests.too_small(entry, request, shared=_shared(entry, settings))[1]


def _shared(entry: PoolDevice, settings: Settings) -> bool:
    return entry.device.allow_multiple_allocations and settings.on("DRAConsumableCapacity")


def _taken(
    cluster: Cluster, entry: PoolDevice, request: ExactDeviceRequest, own: set[tuple[str, str]], settings: Settings
) -> str:
    uses = [use for use in cluster.uses.get(entry.id, ()) if use.claim.key not in own]
    if request.admin_access or not uses:
        return ""
    if not _shared(entry, settings) or any(not use.result.share_id for use in uses):
        return f"is allocated to claim {uses[0].claim.title}"
    return _too_little_left(entry, request, uses)


def _too_little_left(entry: PoolDevice, request: ExactDeviceRequest, uses: Sequence[DeviceUse]) -> str:
    """Return which capacity of a shared device has too little left, or an empty text."""
    requested = device_requests.requested_capacity(entry, request)
    for short, capacity in entry.device.capacity.items():
        name = device_requests.qualified(short, entry.driver)
        names = {short, name}
        taken = sum(
            device_requests.amount(value)
            for use in uses
            for key, value in use.result.consumed_capacity.items()
            if key in names
        )
        left = device_requests.amount(capacity.value) - taken
        if device_requests.consumption(capacity, requested.get(name)) > left:
            return f"has {device_requests.show(left)} of {short} left of {capacity.value}"
    return ""


# -- all requests -----------------------------------------------------------------------------------------------------


def _together(cluster: Cluster, claims: Sequence[Claim], node_name: str, settings: Settings) -> str:
    """Return the constraint, counter or number of devices that requests which fit alone break together."""

    def fits(other: Cluster = cluster, changed: Sequence[Claim] = claims) -> bool:
        answer = could_all_be_allocated(other, changed, settings=settings, node=node_name, budget=_BUDGET)
        return bool(answer.witness)

    title = f"claim {claims[0].title}" if len(claims) == 1 else f"claims {', '.join(claim.title for claim in claims)}"
    for number, claim in enumerate(claims):
        for at, constraint in enumerate(claim.spec.devices.constraints):
            if fits(changed=[*claims[:number], _without(claim, at), *claims[number + 1 :]]):
                return f"claim {claim.title}: no free devices satisfy {_constraint(constraint)}"
    free = [_unconstrained(claim) for claim in claims]
    if any(claim.spec.devices.constraints for claim in claims) and fits(changed=free):
        return f"{title}: no free devices satisfy all its constraints together"
    node = cluster.node_view(node_name)
    pools = [pool for pool in cluster.pools_for(node) if pool.counters and next(pool.devices(node), None) is not None]
    for pool in pools:
        for counter in pool.counters:
            if fits(_unlimited(cluster, pool.id, counter)):
                there = pool.counters[counter]
                left = device_requests.show(there - _consumed(cluster, pool.id, counter, claims))
                name = f"counter {'/'.join(counter)} of pool {pool.title}"
                return f"{title}: {left} is left of the {device_requests.show(there)} of {name}, which is too little"
    unbounded = cluster
    for pool in pools:
        unbounded = _unlimited(unbounded, pool.id, None)
    if pools and fits(unbounded):
        return f"{title}: more than one shared counter has too little left"
    if pools and any(claim.spec.devices.constraints for claim in claims) and fits(unbounded, free):
        return f"{title}: shared counters and constraints together leave no choice"
    requested = sum(
        # Of alternatives the smallest, so that the number is never too high.
        min(request.count for _, request in device_request.alternatives)
        for claim in claims
        for device_request in claim.spec.devices.requests
    )
    return f"{title}: the requests together want {_devices(requested)}, but too few are free"


def _without(claim: Claim, at: int) -> Claim:
    kept = [one for number, one in enumerate(claim.spec.devices.constraints) if number != at]
    return _with_constraints(claim, kept)


def _unconstrained(claim: Claim) -> Claim:
    return _with_constraints(claim, [])


def _with_constraints(claim: Claim, constraints: list[Constraint]) -> Claim:
    devices = msgspec.structs.replace(claim.spec.devices, constraints=constraints)
    return msgspec.structs.replace(claim, spec=msgspec.structs.replace(claim.spec, devices=devices))


def _unlimited(cluster: Cluster, pool: PoolId, counter: tuple[str, str] | None) -> Cluster:
    """Return the cluster with an unlimited counter of a pool; with None, all counters of the pool are unlimited."""

    def changed(resource_slice: ResourceSlice) -> ResourceSlice:
        if (
            resource_slice.spec.driver,
            resource_slice.spec.pool.name,
        ) != pool or not resource_slice.spec.shared_counters:
            return resource_slice
        sets = [
            msgspec.structs.replace(
                found,
                counters={
                    name: _UNLIMITED if counter in (None, (found.name, name)) else value
                    for name, value in found.counters.items()
                },
            )
            for found in resource_slice.spec.shared_counters
        ]
        return msgspec.structs.replace(
            resource_slice, spec=msgspec.structs.replace(resource_slice.spec, shared_counters=sets)
        )

    # The copy builds its own pools, because a pool caches its counters.
    return replace(
        cluster, slices=tuple(changed(resource_slice) for resource_slice in cluster.slices), _known_pools=None
    )


def _consumed(cluster: Cluster, pool: PoolId, counter: tuple[str, str], claims: Sequence[Claim]) -> int:
    """Return the amount of a counter that devices of other claims consume, in billionths."""
    own = {claim.key for claim in claims}
    held = {
        entry.id: entry
        for use in cluster.uses_by_pool.get(pool, ())
        if use.claim.key not in own and (entry := cluster.pool_device(use.claim, use.result)) is not None
    }
    return sum(entry.consumes.get(counter, 0) for entry in held.values())


# -- text -----------------------------------------------------------------------------------------------------------


def _constraint(constraint: Constraint) -> str:
    kind = "matchAttribute" if constraint.match_attribute else "distinctAttribute"
    over = f" over requests {', '.join(constraint.requests)}" if constraint.requests else ""
    return f"{kind} {constraint.match_attribute or constraint.distinct_attribute}{over}"


def _only(some: int, every: int, words: str) -> str:
    """Return a text such as `only 1 of 8 is free` or `none of 8 is free`."""
    return f"{f'only {some}' if some else 'none'} of {every} {'is' if some < 2 else 'are'} {words}"


def _devices(count: int) -> str:
    return f"{count} device{'s'[: count != 1]}"
