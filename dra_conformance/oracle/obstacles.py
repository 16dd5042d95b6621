"""Explains why claims cannot be allocated on a node, in sentences that name the request and the obstacle.

Pure functions. An obstacle is a condition without which the claims would fit. It is found by repeating the exhaustive
search with one constraint or counter removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from dra_api.quantity import Quantity
from dra_conformance.core.plain_text import one_line
from dra_conformance.oracle import attributes, device_requests
from dra_conformance.oracle.cluster import Cluster
from dra_conformance.oracle.device_causes import WORDS, Cause, Stage, Supply
from dra_conformance.oracle.feasibility import SMALL_BUDGET, could_all_be_allocated
from dra_conformance.oracle.pools import Pool, PoolDevice, PoolId
from dra_conformance.oracle.schema import Claim, Constraint, Counter, DeviceRequest, ExactDeviceRequest, ResourceSlice
from dra_conformance.oracle.verdict import Settings

# More than any real counter.
_UNLIMITED = Counter(value=Quantity.parse("1E"))


@dataclass(frozen=True, slots=True)
class Names:
    """How sentences name claims, by key, and requests, by key and request. Others are named after their objects."""

    claims: Mapping[tuple[str, str], str] = field(default_factory=dict)
    requests: Mapping[tuple[tuple[str, str], str], str] = field(default_factory=dict)

    def claim(self, claim: Claim) -> str:
        """Return the name of a claim."""
        return self.claims.get(claim.key) or f"claim {claim.title}"

    def request(self, claim: Claim, name: str) -> str:
        """Return the name of a request with its claim."""
        return self.requests.get((claim.key, name)) or f"{self.claim(claim)}, request {name}"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why claims do not fit on a node: a sentence without the node's name, and an example from this node.

    `causes`: the devices that cannot be used, each with the reason.
    """

    sentence: str
    example: str = ""
    causes: tuple[Cause, ...] = ()

    def __str__(self) -> str:
        return f"{self.sentence} ({self.example})" if self.example else self.sentence


def obstacle(cluster: Cluster, claims: Sequence[Claim], node: str, *, settings: Settings | None = None) -> Obstacle:
    """Return why the claims of one pod do not fit on a node together. The caller has found that they do not."""
    search = _Search(cluster, node, Names(), settings or Settings(), frozenset(claim.key for claim in claims))
    # One alternative without a class ends the attempt, whatever the others are.
    if missing := [
        one for claim in claims for each in claim.spec.devices.requests for one in search.classless(claim, each)
    ]:
        return missing[0]
    for claim in claims:
        for device_request in claim.spec.devices.requests:
            reasons = [search.alone(claim, name, request) for name, request in device_request.alternatives]
            if all(reasons):
                return Obstacle(
                    "; ".join(reason.sentence for reason in reasons if reason),
                    "; ".join(reason.example for reason in reasons if reason and reason.example),
                )
    return search.together(claims)


def obstacles(
    cluster: Cluster,
    claims: Sequence[Claim],
    node: str,
    *,
    names: Names | None = None,
    settings: Settings | None = None,
) -> list[Obstacle]:
    """Return every obstacle of the claims of one pod on a node: one for each request, else those of all together.

    The caller has found that the claims do not fit. Of a request with alternatives, each alternative has its obstacle.
    """
    own = frozenset(claim.key for claim in claims)
    search = _Search(cluster, node, names or Names(), settings or Settings(), own)
    found: list[Obstacle] = []
    left: list[Claim] = []
    for claim in claims:
        kept: list[DeviceRequest] = []
        for device_request in claim.spec.devices.requests:
            if missing := search.classless(claim, device_request):
                found += missing
                continue
            reasons = [search.alone(claim, name, request) for name, request in device_request.alternatives]
            if all(reasons):
                found += [reason for reason in reasons if reason]
            else:
                kept.append(device_request)
        if kept:
            left.append(with_requests(claim, kept))
    if not found:
        return [search.together(claims)]
    if left and search.answer(left) == "no":
        found.append(search.together(left))
    return found


def failing_selectors(
    cluster: Cluster, claims: Sequence[Claim], node: str, *, names: Names | None = None
) -> list[Obstacle]:
    """Return an obstacle for each request with a selector whose evaluation fails for a device of the node."""
    own = frozenset(claim.key for claim in claims)
    search = _Search(cluster, node, names or Names(), Settings(), own)
    found = [
        search.alone(claim, name, request)
        for claim in claims
        for name, request in claim.requests_by_name.items()
        if request.device_class_name in cluster.classes_by_name and search.fails(request)
    ]
    return [one for one in found if one]


def with_requests(claim: Claim, requests: list[DeviceRequest]) -> Claim:
    """Return a claim with other requests."""
    devices = msgspec.structs.replace(claim.spec.devices, requests=requests)
    return msgspec.structs.replace(claim, spec=msgspec.structs.replace(claim.spec, devices=devices))


class _Search:
    """The devices of one node, and the search for obstacles among them. `own` are the keys of the pod's claims."""

    def __init__(
        self, cluster: Cluster, node: str, names: Names, settings: Settings, own: frozenset[tuple[str, str]]
    ) -> None:
        self.cluster = cluster
        self.node = node
        self.names = names
        self.settings = settings
        self.supply = Supply(cluster, cluster.node_view(node), own, settings)

    def answer(self, claims: Sequence[Claim], cluster: Cluster | None = None) -> str:
        """Return whether claims fit: yes, no or unknown."""
        found = could_all_be_allocated(
            cluster or self.cluster, claims, settings=self.settings, node=self.node, budget=SMALL_BUDGET
        )
        return "yes" if found.witness else found.verdict

    def classless(self, claim: Claim, device_request: DeviceRequest) -> list[Obstacle]:
        """Return an obstacle for each alternative of a request whose class does not exist."""
        return [
            Obstacle(f"{self.names.request(claim, name)}: the class {request.device_class_name} does not exist")
            for name, request in device_request.alternatives
            if request.device_class_name not in self.cluster.classes_by_name
        ]

    # -- one request ---------------------------------------------------------------------------------------------------

    def fails(self, request: ExactDeviceRequest) -> bool:
        """Whether a selector of the request or its class cannot be evaluated for a device of the node."""
        device_class = self.cluster.classes_by_name[request.device_class_name]
        return any(device_requests.unselected(entry, request, device_class)[1] for entry in self.supply.devices)

    def alone(self, claim: Claim, name: str, request: ExactDeviceRequest) -> Obstacle | None:
        """Return what keeps one request from enough devices, without regard to the others; None if nothing does.

        Its class exists.
        """
        who = self.names.request(claim, name)
        device_class = self.cluster.classes_by_name[request.device_class_name]
        supply = self.supply
        want = "all devices" if request.all_devices else _devices(request.count)
        hint = "; ".join(
            f"pool {pool.title}: {supply.problems[pool.id]}" for pool in supply.pools if pool.id in supply.problems
        )
        unusable = tuple(supply.unusable())
        if request.all_devices and supply.problems:
            return Obstacle(f"{who}: wants all devices, but a pool is incomplete or invalid", hint, unusable)
        if not supply.devices:
            return Obstacle(f"{who}: wants {want}, but none is offered", hint, unusable)
        judged = [(entry, supply.reasons(entry, request, device_class)) for entry in supply.devices]
        failed = [(entry, text) for entry, reasons in judged for stage, text in reasons if stage is Stage.EVALUATED]
        if failed:
            entry = failed[0][0]
            reason = one_line(device_requests.unselected(entry, request, device_class)[0])
            causes = tuple(Cause.of_device(entry.id, text) for entry, text in failed)
            return Obstacle(f"{who}: {reason}", f"on device {'/'.join(entry.id)}", causes)
        return self._too_few(who, want, request, judged, hint, unusable)

    def _too_few(
        self,
        who: str,
        want: str,
        request: ExactDeviceRequest,
        judged: list[tuple[PoolDevice, list[tuple[Stage, str]]]],
        hint: str,
        unusable: tuple[Cause, ...],
    ) -> Obstacle | None:
        """Return the first stage that leaves too few devices, with the reasons of all devices; None if enough pass."""
        left = judged
        # A request for all devices is for all that are selected and large enough, and needs at least one.
        choosing = (Stage.SELECTED, Stage.LARGE) if request.all_devices else ()
        for stage in (*choosing, *(one for one in WORDS if one not in choosing)):
            good = [(entry, reasons) for entry, reasons in left if all(at is not stage for at, _ in reasons)]
            need = request.count
            if request.all_devices:
                need = 1 if stage in choosing else len(left)
            if len(good) < need:
                counted = left if request.all_devices and stage not in choosing else judged
                causes = [Cause.of_device(entry.id, text) for entry, reasons in counted for _, text in reasons]
                named = ("/".join(e.id) + f" {text}" for e, reasons in left for at, text in reasons if at is stage)
                first = next(named, "")
                only = _only(len(good), len(left), WORDS[stage])
                if len(good) == len(judged):  # all devices are selected, and these are too few
                    only = f"only {len(good)} {'is' if len(good) == 1 else 'are'} offered"
                return Obstacle(
                    f"{who}: wants {want}, but {only}",
                    hint if stage is Stage.SELECTED else first,
                    (*causes, *unusable),
                )
            left = good
        return None

    # -- all requests --------------------------------------------------------------------------------------------------

    def together(self, claims: Sequence[Claim]) -> Obstacle:
        """Return the constraint, counter or number of devices that requests which fit alone break together."""

        def fits(other: Cluster = self.cluster, changed: Sequence[Claim] = claims) -> bool:
            return self.answer(changed, other) == "yes"

        title = self._title(claims)
        free = [_unconstrained(claim) for claim in claims]
        constraints = [(claim, one) for claim in claims for one in claim.spec.devices.constraints]
        if constraints and fits(changed=free):
            return self._unsatisfied(claims, constraints)
        pools = [pool for pool in self.supply.pools if pool.counters]
        for pool in pools:
            for counter in pool.counters:
                if fits(_unlimited(self.cluster, pool.id, counter)):
                    there = device_requests.show(pool.counters[counter])
                    left = device_requests.show(self.supply.counter_left(pool, counter))
                    name = f"counter {'/'.join(counter)} of pool {pool.title}"
                    return Obstacle(
                        f"{title}: {left} is left of the {there} of {name}, which is too little",
                        causes=tuple(self._consumers(pool, counter)),
                    )
        unbounded = self.cluster
        for pool in pools:
            unbounded = _unlimited(unbounded, pool.id, None)
        if pools and fits(unbounded):
            causes = tuple(
                cause for pool in pools for counter in pool.counters for cause in self._consumers(pool, counter)
            )
            return Obstacle(f"{title}: more than one shared counter has too little left", causes=causes)
        if pools and constraints and fits(unbounded, free):
            return Obstacle(f"{title}: shared counters and constraints together leave no choice")
        requested = sum(
            # Of alternatives the smallest, so that the number is never too high.
            min(request.count for _, request in device_request.alternatives)
            for claim in claims
            for device_request in claim.spec.devices.requests
        )
        return Obstacle(
            f"{title}: the requests together want {_devices(requested)}, but too few are free",
            causes=tuple(self._rejected(claims)),
        )

    def _unsatisfied(self, claims: Sequence[Claim], constraints: Sequence[tuple[Claim, Constraint]]) -> Obstacle:
        """Return the constraints that have no solution, or all of them if each has one."""

        def impossible(claim: Claim, constraint: Constraint) -> bool:
            kept = {claim.key: [constraint]}
            return self.answer([_with_constraints(one, kept.get(one.key, [])) for one in claims]) == "no"

        named = [pair for pair in constraints if impossible(*pair)]
        words = ", and none satisfy ".join(_constraint(constraint) for _, constraint in named)
        if not named:
            named = list(constraints)
            words = f"together {' and '.join(_constraint(constraint) for _, constraint in named)}"
        title = self._title([claim for claim in claims if any(claim is one for one, _ in named)])
        causes = tuple(cause for claim, constraint in named for cause in self._values(claim, constraint))
        return Obstacle(f"{title}: no free devices satisfy {words}", causes=causes)

    def _title(self, claims: Sequence[Claim]) -> str:
        known = [claim for claim in claims if claim.key in self.names.claims]
        others = [claim.title for claim in claims if claim not in known]
        plain = [f"claim{'s'[: len(others) != 1]} {', '.join(others)}"] if others else []
        return " and ".join([*plain, *(self.names.claim(claim) for claim in known)])

    def _candidates(self, request: ExactDeviceRequest) -> list[PoolDevice]:
        """Return the devices that the request could have without regard to other requests."""
        device_class = self.cluster.classes_by_name[request.device_class_name]
        return [entry for entry in self.supply.devices if not self.supply.reasons(entry, request, device_class)]

    def _values(self, claim: Claim, constraint: Constraint) -> Iterator[Cause]:
        """Yield the value that each candidate has of the attribute of a constraint."""
        attribute, _ = attributes.attribute_of(constraint)
        covered = [request for name, request in claim.requests_by_name.items() if constraint.covers(name)]
        entries = {entry.id: entry for request in covered for entry in self._candidates(request)}
        for entry in entries.values():
            found = attributes.values(entry, attribute)
            text = f"has no attribute {attribute}" if found is None else f"has {attribute}={attributes.show(found)}"
            yield Cause.of_device(entry.id, text)

    def _consumers(self, pool: Pool, counter: tuple[str, str]) -> Iterator[Cause]:
        """Yield the devices of other claims that consume a counter."""
        for entry, use in self.supply.holders(pool.id):
            if taken := entry.consumes.get(counter, 0):
                text = (
                    f"consumes {device_requests.show(taken)} of counter {'/'.join(counter)} for claim {use.claim.title}"
                )
                yield Cause.of_device(entry.id, text)

    def _rejected(self, claims: Sequence[Claim]) -> Iterator[Cause]:
        """Yield each reason against a device once, without devices that selectors of a request leave out."""
        found: dict[Cause, None] = {}
        for claim in claims:
            for request in claim.requests_by_name.values():
                device_class = self.cluster.classes_by_name[request.device_class_name]
                for entry in self.supply.devices:
                    for stage, text in self.supply.reasons(entry, request, device_class):
                        if stage is not Stage.SELECTED:
                            found[Cause.of_device(entry.id, text)] = None
        yield from found
        yield from self.supply.unusable()


# -- changed input ----------------------------------------------------------------------------------------------------


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
