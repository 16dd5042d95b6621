"""Faults in how a scheduler reads pools, requests, constraints, alternatives and configuration."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.scheduler.allocator import pools
from reference_impl.scheduler.allocator.model import MAX_RESULTS, AllocationError
from reference_impl.scheduler.allocator.search import ConstraintBreach

Obj = dict[str, Any]

_SCHEDULER = "reference_impl.scheduler"
_ALLOCATOR = f"{_SCHEDULER}.allocator"
_LISTS: dict[str, Any] = {"kubernetes_version": "1.37", "feature_gates": ("DRAListTypeAttributes=true",)}


def _without_short_cuts(patch: Patch) -> None:
    """Every attempt runs the search, which the faults below change."""
    patch.replace(f"{_ALLOCATOR}.allocate:out_of_reach", lambda problem, tasks: False)
    patch.replace(f"{_ALLOCATOR}.allocate:alike", lambda problem, tasks: False)


# -- pools -------------------------------------------------------------------------------------------------------------


@mutant("node-selector-term-for-each-slice", rule="DRA-144")
def _(patch: Patch) -> None:
    """Each device's node selector becomes a term of its own."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def node_selector(devices: Any, node: Any) -> Any:
            # One device at a time, so that the terms are not merged.
            terms = [term for one in devices for term in (original([one], node) or {}).get("nodeSelectorTerms", ())]
            return {"nodeSelectorTerms": terms} if terms else None

        return node_selector

    patch.wrap(f"{_ALLOCATOR}.results:node_selector", make)


@mutant("node-selector-requirements-repeated", rule="DRA-144")
def _(patch: Patch) -> None:
    """A requirement that two slices have is listed twice."""
    patch.replace(f"{_ALLOCATOR}.results:_merge", lambda into, requirements: into.extend(requirements))


@mutant(
    "node-selector-one-requirement-for-each-label",
    rule="DRA-144",
    scenario="allocation/pools#different-requirements-of-two-devices-on-one-label-are-all-in-the-node-selector-of-the-allocation",
)
def _(patch: Patch) -> None:
    """Of several requirements on one label the first one is taken."""

    def merge(into: Any, requirements: Any) -> None:
        into.extend(one for one in requirements if one["key"] not in {other["key"] for other in into})

    patch.replace(f"{_ALLOCATOR}.results:_merge", merge)


@mutant("all-ignores-incomplete-pools", rule="DRA-147")
def _(patch: Patch) -> None:
    """A request for all devices ignores an incomplete pool."""
    patch.replace(f"{_ALLOCATOR}.allocate:refuse_unusable_pools", lambda inventory, claim, sub: None)


def _generation_of_node(patch: Patch) -> None:
    """Only the slices for a node say which generation of a pool is the newest there."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def view_pool(slices: Any, node: Any, features: Any) -> Any:
            return original([one for one in slices if pools.offered_to(one, node)] or slices, node, features)

        return view_pool

    patch.wrap(f"{_ALLOCATOR}.pools:view_pool", make)


@mutant("newest-generation-of-each-node", rule="DRA-148b")
def _(patch: Patch) -> None:
    """Only the slices for a node say which generation of a pool is the newest there."""
    _generation_of_node(patch)


@mutant("newest-generation-for-each-node", rule="DRA-148")
def _(patch: Patch) -> None:
    """The newest generation is that of the slices for the node, complete or not."""
    _generation_of_node(patch)
    # The slices of a node may be only a part of their pool.
    patch.replace(f"{_ALLOCATOR}.pools:is_complete", lambda slices: True)


@mutant("duplicate-device-names-accepted", rule="DRA-149")
def _(patch: Patch) -> None:
    """A pool with two devices of one name is used."""
    patch.replace(f"{_ALLOCATOR}.pools:problem_in", lambda slices, devices, features: "")


@mutant("invalid-pool-reported-as-no-match", rule="DRA-150")
def _(patch: Patch) -> None:
    """An invalid pool is reported as a lack of devices."""
    patch.replace(f"{_ALLOCATOR}.allocate:INVALID_POOLS", "cannot allocate all claims")


@mutant("pools-in-reverse-order", rule="DRA-151")
def _(patch: Patch) -> None:
    """Pools are tried from the last to the first."""
    patch.wrap(f"{_ALLOCATOR}.pools:order", lambda original: lambda pools: list(reversed(original(pools))))


@mutant("pools-ordered-by-name-alone", rule="DRA-152")
def _(patch: Patch) -> None:
    """Pools are tried by name alone."""
    patch.replace(f"{_ALLOCATOR}.pools:order", lambda pools: sorted(pools, key=lambda pool: pool.id))


# -- requests and expressions ------------------------------------------------------------------------------------------


def _limits_are_no_errors(patch: Patch) -> None:
    patch.replace(f"{_ALLOCATOR}.allocate:Allocator._check_size", lambda self, claim, options: None)


@mutant("too-many-devices-reported-as-no-match", rule="DRA-156")
def _(patch: Patch) -> None:
    """More devices than a claim can have are reported as a lack of devices."""
    _limits_are_no_errors(patch)


@mutant("device-limit-for-each-request", rule="DRA-157")
def _(patch: Patch) -> None:
    """The limit of devices applies to each request alone."""
    _limits_are_no_errors(patch)


@mutant("impossible-constraint-not-reported", rule="DRA-173")
def _(patch: Patch) -> None:
    """A claim that can never be allocated waits as if devices were missing."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def choose(self: Any, problem: Any, options: Any) -> Any:
            try:
                return original(self, problem, options)
            except ConstraintBreach:
                return None

        return choose

    patch.wrap(f"{_ALLOCATOR}.allocate:Allocator._choose", make)


@mutant("selector-error-for-all-pods", rule="DRA-161b")
def _(patch: Patch) -> None:
    """After an expression has failed, every claim is reported as an error."""
    # Kept for the whole run, which has only this mutant.
    failed: list[str] = []

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def verdict(expression: Any, device: Any, features: Any) -> Any:
            answer = original(expression, device, features)
            if isinstance(answer, str):
                failed.append(answer)
            return failed[0] if failed else answer

        return verdict

    patch.wrap(f"{_ALLOCATOR}.selectors:verdict", make)


@mutant("includes-needs-a-list", rule="DRA-167", **_LISTS)
def _(patch: Patch) -> None:
    """includes() of a single value is never true."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def verdict(expression: Any, device: Any, features: Any) -> Any:
            single = any(not one.is_list for one in device.attributes.values())
            return False if single and "includes" in (expression or "") else original(expression, device, features)

        return verdict

    patch.wrap(f"{_ALLOCATOR}.selectors:verdict", make)


# -- constraints -------------------------------------------------------------------------------------------------------


@mutant("distinct-from-previous-device-only", rule="DRA-174")
def _(patch: Patch) -> None:
    """A device need only differ from the one before it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def add(constraint: Any, state: Any, offered: Any) -> Any:
            allowed, after = original(constraint, state, offered)
            # The state after a pick is that of the last device instead of all devices.
            return allowed, offered if constraint.kind == "distinctAttribute" else after

        return add

    patch.wrap(f"{_ALLOCATOR}.constraints:add", make)
    patch.replace(f"{_ALLOCATOR}.search:Search._hopeless", lambda self, number, nth, after: False)


@mutant("distinct-within-each-request", rule="DRA-469", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The devices of a request need only differ among themselves."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def decode_claim(obj: Any) -> Any:
            claim = original(obj)
            found: list[Any] = []
            for one in claim.constraints:
                if one.kind == "distinctAttribute":
                    found += [dataclasses.replace(one, requests=(request.name,)) for request in claim.requests]
                else:
                    found.append(one)
            return dataclasses.replace(claim, constraints=tuple(found))

        return decode_claim

    patch.wrap(f"{_SCHEDULER}.cycle:decode_claim", make)


@mutant("selector-error-on-later-devices-ignored", rule="DRA-161b")
def _(patch: Patch) -> None:
    """Only the first device of a node on which an expression fails is reported."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def matching(self: Any, request: Any, device_class: Any, claim: Any) -> Any:
            found = original(self, request, device_class, claim)
            return dataclasses.replace(found, failed=found.failed & 1)

        return matching

    patch.wrap(f"{_ALLOCATOR}.inventory:NodeInventory.matching", make)


@mutant("lists-of-text-have-no-values", rule="DRA-175", **_LISTS)
def _(patch: Patch) -> None:
    """Lists of strings and versions are read as attributes of an unknown type."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def values(device: Any, attribute: str, features: Any) -> Any:
            found = original(device, attribute, features)
            known = device.attribute(attribute)
            if found is None or not known.is_list:
                return found
            return frozenset(value for value in found if value[0] not in ("string", "version")) or None

        return values

    patch.wrap(f"{_ALLOCATOR}.constraints:values", make)


@mutant("lists-match-only-if-equal", rule="DRA-175", **_LISTS)
def _(patch: Patch) -> None:
    """Two lists match only if they are equal."""

    def match(state: Any, offered: Any) -> Any:
        return offered if state is None or state == offered else frozenset()

    patch.replace(f"{_ALLOCATOR}.constraints:match", match)


@mutant("common-values-not-restored", rule="DRA-176", **_LISTS)
def _(patch: Patch) -> None:
    """The common values are not restored when the search releases a device."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def give_back(self: Any, number: int, position: int, states: Any) -> None:
            # The current states in the place of those from before the device was taken.
            narrowed = self._states
            original(self, number, position, narrowed)

        return give_back

    _without_short_cuts(patch)
    patch.wrap(f"{_ALLOCATOR}.search:Search._give_back", make)
    patch.replace(f"{_ALLOCATOR}.search:Search._hopeless", lambda self, number, nth, after: False)


# -- configuration -----------------------------------------------------------------------------------------------------


@mutant("class-configuration-for-each-request", rule="DRA-178")
def _(patch: Patch) -> None:
    """The configuration of a class is listed for each request that uses it."""

    def make(original: Callable[..., list[Obj]]) -> Callable[..., list[Obj]]:
        def class_configs(chosen: Any, classes: Any) -> list[Obj]:
            return [{**entry, "requests": [name]} for entry in original(chosen, classes) for name in entry["requests"]]

        return class_configs

    patch.wrap(f"{_ALLOCATOR}.results:class_configs", make)


@mutant("configuration-of-unused-alternatives", rule="DRA-179b")
def _(patch: Patch) -> None:
    """Configuration for every alternative is copied."""
    patch.replace(
        f"{_ALLOCATOR}.results:claim_configs",
        lambda claim, chosen: [{"source": "FromClaim", **config} for config in claim.configs],
    )


@mutant("claim-configuration-for-each-request", rule="DRA-180")
def _(patch: Patch) -> None:
    """Configuration of several requests is listed for each of them."""

    def make(original: Callable[..., list[Obj]]) -> Callable[..., list[Obj]]:
        return lambda *args: [entry for entry in original(*args) for _ in entry.get("requests") or (None,)]

    patch.wrap(f"{_ALLOCATOR}.results:claim_configs", make)


@mutant("configuration-for-all-lists-its-requests", rule="DRA-482", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """Configuration that names all requests keeps their names (kubernetes#139731)."""
    patch.replace(f"{_ALLOCATOR}.results:without_lists_of_all", lambda allocation: allocation)


# -- alternatives ------------------------------------------------------------------------------------------------------


@mutant("alternatives-ignored-in-node-choice", rule="DRA-140")
def _(patch: Patch) -> None:
    """Alternatives do not affect the choice of a node."""
    patch.replace(f"{_SCHEDULER}.cycle:preference", lambda allocations: 0)


@mutant("alternatives-of-the-first-claim-count", rule="DRA-140")
def _(patch: Patch) -> None:
    """Only the alternatives of the pod's first claim affect the choice of a node."""
    patch.wrap(f"{_SCHEDULER}.cycle:preference", lambda original: lambda allocations: original(allocations[:1]))


@mutant("unsatisfied-alternatives-are-an-error", rule="DRA-183")
def _(patch: Patch) -> None:
    """A claim is reported as an error if no alternative can be allocated."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, attempt: dataclasses.replace(original(self, attempt), reason="SchedulerError")

    patch.wrap(f"{_SCHEDULER}.cycle:Cycle._refusal", make)


@mutant("alternatives-chosen-greedily", rule="DRA-184")
def _(patch: Patch) -> None:
    """The first alternative that can be allocated alone is never revised."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def choose(self: Any, problem: Any, options: Any) -> Any:
            kept = []
            for alternatives in options:
                # Each request alone, without the devices that the others need.
                fitting = [one for one in alternatives if self._solve(problem, [one.task]) is not None]
                kept.append(fitting[:1] or alternatives[:1])
            tasks = [alternatives[0].task for alternatives in kept]
            picked = self._solve(problem, tasks)
            numbers = tuple(alternatives[0].number for alternatives in kept)
            return None if picked is None else (tasks, picked, numbers)

        return choose

    patch.wrap(f"{_ALLOCATOR}.allocate:Allocator._choose", make)


@mutant("largest-alternative-counts-against-limit", rule="DRA-185")
def _(patch: Patch) -> None:
    """The largest alternative counts against the limit of a claim."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def options(self: Any, inventory: Any) -> Any:
            found = original(self, inventory)
            if sum(max(option.task.count for option in alternatives) for alternatives in found) > MAX_RESULTS:
                raise AllocationError("more devices are requested than a claim can hold")
            return found

        return options

    patch.wrap(f"{_ALLOCATOR}.allocate:Allocator._options", make)


def _covers(patch: Patch, how: Callable[[Any, Any], bool]) -> None:
    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        return lambda self, request: original(self, request) if not self.requests else how(self, request)

    patch.wrap(f"{_ALLOCATOR}.model:Constraint.covers", make)


@mutant("constraint-misses-alternatives", rule="DRA-186")
def _(patch: Patch) -> None:
    """A constraint on a request does not apply to its alternatives."""
    _covers(patch, lambda constraint, request: request.name in constraint.requests)


@mutant("constraint-on-all-alternatives", rule="DRA-186")
def _(patch: Patch) -> None:
    """A constraint on one alternative applies to the others too."""
    _covers(
        patch,
        lambda constraint, request: any(name.split("/")[0] == request.parent for name in constraint.requests),
    )


@mutant("constraints-on-alternatives-ignored", rule="DRA-186b")
def _(patch: Patch) -> None:
    """Constraints on alternatives are ignored, so that the first is always used."""
    _covers(patch, lambda constraint, request: request.name in constraint.requests and "/" not in request.name)


@mutant("all-without-devices-accepted", rule="DRA-187")
def _(patch: Patch) -> None:
    """An alternative with mode All and no matching device is allocated without devices."""
    patch.replace(
        f"{_ALLOCATOR}.allocate:can_take_all",
        lambda task: not task.everything or task.mask.bit_count() == task.count,
    )


@mutant("alternative-of-unknown-class-skipped", rule="DRA-188")
def _(patch: Patch) -> None:
    """An alternative of an unknown class is skipped."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(self: Any, claims: Any, classes: Any, **more: Any) -> None:
            kept = [
                dataclasses.replace(
                    claim,
                    requests=tuple(
                        dataclasses.replace(
                            request, alternatives=tuple(s for s in request.alternatives if s.class_name in classes)
                        )
                        for request in claim.requests
                    ),
                )
                for claim in claims
            ]
            original(self, kept, classes, **more)

        return init

    patch.wrap(f"{_ALLOCATOR}.allocate:Allocator.__init__", make)


@mutant("gate-of-lists-is-not-passed-on", rule="DRA-175", **_LISTS)
def _(patch: Patch) -> None:
    """The allocator has no lists, although the gate is on."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def values(device: Any, attribute: str, features: Any) -> Any:
            return original(device, attribute, dataclasses.replace(features, list_attributes=False))

        return values

    patch.wrap(f"{_ALLOCATOR}.constraints:values", make)


@mutant("pools-in-another-order-each-time", rule="DRA-151")
def _(patch: Patch) -> None:
    """The order of pools changes from one attempt to the next."""
    attempts = itertools.count()

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def order(pools: Any) -> Any:
            found = list(original(pools))
            return found if next(attempts) % 2 else found[::-1]

        return order

    patch.wrap(f"{_ALLOCATOR}.pools:order", make)


@mutant("all-of-no-devices", rule="DRA-154b")
def _(patch: Patch) -> None:
    """A request for all devices is allocated without devices if none matches."""
    patch.replace(
        f"{_ALLOCATOR}.allocate:can_take_all",
        lambda task: not task.everything or task.mask.bit_count() == task.count,
    )


@mutant("missing-attribute-is-distinct", rule="DRA-169b")
def _(patch: Patch) -> None:
    """A device without the attribute is distinct from any."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def constrained(self: Any, task: Any, position: int) -> Any:
            device = self._inventory.devices[position]
            lacking = [n for n in task.constraints if device.attribute(self._problem.constraints[n].attribute) is None]
            return self._states if lacking else original(self, task, position)

        return constrained

    _without_short_cuts(patch)
    patch.wrap(f"{_ALLOCATOR}.search:Search._constrained", make)
    patch.replace(f"{_ALLOCATOR}.search:Search._hopeless", lambda self, number, nth, after: False)
