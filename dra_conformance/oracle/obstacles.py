"""What stands in the way: why claims cannot be allocated on a node, in one sentence that names request and obstacle.

Pure functions. The obstacle is what, taken away, would let the claims fit; it is found by asking the exhaustive search
the same question again with one rule less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from dra_api.quantity import Quantity
from dra_conformance.oracle import device_requests
from dra_conformance.oracle.cluster import Cluster, Use
from dra_conformance.oracle.exists import could_all_be_allocated
from dra_conformance.oracle.nodes import Place
from dra_conformance.oracle.pools import Listed, Pool, PoolId
from dra_conformance.oracle.schema import Claim, Constraint, Counter, Slice, Wish
from dra_conformance.oracle.verdict import Settings

_BUDGET = 20_000
_ENDLESS = Counter(value=Quantity.parse("1E"))


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why claims do not fit on a node: a sentence that names no node, and what on this node is an example of it."""

    sentence: str
    example: str = ""

    def __str__(self) -> str:
        return f"{self.sentence} ({self.example})" if self.example else self.sentence


def obstacle(cluster: Cluster, claims: Sequence[Claim], node: str, *, settings: Settings | None = None) -> Obstacle:
    """Why the claims of one pod do not fit on a node together. Meant for claims that were found not to fit."""
    chosen = settings or Settings()
    for claim in claims:
        for request in claim.spec.devices.requests:
            reasons = [_lone(cluster, claims, claim, name, wish, node, chosen) for name, wish in request.alternatives]
            if all(reasons):
                return Obstacle(
                    "; ".join(reason.sentence for reason in reasons if reason),
                    "; ".join(reason.example for reason in reasons if reason and reason.example),
                )
    return Obstacle(_together(cluster, claims, node, chosen))


# -- one request -----------------------------------------------------------------------------------------------------


def _lone(
    cluster: Cluster, claims: Sequence[Claim], claim: Claim, name: str, wish: Wish, node: str, settings: Settings
) -> Obstacle | None:
    """What keeps one request from enough devices, whatever the others get; None when nothing does."""
    who = f"claim {claim.title}, request {name}"
    device_class = cluster.classes_by_name.get(wish.device_class_name)
    if device_class is None:
        return Obstacle(f"{who}: the class {wish.device_class_name} does not exist")
    place = cluster.place(node)
    offered = list(_offered(cluster, place, settings))
    want = "all devices" if wish.everything else _devices(wish.count)
    faults = [
        f"pool {pool.title}: {fault}"
        for pool in cluster.pools_for(place)
        if (fault := _fault(pool, place, settings)) and next(pool.devices(place), None) is not None
    ]
    hint = "; ".join(faults)
    if wish.everything and faults:
        return Obstacle(f"{who}: wants all devices, but a pool is not whole or not sound", hint)
    if not offered:
        return Obstacle(f"{who}: wants {want}, but none is offered", hint)
    refused = [(entry, *device_requests.unselected(entry, wish, device_class)) for entry in offered]
    for entry, reason, failed in refused:
        if failed:
            return Obstacle(f"{who}: {reason}", f"on device {'/'.join(entry.id)}")
    matching = [entry for entry, reason, _ in refused if not reason]
    need = wish.count if not wish.everything else max(len(matching), 1)
    if len(matching) < need:
        return Obstacle(
            f"{who}: wants {want}, but {_only(len(matching), len(offered), 'selected by its selectors')}", hint
        )
    own = {one.key for one in claims}
    if wish.everything:
        # Devices that are too small are not asked for; the others must all be had.
        matching = [entry for entry in matching if not _small(entry, wish, settings)]
        need = max(len(matching), 1)
    # The words follow "but only 1 of 8 matching is …".
    checks: list[tuple[str, Callable[[Listed], str]]] = [
        ("without a taint that it does not tolerate", lambda entry: _tainted(entry, wish, settings)),
        ("large enough", lambda entry: _small(entry, wish, settings)),
        ("free", lambda entry: _taken(cluster, entry, wish, own, settings)),
    ]
    left = matching
    for words, check in checks:
        told = [(entry, check(entry)) for entry in left]
        good = [entry for entry, why in told if not why]
        if len(good) < need:
            first = next((f"{'/'.join(entry.id)} {why}" for entry, why in told if why), "")
            return Obstacle(f"{who}: wants {want}, but {_only(len(good), len(left), words)}", first)
        left = good
    return None


def _fault(pool: Pool, place: Place, settings: Settings) -> str:
    return pool.fault(place, partitionable=settings.on("DRAPartitionableDevices"))


def _offered(cluster: Cluster, place: Place, settings: Settings) -> Iterator[Listed]:
    for pool in cluster.pools_for(place):
        if not _fault(pool, place, settings):
            yield from pool.devices(place)


def _tainted(entry: Listed, wish: Wish, settings: Settings) -> str:
    found = device_requests.untolerated(entry, wish) if settings.on("DRADeviceTaints") else []
    return f"is tainted {found[0].key}={found[0].value}:{found[0].effect}" if found else ""


def _small(entry: Listed, wish: Wish, settings: Settings) -> str:
    return device_requests.too_small(entry, wish, shared=_shared(entry, settings))[1]


def _shared(entry: Listed, settings: Settings) -> bool:
    return entry.device.allow_multiple_allocations and settings.on("DRAConsumableCapacity")


def _taken(cluster: Cluster, entry: Listed, wish: Wish, own: set[tuple[str, str]], settings: Settings) -> str:
    uses = [use for use in cluster.uses.get(entry.id, ()) if use.claim.key not in own]
    if wish.admin_access or not uses:
        return ""
    if not _shared(entry, settings) or any(not use.result.share_id for use in uses):
        return f"is held by claim {uses[0].claim.title}"
    return _crowded(entry, wish, uses)


def _crowded(entry: Listed, wish: Wish, uses: Sequence[Use]) -> str:
    """Which capacity of a shared device has too little left."""
    wanted = device_requests.wanted_capacity(entry, wish)
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
        if device_requests.consumption(capacity, wanted.get(name)) > left:
            return f"has {device_requests.show(left)} of {short} left of {capacity.value}"
    return ""


# -- all of them -----------------------------------------------------------------------------------------------------


def _together(cluster: Cluster, claims: Sequence[Claim], node: str, settings: Settings) -> str:
    """Each request could be served alone: the constraint, counter or number that all of them break together."""

    def fits(other: Cluster = cluster, wanted: Sequence[Claim] = claims) -> bool:
        answer = could_all_be_allocated(other, wanted, settings=settings, node=node, budget=_BUDGET)
        return bool(answer.witness)

    title = f"claim {claims[0].title}" if len(claims) == 1 else f"claims {', '.join(claim.title for claim in claims)}"
    for number, claim in enumerate(claims):
        for at, constraint in enumerate(claim.spec.devices.constraints):
            if fits(wanted=[*claims[:number], _without(claim, at), *claims[number + 1 :]]):
                return f"claim {claim.title}: no free devices satisfy {_constraint(constraint)}"
    free = [_unconstrained(claim) for claim in claims]
    if any(claim.spec.devices.constraints for claim in claims) and fits(wanted=free):
        return f"{title}: no free devices satisfy all its constraints together"
    place = cluster.place(node)
    pools = [pool for pool in cluster.pools_for(place) if pool.counters and next(pool.devices(place), None) is not None]
    for pool in pools:
        for counter in pool.counters:
            if fits(_endless(cluster, pool.id, counter)):
                there = pool.counters[counter]
                left = device_requests.show(there - _consumed(cluster, pool.id, counter, claims))
                name = f"counter {'/'.join(counter)} of pool {pool.title}"
                return f"{title}: {left} is left of the {device_requests.show(there)} of {name}, which is too little"
    unbounded = cluster
    for pool in pools:
        unbounded = _endless(unbounded, pool.id, None)
    if pools and fits(unbounded):
        return f"{title}: the shared counters do not suffice, more than one of them"
    if pools and any(claim.spec.devices.constraints for claim in claims) and fits(unbounded, free):
        return f"{title}: shared counters and constraints together leave no choice"
    wanted = sum(
        min(wish.count for _, wish in request.alternatives)
        for claim in claims
        for request in claim.spec.devices.requests
    )
    return f"{title}: the requests together want {_devices(wanted)}, but share too few free ones"


def _without(claim: Claim, at: int) -> Claim:
    kept = [one for number, one in enumerate(claim.spec.devices.constraints) if number != at]
    return _with_constraints(claim, kept)


def _unconstrained(claim: Claim) -> Claim:
    return _with_constraints(claim, [])


def _with_constraints(claim: Claim, constraints: list[Constraint]) -> Claim:
    devices = msgspec.structs.replace(claim.spec.devices, constraints=constraints)
    return msgspec.structs.replace(claim, spec=msgspec.structs.replace(claim.spec, devices=devices))


def _endless(cluster: Cluster, pool: PoolId, counter: tuple[str, str] | None) -> Cluster:
    """The cluster with so much of a counter (None: of all) of a pool that it is never in the way."""

    def changed(piece: Slice) -> Slice:
        if (piece.spec.driver, piece.spec.pool.name) != pool or not piece.spec.shared_counters:
            return piece
        sets = [
            msgspec.structs.replace(
                found,
                counters={
                    name: _ENDLESS if counter in (None, (found.name, name)) else value
                    for name, value in found.counters.items()
                },
            )
            for found in piece.spec.shared_counters
        ]
        return msgspec.structs.replace(piece, spec=msgspec.structs.replace(piece.spec, shared_counters=sets))

    return replace(cluster, slices=tuple(changed(piece) for piece in cluster.slices), _of=None)


def _consumed(cluster: Cluster, pool: PoolId, counter: tuple[str, str], claims: Sequence[Claim]) -> int:
    """What the devices that other claims hold take of a counter."""
    own = {claim.key for claim in claims}
    held = {
        entry.id: entry
        for use in cluster.uses_by_pool.get(pool, ())
        if use.claim.key not in own and (entry := cluster.listed(use.claim, use.result)) is not None
    }
    return sum(entry.consumes.get(counter, 0) for entry in held.values())


# -- words -----------------------------------------------------------------------------------------------------------


def _constraint(constraint: Constraint) -> str:
    kind = "matchAttribute" if constraint.match_attribute else "distinctAttribute"
    over = f" over requests {', '.join(constraint.requests)}" if constraint.requests else ""
    return f"{kind} {constraint.match_attribute or constraint.distinct_attribute}{over}"


def _only(some: int, every: int, words: str) -> str:
    """`only 1 of 8 is free`, `none of 8 is free`."""
    return f"{f'only {some}' if some else 'none'} of {every} {'is' if some < 2 else 'are'} {words}"


def _devices(count: int) -> str:
    return f"{count} device{'s'[: count != 1]}"
