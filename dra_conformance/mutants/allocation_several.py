"""Faults of a scheduler that only show with a second device, request, container, driver, pool, claim or attempt."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec

from dra_api.quantity import Quantity
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.scheduler import cycle
from reference_impl.scheduler.allocator import counters
from reference_impl.scheduler.allocator.model import AllocationError, amount
from reference_impl.scheduler.pod_claims import NotReady
from reference_impl.scheduler.publish import PublishError

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


# -- pools and drivers -------------------------------------------------------------------------------------------------


def _pool_without(patch: Patch, part: str) -> None:
    """Devices in use are recorded without a part of their pool's identity, so that they block others of their name."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def add(self: Any, results: Any) -> None:
            found = [one for one in results if not one.get("adminAccess")]
            original(self, found)
            self.__dict__.setdefault("named", set()).update((one[part], one["device"]) for one in found)

        return add

    def make_in_use(original: Callable[..., int]) -> Callable[..., int]:
        def in_use(self: Any, taken: Any) -> int:
            busy = original(self, taken)
            for position, device in enumerate(self.devices):
                if (getattr(device.id, part), device.id.device) in getattr(taken, "named", ()):
                    busy |= 1 << position
            return busy

        return in_use

    patch.wrap(f"{_ALLOCATOR}.taken:Taken.add", make)
    patch.wrap(f"{_ALLOCATOR}.inventory:NodeInventory.in_use", make_in_use)


@mutant("devices-in-use-without-driver", rule="DRA-133c")
def _(patch: Patch) -> None:
    """A device in use blocks a device of its name in a pool of its name of another driver."""
    _pool_without(patch, "pool")


@mutant("devices-in-use-without-pool", rule="DRA-133c")
def _(patch: Patch) -> None:
    """A device in use blocks the devices of its name in all pools of its driver."""
    _pool_without(patch, "driver")


@mutant("newest-generation-of-all-pools", rule="DRA-145")
def _(patch: Patch) -> None:
    """The newest generation of one pool makes the slices of all pools with a lower number obsolete."""
    newest: list[int] = [0]

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def view_pool(slices: Any, *args: Any) -> Any:
            newest[0] = max(newest[0], *(one.generation for one in slices))
            obsolete = max(one.generation for one in slices) < newest[0]
            return None if obsolete else original(slices, *args)

        return view_pool

    patch.wrap(f"{_ALLOCATOR}.pools:view_pool", make)


@mutant("older-slices-complete-a-pool", rule="DRA-146")
def _(patch: Patch) -> None:
    """Slices of older generations count when a pool is checked for completeness."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def view_pool(slices: Any, node: Any, features: Any) -> Any:
            newest = max(one.generation for one in slices)
            current = [one for one in slices if one.generation == newest]
            whole = len(slices) >= max(one.slice_count for one in current)
            if whole:
                current = [dataclasses.replace(one, slice_count=len(current)) for one in current]
            return original(current, node, features)

        return view_pool

    patch.wrap(f"{_ALLOCATOR}.pools:view_pool", make)


@mutant("all-of-first-pool-only", rule="DRA-154")
def _(patch: Patch) -> None:
    """A request for all devices gets those of the first pool that has any."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def task(self: Any, inventory: Any, claim_number: int, sub: Any) -> Any:
            found = original(self, inventory, claim_number, sub)
            if not found.everything or not found.mask:
                return found
            positions = [at for at in range(len(inventory.devices)) if found.mask >> at & 1]
            pool = inventory.devices[positions[0]].id.pool
            mask = sum(1 << at for at in positions if inventory.devices[at].id.pool == pool)
            return msgspec.structs.replace(found, mask=mask, count=mask.bit_count())

        return task

    patch.wrap(f"{_ALLOCATOR}.allocate:Allocator._task", make)


@mutant("selector-for-another-node", rule="DRA-141")
def _(patch: Patch) -> None:
    """The node selector of an allocation names the first node that was considered."""
    first: list[Any] = []

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def on(self: Any, inventory: Any, *args: Any, **named: Any) -> Any:
            first.append(inventory.node)
            return original(self, inventory, *args, **named)

        return on

    patch.wrap(f"{_ALLOCATOR}.allocate:Allocator.on", make)
    patch.wrap(
        f"{_ALLOCATOR}.results:node_selector", lambda original: lambda devices, node: original(devices, first[0])
    )


# -- backtracking ------------------------------------------------------------------------------------------------------


def _counters_given_back(patch: Patch, kept: Callable[[list[Any]], list[Any]]) -> None:
    """Only some of the counters of a released device are available again."""

    def give_back(device: Any, left: dict[Any, int]) -> None:
        for counter in kept(list(device.counters)):
            left[counter] += device.counters[counter]

    _without_short_cuts(patch)
    patch.replace(f"{_ALLOCATOR}.counters:give_back", give_back)


@mutant("first-counter-given-back", rule="DRA-196")
def _(patch: Patch) -> None:
    """The search gives back one counter of each counter set."""
    _counters_given_back(patch, lambda names: list({name[0]: name for name in reversed(names)}.values()))


@mutant("first-counter-set-given-back", rule="DRA-196")
def _(patch: Patch) -> None:
    """The search gives back the counters of the first counter set of a device."""
    _counters_given_back(patch, lambda names: [name for name in names if name[0] == names[0][0]])


@mutant("device-outside-constraint-consumes-counters", rule="DRA-196")
def _(patch: Patch) -> None:
    """A device that is skipped because of a constraint consumes counters (#140436)."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def constrained(self: Any, task: Any, position: int) -> Any:
            states = original(self, task, position)
            device = self._inventory.devices[position]
            if states is None and device.counters:
                counters.take(device, self._left[device.id.pool_id])
            return states

        return constrained

    _without_short_cuts(patch)
    patch.wrap(f"{_ALLOCATOR}.search:Search._constrained", make)


@mutant("capacity-of-released-device-kept", rule="DRA-172")
def _(patch: Patch) -> None:
    """The search does not give back the capacity of a shared device that it releases."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        return lambda self, task, position, sign: original(self, task, position, sign) if sign > 0 else None

    _without_short_cuts(patch)
    patch.wrap(f"{_ALLOCATOR}.search:Search._share", make)


# -- alternatives ------------------------------------------------------------------------------------------------------


@mutant("tolerations-of-alternatives-lost", rule="DRA-220")
def _(patch: Patch) -> None:
    """The result of an alternative has no tolerations."""
    _results(patch, lambda request, found: _without(found, "tolerations") if "/" in request.name else found)


@mutant("tolerations-of-first-request-in-all-results", rule="DRA-220")
def _(patch: Patch) -> None:
    """All results of a claim have the tolerations of its first request."""

    def make(original: Callable[..., Obj]) -> Callable[..., Obj]:
        def assemble(*args: Any, **named: Any) -> Obj:
            found = original(*args, **named)
            results = found["devices"]["results"]
            if tolerations := results[0].get("tolerations"):
                results = [{**one, "tolerations": tolerations} for one in results]
            return {**found, "devices": {**found["devices"], "results": results}}

        return assemble

    patch.wrap(f"{_ALLOCATOR}.results:assemble", make)


def _claim_configs(patch: Patch, applies: Callable[[Any, set[str]], bool]) -> None:
    """Change which configuration of the claim is in the allocation: `applies(config, chosen requests)`."""

    def claim_configs(claim: Any, chosen: Any) -> list[Obj]:
        names = {request.name for request, _ in chosen}
        return [{"source": "FromClaim", **config} for config in claim.configs if applies(config, names)]

    patch.replace(f"{_ALLOCATOR}.results:claim_configs", claim_configs)


@mutant("configuration-of-a-request-not-for-its-alternatives", rule="DRA-179")
def _(patch: Patch) -> None:
    """Configuration for a request is lost if the request has alternatives."""
    _claim_configs(patch, lambda config, names: not config.get("requests") or bool(names & set(config["requests"])))


@mutant("configuration-of-an-alternative-lost", rule="DRA-179b")
def _(patch: Patch) -> None:
    """Configuration for an alternative is lost."""
    _claim_configs(
        patch,
        lambda config, names: (
            not config.get("requests") or bool({name.partition("/")[0] for name in names} & set(config["requests"]))
        ),
    )


@mutant("configuration-for-all-requests-lost", rule="DRA-179")
def _(patch: Patch) -> None:
    """Configuration that names no request is lost."""
    _claim_configs(
        patch,
        lambda config, names: bool(
            {part for name in names for part in (name, name.partition("/")[0])} & set(config.get("requests") or ())
        ),
    )


@mutant("class-configuration-of-unused-alternatives", rule="DRA-178")
def _(patch: Patch) -> None:
    """The allocation has the configuration of the classes of alternatives that are not used."""

    def make(original: Callable[..., list[Obj]]) -> Callable[..., list[Obj]]:
        def class_configs(chosen: Any, classes: Any) -> list[Obj]:
            found = original(chosen, classes)
            unused = [one for name, one in sorted(classes.items()) if name not in {r.class_name for r, _ in chosen}]
            return [*found, *({"source": "FromClass", **config} for one in unused for config in one.configs)]

        return class_configs

    patch.wrap(f"{_ALLOCATOR}.results:class_configs", make)


@mutant("class-configuration-of-alternatives-lost", rule="DRA-178")
def _(patch: Patch) -> None:
    """The configuration of the class of an alternative is lost."""

    def make(original: Callable[..., list[Obj]]) -> Callable[..., list[Obj]]:
        return lambda chosen, classes: original([one for one in chosen if "/" not in one[0].name], classes)

    patch.wrap(f"{_ALLOCATOR}.results:class_configs", make)


# -- expressions -------------------------------------------------------------------------------------------------------


@mutant("bound-names-unknown", rule="DRA-165b")
def _(patch: Patch) -> None:
    """An expression with cel.bind fails on every device."""

    def make(original: Callable[..., bool | str]) -> Callable[..., bool | str]:
        def verdict(expression: str | None, device: Any, features: Any) -> bool | str:
            if "cel.bind" in (expression or ""):
                return "CEL runtime error: undeclared reference to 'own'"
            return original(expression, device, features)

        return verdict

    patch.wrap(f"{_ALLOCATOR}.selectors:verdict", make)


# -- binding by the scheduler ------------------------------------------------------------------------------------------


@mutant("first-claim-unreserved-only", rule="DRA-139")
def _(patch: Patch) -> None:
    """A pod that cannot be bound is removed from the reservations of its first claim only."""
    patch.replace(
        f"{_SCHEDULER}.publish:DirectPublisher.give_back",
        lambda self, decision: self.unreserve(decision.entries[0][0].claim, decision.pod),
    )


@mutant(
    "reserved-when-another-claim-was-taken",
    rule="DRA-139",
    scenario="allocation/direct_binding"
    "#a-pod-whose-second-claim-goes-to-another-user-while-the-scheduler-writes-it-has-no-reservation-of-the-first",
)
def _(patch: Patch) -> None:
    """A pod keeps its reservations if another of its claims cannot take its allocation any more."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def reserve(self: Any, *args: Any) -> None:
            try:
                original(self, *args)
            except PublishError:
                self.unreserve = lambda claim, pod: None
                raise

        return reserve

    patch.wrap(f"{_SCHEDULER}.publish:DirectPublisher._reserve", make)


_NEXT_ATTEMPT = (
    "allocation/direct_binding#a-pod-that-cannot-be-bound-uses-its-allocation-and-reserves-it-again-in-the-next-attempt"
)


@mutant("not-reserved-again", rule="DRA-128", scenario=_NEXT_ATTEMPT)
def _(patch: Patch) -> None:
    """A claim that an earlier attempt has allocated is not reserved again."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def write(self: Any, current: Obj, allocation: Obj, pod: Obj) -> None:
            if (current.get("status") or {}).get("allocation") is None:
                original(self, current, allocation, pod)

        return write

    patch.wrap(f"{_SCHEDULER}.publish:DirectPublisher._write", make)


# -- further faults ----------------------------------------------------------------------------------------------------


@mutant("all-after-another-request-ignored", rule="DRA-154")
def _(patch: Patch) -> None:
    """Requests for all devices are served up to the first request that has a count."""

    def make(original: Callable[..., int | None]) -> Callable[..., int | None]:
        def take(self: Any) -> int | None:
            whole = self._tasks
            exact = [number for number, task in enumerate(whole) if not task.everything]
            self._tasks = whole[: exact[0]] if exact else whole
            try:
                return original(self)
            finally:
                self._tasks = whole

        return take

    _without_short_cuts(patch)
    patch.wrap(f"{_ALLOCATOR}.search:Search._take_all_requests", make)


@mutant("constraint-over-all-claims-of-a-pod", rule="DRA-171")
def _(patch: Patch) -> None:
    """A constraint of one claim applies to the other claims of the pod."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def task(self: Any, *args: Any) -> Any:
            found = original(self, *args)
            return msgspec.structs.replace(found, constraints=tuple(range(len(self._constraints))))

        return task

    _without_short_cuts(patch)
    patch.wrap(f"{_ALLOCATOR}.allocate:Allocator._task", make)


@mutant("devices-counted-when-the-first-pool-changes", rule="DRA-133")
def _(patch: Patch) -> None:
    """Which devices of a node are in use is determined anew only if something changes in the first pool of the node."""

    def make(original: Callable[..., int]) -> Callable[..., int]:
        def in_use(self: Any, taken: Any) -> int:
            version = [taken.versions.get(pool.id, 0) for pool in self.pools[:1]]
            if self._busy is not None and [*self._busy[1]][:1] == version:
                return int(self._busy[2])
            return original(self, taken)

        return in_use

    patch.wrap(f"{_ALLOCATOR}.inventory:NodeInventory.in_use", make)


@mutant("devices-free-in-new-generation", rule="DRA-133")
def _(patch: Patch) -> None:
    """All devices of a pool are free again when its driver publishes a new generation."""
    known: dict[Any, set[int]] = {}

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def view_pool(slices: Any, *args: Any) -> Any:
            known.setdefault(slices[0].pool, set()).update(one.generation for one in slices)
            return original(slices, *args)

        return view_pool

    def make_in_use(original: Callable[..., int]) -> Callable[..., int]:
        def in_use(self: Any, taken: Any) -> int:
            busy = original(self, taken)
            for position, device in enumerate(self.devices):
                if len(known.get(device.id.pool_id, ())) > 1:
                    busy &= ~(1 << position)
            return busy

        return in_use

    patch.wrap(f"{_ALLOCATOR}.pools:view_pool", make)
    patch.wrap(f"{_ALLOCATOR}.inventory:NodeInventory.in_use", make_in_use)


@mutant("changed-node-labels-ignored", rule="DRA-143")
def _(patch: Patch) -> None:
    """Waiting pods are not scheduled when the labels of a node change."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def on_node(self: Any, change: Any) -> None:
            if change.type != "MODIFIED" or not self.pods:
                original(self, change)

        return on_node

    patch.wrap(f"{_SCHEDULER}.cluster_view:ClusterView.on_node", make)


@mutant("same-alternative-for-all-requests", rule="DRA-184")
def _(patch: Patch) -> None:
    """All requests of a claim use the alternative of the same position."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def prefixes(self: Any, *args: Any) -> Any:
            chosen = args[2]
            for numbers in original(self, *args):
                options = [one for one, group in zip(numbers, args[1], strict=True) if len(group) > 1]
                if chosen or len(set(options)) <= 1:
                    yield numbers

        return prefixes

    patch.wrap(f"{_ALLOCATOR}.allocate:Allocator._prefixes", make)


@mutant("capacity-of-deallocated-share-kept", rule="DRA-201")
def _(patch: Patch) -> None:
    """The capacity of a share stays consumed when its claim is deallocated."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        return lambda self, results: original(self, [one for one in results if not one.get("shareID")])

    patch.wrap(f"{_ALLOCATOR}.taken:Taken.remove", make)


def _one_capacity(patch: Patch, at: int) -> None:
    """Compare one capacity of a shared device only."""

    def within(self: Any, task: Any, position: int) -> bool:
        if not self._inventory.shareable >> position & 1 or task.request.admin_access:
            return True
        committed = self._committed(position)
        entries = self._consumption(task)[position]
        name, amount_, total, _ = entries[at % len(entries)]
        return bool(committed.get(name, 0) + amount_ <= total)

    patch.replace(f"{_ALLOCATOR}.search:Search._within_capacity", within)


@mutant("first-capacity-compared-only", rule="DRA-212")
def _(patch: Patch) -> None:
    """A device is shared as long as its first capacity lasts."""
    _one_capacity(patch, 0)


@mutant("last-capacity-compared-only", rule="DRA-212")
def _(patch: Patch) -> None:
    """A device is shared as long as its last capacity lasts."""
    _one_capacity(patch, -1)


# -- nodes -------------------------------------------------------------------------------------------------------------

_NODE_FILTER = f"{_SCHEDULER}.node_filter"


@mutant("first-node-selector-term-only", rule="DRA-130b")
def _(patch: Patch) -> None:
    """Of the required node affinity only the first term is evaluated."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def matches(selector: Obj | None, node: Any) -> bool:
            terms = (selector or {}).get("nodeSelectorTerms") or ()
            return original({"nodeSelectorTerms": [*terms][:1]} if terms else selector, node)

        return matches

    patch.wrap("reference_impl.node_selector:matches", make)


@mutant("one-label-of-the-node-selector", rule="DRA-130b")
def _(patch: Patch) -> None:
    """A node needs one of the labels of a pod's nodeSelector."""

    def make(original: Callable[..., str]) -> Callable[..., str]:
        def unselected(pod: Obj, facts: Any) -> str:
            wanted = pod["spec"].get("nodeSelector") or {}
            held = {key: value for key, value in wanted.items() if facts.labels.get(key) == value}
            return original({**pod, "spec": {**pod["spec"], "nodeSelector": held or wanted}}, facts)

        return unselected

    patch.wrap(f"{_NODE_FILTER}:unselected", make)


@mutant("first-node-taint-only", rule="DRA-130b")
def _(patch: Patch) -> None:
    """Of the taints of a node only the first must be tolerated."""

    def make(original: Callable[..., str]) -> Callable[..., str]:
        def tainted(pod: Obj, node: Obj) -> str:
            spec = node.get("spec") or {}
            return original(pod, {**node, "spec": {**spec, "taints": [*(spec.get("taints") or ())][:1]}})

        return tainted

    patch.wrap(f"{_NODE_FILTER}:tainted", make)


@mutant("deleted-node-kept", rule="DRA-130b")
def _(patch: Patch) -> None:
    """The scheduler does not process that a node is deleted."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def on_node(self: Any, change: Any) -> None:
            if change.type != "DELETED":
                original(self, change)

        return on_node

    patch.wrap(f"{_SCHEDULER}.cluster_view:ClusterView.on_node", make)


@mutant("sidecars-not-counted", rule="DRA-130c")
def _(patch: Patch) -> None:
    """The requests of sidecars are not added to those of the containers."""

    def make(original: Callable[..., dict[str, int]]) -> Callable[..., dict[str, int]]:
        def pod_requests(pod: Obj) -> dict[str, int]:
            spec = pod.get("spec") or {}
            brief = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") != "Always"]
            return original({**pod, "spec": {**spec, "initContainers": brief}})

        return pod_requests

    patch.wrap(f"{_SCHEDULER}.pod_resources:pod_requests", make)


@mutant("limits-counted-as-requests", rule="DRA-130c")
def _(patch: Patch) -> None:
    """A container counts with its limits, also if it requests less."""

    def make(original: Callable[..., dict[str, int]]) -> Callable[..., dict[str, int]]:
        def container_requests(container: Any) -> dict[str, int]:
            limits = (container.get("resources") or {}).get("limits")
            return {**original(container), **original({"resources": {"requests": limits}})}

        return container_requests

    patch.wrap(f"{_SCHEDULER}.pod_resources:container_requests", make)


@mutant("pods-not-yet-bound-not-counted", rule="DRA-130c")
def _(patch: Patch) -> None:
    """A pod takes nothing of its node before it is bound."""

    def make(original: Callable[..., str]) -> Callable[..., str]:
        def node_of(self: Any, pod: Any, seen: Obj) -> str:
            return original(self, pod, seen) if seen["spec"].get("nodeName") else ""

        return node_of

    patch.wrap(f"{_SCHEDULER}.cluster_view:ClusterView._node_of", make)


@mutant("pods-of-a-node-not-counted", rule="DRA-130c")
def _(patch: Patch) -> None:
    """The limit of pods of a node is not respected."""

    def make(original: Callable[..., str]) -> Callable[..., str]:
        def insufficient(asked: Any, used: Any, allocatable: Any) -> str:
            return original({name: value for name, value in asked.items() if name != "pods"}, used, allocatable)

        return insufficient

    patch.wrap(f"{_SCHEDULER}.pod_resources:insufficient", make)


@mutant("one-of-two-claims-of-a-node-is-enough", rule="DRA-130")
def _(patch: Patch) -> None:
    """A node is fit for a pod if one of its allocated claims can be used there."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def attempt_on(self: Any, attempt: Any, state: Any) -> Any:
            usable = {key: one for key, one in attempt.held.items() if cycle.usable_on(one, state)}
            return original(self, dataclasses.replace(attempt, held=usable or attempt.held), state)

        return attempt_on

    patch.wrap(f"{_SCHEDULER}.cycle:Cycle._try", make)


@mutant("requests-of-a-pod-computed-once", rule="DRA-860")
def _(patch: Patch) -> None:
    """The requests of a pod are those of its first version."""
    known: dict[str, dict[str, int]] = {}

    def make(original: Callable[..., dict[str, int]]) -> Callable[..., dict[str, int]]:
        return lambda pod: known.setdefault(pod["metadata"]["uid"], original(pod))

    patch.wrap(f"{_SCHEDULER}.pod_resources:pod_requests", make)


@mutant("requests-after-a-resize-of-the-first-container-only", rule="DRA-860")
def _(patch: Patch) -> None:
    """Only the first container of a pod has other requests after a resize."""
    first: dict[str, list[Obj]] = {}

    def make(original: Callable[..., dict[str, int]]) -> Callable[..., dict[str, int]]:
        def pod_requests(pod: Obj) -> dict[str, int]:
            containers = pod["spec"]["containers"]
            others = first.setdefault(pod["metadata"]["uid"], containers[1:])
            return original({**pod, "spec": {**pod["spec"], "containers": [containers[0], *others]}})

        return pod_requests

    patch.wrap(f"{_SCHEDULER}.pod_resources:pod_requests", make)


def _without_in_statuses(patch: Patch, field: str) -> None:
    """The scheduler does not read a field of the status of containers."""

    def make(original: Callable[..., dict[str, Obj]]) -> Callable[..., dict[str, Obj]]:
        return lambda pod: {name: _without(one, field) for name, one in original(pod).items()}

    patch.wrap(f"{_SCHEDULER}.pod_resources:_container_statuses", make)


@mutant("resources-of-running-containers-not-counted", rule="DRA-861")
def _(patch: Patch) -> None:
    """What the containers still have does not count after the kubelet has admitted less."""
    _without_in_statuses(patch, "resources")


@mutant("admitted-resources-not-counted", rule="DRA-861")
def _(patch: Patch) -> None:
    """What the kubelet has admitted does not count when the spec requests less."""
    _without_in_statuses(patch, "allocatedResources")


@mutant("infeasible-resize-counts", rule="DRA-861")
def _(patch: Patch) -> None:
    """A resize that the kubelet has refused for good counts."""
    patch.replace(f"{_SCHEDULER}.pod_resources:is_resize_infeasible", lambda pod: False)


@mutant("every-pending-resize-is-infeasible", rule="DRA-861")
def _(patch: Patch) -> None:
    """A resize that is deferred does not count either."""

    def pending(pod: Obj) -> bool:
        conditions = (pod.get("status") or {}).get("conditions") or ()
        return any(one["type"] == "PodResizePending" for one in conditions)

    patch.replace(f"{_SCHEDULER}.pod_resources:is_resize_infeasible", pending)


# -- deleted objects ---------------------------------------------------------------------------------------------------


@mutant("deleted-claim-wakes-no-pod", rule="DRA-126b")
def _(patch: Patch) -> None:
    """The devices of a deleted claim are free, but no waiting pod is tried again."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def forget_claim(self: Any, key: Any) -> bool:
            original(self, key)
            return False

        return forget_claim

    patch.wrap(f"{_SCHEDULER}.claim_ledger:ClaimLedger.forget_claim", make)


@mutant("deleted-slice-kept", rule="DRA-127b")
def _(patch: Patch) -> None:
    """Devices of a deleted slice stay in the index."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def on_slice(self: Any, change: Any) -> None:
            if change.type != "DELETED":
                original(self, change)

        return on_slice

    patch.wrap(f"{_SCHEDULER}.cluster_view:ClusterView.on_slice", make)


@mutant("deallocated-claim-counts-as-ready", rule="DRA-255b")
def _(patch: Patch) -> None:
    """A claim without allocation has no conditions to wait for, so its pod is bound."""
    patch.replace("reference_impl.binding_conditions:is_allocated", lambda claim: True)


@mutant("deallocated-claim-waits-for-the-timeout", rule="DRA-255c")
def _(patch: Patch) -> None:
    """A claim that is deallocated while its pod waits is one that is not ready yet."""
    patch.replace("reference_impl.binding_conditions:is_allocated", lambda claim: True)
    patch.wrap(
        "reference_impl.binding_conditions:is_ready",
        lambda original: lambda claim: bool((claim.get("status") or {}).get("allocation")) and original(claim),
    )


@mutant("lost-device-of-a-shared-claim-stops-the-scheduler", rule="DRA-251")
def _(patch: Patch) -> None:
    """If the device of a claim that two pods use has failed, the scheduler schedules no further pod."""
    stopped: list[bool] = []

    def given_up(original: Callable[..., str]) -> Callable[..., str]:
        def check(claim: Obj, *args: Any) -> str:
            reason = original(claim, *args)
            if reason and len(claim["status"].get("reservedFor") or ()) > 1:
                stopped.append(True)
            return reason

        return check

    def schedule(original: Callable[..., None]) -> Callable[..., None]:
        return lambda self, key: None if stopped else original(self, key)

    patch.wrap("reference_impl.binding_conditions:given_up", given_up)
    patch.wrap(f"{_SCHEDULER}.scheduler:Scheduler._schedule", schedule)


# -- large and small numbers, disabled features ------------------------------------------------------------------------


def _wrapped(number: int) -> int:
    """Return a number as a signed integer of 64 bits has it."""
    return (number + 2**63) % 2**64 - 2**63


@mutant("sum-of-counts-overflows", rule="DRA-157b")
def _(patch: Patch) -> None:
    """The sum of the counts of a claim is a 64-bit integer, which can become negative."""
    patch.wrap(f"{_ALLOCATOR}.allocate:exceeds_limit", lambda original: lambda count: original(_wrapped(count)))


@mutant("sum-with-alternative-overflows", rule="DRA-185b")
def _(patch: Patch) -> None:
    """A claim is an error if the counts of some of its alternatives have a sum that 64 bits cannot hold."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def check(claim: Any, classes: Any, features: Any) -> None:
            original(claim, classes, features)
            if _wrapped(sum(max(one.count for one in request.alternatives) for request in claim.requests)) < 0:
                raise AllocationError("number of requested devices is negative")

        return check

    patch.wrap(f"{_ALLOCATOR}.allocate:check_claim", make)


@mutant("allocated-claim-of-several-nodes-blocks-its-pod", rule="DRA-133c")
def _(patch: Patch) -> None:
    """A pod with allocated claims and others waits if several nodes fit (kubernetes#139017)."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def try_node(self: Any, attempt: Any, state: Any) -> Any:
            if attempt.held and attempt.wanted:
                fitting = [one for one in self._view.candidates() if original(self, attempt, one) is not None]
                if len(fitting) > 1:
                    return None
            return original(self, attempt, state)

        return try_node

    patch.wrap(f"{_SCHEDULER}.cycle:Cycle._try", make)


@mutant("disabled-features-of-claims-ignored", rule="DRA-199b")
def _(patch: Patch) -> None:
    """A claim with alternatives or capacity requests is allocated while the feature is disabled."""
    patch.replace(f"{_ALLOCATOR}.allocate:check_claim", lambda claim, classes, features: None)


@mutant("disabled-admin-access-ignored", rule="DRA-199c")
def _(patch: Patch) -> None:
    """A claim with admin access or distinctAttribute is allocated while the feature is disabled."""
    patch.replace(f"{_ALLOCATOR}.allocate:check_claim", lambda claim, classes, features: None)


@mutant("fractions-rounded-up-before-1.37", rule="DRA-204b", kubernetes_version="1.36")
@mutant(
    "fractions-rounded-up-to-whole-numbers",
    rule="DRA-488",
    kubernetes_version="1.37",
    feature_gates=("DRAFractionalCapacityRange=true",),
)
def _(patch: Patch) -> None:
    """Amounts are rounded up to whole numbers before they are compared with the policy."""

    def make(original: Callable[..., Quantity]) -> Callable[..., Quantity]:
        def rounded(requested: Quantity, valid: Obj) -> Quantity:
            whole = -(-requested.scaled_value(-9) // 10**9)
            return original(Quantity.parse(str(whole)), valid)

        return rounded

    patch.wrap(f"{_ALLOCATOR}.capacity:round_up_to_range", make)


@mutant("alternative-with-the-selectors-of-the-first", rule="DRA-187")
def _(patch: Patch) -> None:
    """An alternative for all devices gets those that match the class of the first alternative."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def request(raw: Obj) -> Any:
            found = original(raw)
            first = found.alternatives[0].class_name
            changed = [
                dataclasses.replace(one, class_name=first) if one.all_devices else one for one in found.alternatives
            ]
            return dataclasses.replace(found, alternatives=tuple(changed))

        return request

    patch.wrap(f"{_ALLOCATOR}.model:_request", make)


@mutant("claim-named-twice-refused", rule="DRA-128b")
def _(patch: Patch) -> None:
    """A pod with two entries for one claim is not scheduled."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def resolve(pod: Obj, find: Any) -> Any:
            found = original(pod, find)
            if len({one.claim["metadata"]["name"] for one in found}) < len(found):
                raise NotReady("a claim is named twice")
            return found

        return resolve

    patch.wrap(f"{_SCHEDULER}.pod_claims:resolve", make)


@mutant("decisions-in-progress-forgotten", rule="DRA-133", scheduler="reference:publish=direct")
def _(patch: Patch) -> None:
    """Devices of a decision are free until it is written."""
    patch.replace("reference_impl.scheduler.claim_ledger:ClaimLedger.assume", lambda self, *args: None)
