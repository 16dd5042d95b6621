"""Faults of a scheduler that only show with a second device, request, container, driver, pool, claim or attempt."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from dra_api.quantity import Quantity
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.scheduler.allocator.model import amount

Obj = dict[str, Any]

_SCHEDULER = "reference_impl.scheduler"
_ALLOCATOR = f"{_SCHEDULER}.allocator"
_EXTENDED = f"{_SCHEDULER}.extended_resources"


# Pruning included: it counts by the correct rules and would end the search before the fault has an effect.
def _without_short_cuts(patch: Patch) -> None:
    """Every attempt runs the search, which the faults below change."""
    patch.replace(f"{_ALLOCATOR}.allocate:out_of_reach", lambda problem, tasks: False)
    patch.replace(f"{_ALLOCATOR}.allocate:alike", lambda problem, tasks: False)
    patch.replace(f"{_ALLOCATOR}.search:Search._hopeless", lambda self, number, nth, after: False)


def _results(patch: Patch, change: Callable[[Any, Obj], Obj]) -> None:
    """Change the allocation results: `change(request, result)` gives the written one."""

    def make(original: Callable[..., Obj]) -> Callable[..., Obj]:
        return lambda request, *args, **named: change(request, original(request, *args, **named))

    patch.wrap(f"{_ALLOCATOR}.results:device_result", make)


def _without(result: Obj, field: str) -> Obj:
    return {key: value for key, value in result.items() if key != field}


# -- admin access ------------------------------------------------------------------------------------------------------


@mutant("admin-access-not-marked-in-mode-all", rule="DRA-233")
def _(patch: Patch) -> None:
    """Results of a request for all devices are not marked adminAccess."""
    _results(patch, lambda request, found: _without(found, "adminAccess") if request.all_devices else found)


@mutant("admin-access-of-first-result-only", rule="DRA-233")
def _(patch: Patch) -> None:
    """Only the first result of an allocation is marked adminAccess."""

    def make(original: Callable[..., Obj]) -> Callable[..., Obj]:
        def assemble(*args: Any, **named: Any) -> Obj:
            found = original(*args, **named)
            first, *others = found["devices"]["results"]
            results = [first, *(_without(one, "adminAccess") for one in others)]
            return {**found, "devices": {**found["devices"], "results": results}}

        return assemble

    patch.wrap(f"{_ALLOCATOR}.results:assemble", make)


@mutant("admin-access-of-one-request-marks-all", rule="DRA-233")
def _(patch: Patch) -> None:
    """If one request of a claim has admin access, all results of the claim are marked."""

    def make(original: Callable[..., Obj]) -> Callable[..., Obj]:
        def assemble(*args: Any, **named: Any) -> Obj:
            found = original(*args, **named)
            results = found["devices"]["results"]
            if any(one.get("adminAccess") for one in results):
                results = [{**one, "adminAccess": True} for one in results]
            return {**found, "devices": {**found["devices"], "results": results}}

        return assemble

    patch.wrap(f"{_ALLOCATOR}.results:assemble", make)


# -- constraints -------------------------------------------------------------------------------------------------------


def _values(patch: Patch, change: Callable[[tuple[str, Any]], object]) -> None:
    """Change which values of attributes are equal under constraints."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def values(*args: Any) -> Any:
            found = original(*args)
            return found if found is None else frozenset(map(change, found))

        return values

    patch.wrap(f"{_ALLOCATOR}.constraints:values", make)


@mutant("booleans-match-numbers", rule="DRA-170")
def _(patch: Patch) -> None:
    """Values are compared without their type, so that true equals 1, as in Python."""
    _values(patch, lambda value: value[1] if value[0] in ("bool", "int") else value)


@mutant("numbers-match-their-digits", rule="DRA-170")
def _(patch: Patch) -> None:
    """Numbers are compared as strings."""
    _values(patch, lambda value: ("string", str(value[1])) if value[0] == "int" else value)


# -- limits ------------------------------------------------------------------------------------------------------------


@mutant("limit-reached-counts-as-exceeded", rule="DRA-157")
def _(patch: Patch) -> None:
    """A claim cannot have 32 devices, only fewer."""
    patch.replace(f"{_ALLOCATOR}.allocate:exceeds_limit", lambda devices: devices >= 32)


@mutant("limit-of-all-reached-counts-as-exceeded", rule="DRA-156")
def _(patch: Patch) -> None:
    """A claim cannot have 32 devices, only fewer."""
    patch.replace(f"{_ALLOCATOR}.allocate:exceeds_limit", lambda devices: devices >= 32)


@mutant("limit-for-each-pod", rule="DRA-157")
def _(patch: Patch) -> None:
    """The limit of devices applies to all claims of a pod together."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def solve(self: Any, problem: Any, tasks: Any) -> Any:
            return None if sum(task.count for task in tasks) > 32 else original(self, problem, tasks)

        return solve

    patch.wrap(f"{_ALLOCATOR}.allocate:Allocator._solve", make)


@mutant("alternative-alone-counts-against-limit", rule="DRA-185")
def _(patch: Patch) -> None:
    """The devices of other requests do not count against the limit when an alternative is chosen."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def solve(self: Any, problem: Any, tasks: Any) -> Any:
            if any(task.count > 32 for task in tasks):
                return None
            return original(self, problem, tasks)

        return solve

    patch.wrap(f"{_ALLOCATOR}.allocate:Allocator._solve", make)
    patch.replace(f"{_ALLOCATOR}.allocate:exceeds_limit", lambda devices: False)


# -- capacity policies -------------------------------------------------------------------------------------------------


@mutant("steps-counted-from-zero", rule="DRA-204")
def _(patch: Patch) -> None:
    """Steps of a range are counted from zero instead of from its minimum."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def rounded(requested: Any, valid: Obj) -> Any:
            minimum = Quantity.parse(str(valid["min"]))
            if requested <= minimum or valid.get("step") is None:
                return original(requested, valid)
            step = amount(valid["step"])
            return Quantity(-(-requested.scaled_value(-9) // step) * step // 10**9)

        return rounded

    patch.wrap(f"{_ALLOCATOR}.capacity:round_up_to_range", make)


@mutant("step-added-on-a-step", rule="DRA-204")
def _(patch: Patch) -> None:
    """A requested capacity is always rounded up to a greater value, also if it is one of the range."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def rounded(requested: Any, valid: Obj) -> Any:
            if requested <= Quantity.parse(str(valid["min"])) or valid.get("step") is None:
                return original(requested, valid)
            return original(Quantity(requested.scaled_value(-9) // 10**9 + 1), valid)

        return rounded

    patch.wrap(f"{_ALLOCATOR}.capacity:round_up_to_range", make)


@mutant("greatest-value-excluded", rule="DRA-205")
def _(patch: Patch) -> None:
    """The maximum of a range is not a valid value."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def violates(capacity: Any, consumed: Any) -> bool:
            maximum = ((capacity.policy or {}).get("validRange") or {}).get("max")
            return original(capacity, consumed) or (maximum is not None and consumed >= Quantity.parse(str(maximum)))

        return violates

    patch.wrap(f"{_ALLOCATOR}.capacity:violates", make)


@mutant("only-requested-capacities-consumed", rule="DRA-202")
def _(patch: Patch) -> None:
    """A request with a capacity consumes nothing of the other capacities of the device."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def consumed_by(device: Any, request: Any) -> Any:
            found = original(device, request)
            named = {name.rpartition("/")[2] for name, _ in request.capacity}
            return {name: value for name, value in found.items() if name in named} if named else found

        return consumed_by

    patch.wrap(f"{_ALLOCATOR}.capacity:consumed_by", make)


# -- extended resources ------------------------------------------------------------------------------------------------


def _wanted(patch: Patch, change: Callable[[Any], Any]) -> None:
    """Change the device requests of a pod."""
    patch.wrap(f"{_EXTENDED}:wanted", lambda original: lambda *args: change(original(*args)))


@mutant("devices-for-first-container-only", rule="DRA-239")
def _(patch: Patch) -> None:
    """Only the first container with extended resources gets devices."""

    def first(found: Any) -> Any:
        container = found.mappings[0]["containerName"]
        mappings = tuple(one for one in found.mappings if one["containerName"] == container)
        names = {one["requestName"] for one in mappings}
        return dataclasses.replace(
            found, mappings=mappings, requests=tuple(one for one in found.requests if one["name"] in names)
        )

    _wanted(patch, first)


@mutant("devices-for-first-resource-only", rule="DRA-239")
def _(patch: Patch) -> None:
    """Only the first extended resource of a pod gets devices."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda pod, resources, names: original(pod, resources, sorted(names)[:1])

    patch.wrap(f"{_EXTENDED}:wanted", make)


@mutant("first-container-mapped-only", rule="DRA-242")
def _(patch: Patch) -> None:
    """The pod's status has the devices of the first container only."""
    _wanted(patch, lambda found: dataclasses.replace(found, mappings=found.mappings[:1]))


@mutant("all-containers-mapped-to-first-request", rule="DRA-242")
def _(patch: Patch) -> None:
    """The pod's status maps every container to the first request."""

    def same(found: Any) -> Any:
        name = found.requests[0]["name"]
        return dataclasses.replace(found, mappings=tuple({**one, "requestName": name} for one in found.mappings))

    _wanted(patch, same)


@mutant("device-plugin-for-one-is-for-all", rule="DRA-241")
def _(patch: Patch) -> None:
    """If a device plugin provides one resource of a pod, no claim is created for the others."""

    def make(original: Callable[..., frozenset[str]]) -> Callable[..., frozenset[str]]:
        def by_devices(resources: Any, allocatable: Any) -> frozenset[str]:
            found = original(resources, allocatable)
            return found if len(found) == len(resources) else frozenset()

        return by_devices

    patch.wrap(f"{_EXTENDED}:by_devices", make)
