"""Faults in how a scheduler counts partitions and shares of devices, and handles admin access."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec

from dra_api.quantity import Format, Quantity
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.scheduler.allocator import capacity, counters, pools
from reference_impl.scheduler.allocator.inventory import bits
from reference_impl.scheduler.allocator.model import AllocationError, qualified
from reference_impl.scheduler.allocator.taken import Taken

_SCHEDULER = "reference_impl.scheduler"
_ALLOCATOR = f"{_SCHEDULER}.allocator"
_BILLION = 10**9
_INT64 = 1 << 63


# Pruning included: it counts by the correct rules and would end the search before the fault has an effect.
def _without_short_cuts(patch: Patch) -> None:
    """Every attempt runs the search, which the faults below change."""
    patch.replace(f"{_ALLOCATOR}.allocate:out_of_reach", lambda problem, tasks: False)
    patch.replace(f"{_ALLOCATOR}.allocate:alike", lambda problem, tasks: False)
    patch.replace(f"{_ALLOCATOR}.search:Search._hopeless", lambda self, number, nth, after: False)


def _counters_without(patch: Patch, change: Callable[[Any, Any], Any]) -> None:
    """Change what is left of a pool's counters: `change(pool, names in use)` gives the names that count."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda pool, names: original(pool, change(pool, names))

    patch.wrap(f"{_ALLOCATOR}.counters:available", make)


# -- partitions --------------------------------------------------------------------------------------------------------


@mutant("counters-ignored", rule="DRA-189")
def _(patch: Patch) -> None:
    """A partition can be allocated although its counters are used up."""
    _without_short_cuts(patch)
    patch.wrap(
        f"{_ALLOCATOR}.counters:fits",
        lambda original: lambda device, left: device.id.device.startswith("half") or original(device, left),
    )


@mutant("long-counters-change-with-each-pod", rule="DRA-189b")
def _(patch: Patch) -> None:
    """What allocated devices consume is subtracted again for each pod, from counters beyond 64 bits (#140518)."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def available(pool: Any, names: Any) -> Any:
            left = original(pool, names)
            pool.counters.update({key: left[key] for key, value in pool.counters.items() if value > _INT64 * _BILLION})
            return left

        return available

    patch.wrap(f"{_ALLOCATOR}.counters:available", make)


@mutant("all-partitions-stop-the-scheduler", rule="DRA-154")
def _(patch: Patch) -> None:
    """A request for all devices crashes the scheduler if one of them consumes counters (#138885)."""

    def make(original: Callable[..., int | None]) -> Callable[..., int | None]:
        def take(self: Any) -> int | None:
            masks = [task.mask for task in self._tasks if task.everything]
            if any(self._inventory.devices[position].counters for mask in masks for position in bits(mask)):
                raise TypeError("device without its pool")
            return original(self)

        return take

    _without_short_cuts(patch)
    patch.wrap(f"{_ALLOCATOR}.search:Search._take_all_requests", make)


@mutant("counters-of-shared-devices-in-use-forgotten", rule="DRA-190")
def _(patch: Patch) -> None:
    """Devices of which claims have shares consume no counters for later pods (#139040)."""
    patch.replace(f"{_ALLOCATOR}.taken:Taken.names", lambda self, pool: iter(self.exclusive.get(pool, ())))


@mutant("whole-device-beside-its-partitions", rule="DRA-190")
def _(patch: Patch) -> None:
    """A whole device is free unless it is in use itself."""
    _without_short_cuts(patch)
    patch.replace(f"{_ALLOCATOR}.counters:fits", lambda device, left: True)


@mutant("counters-never-released", rule="DRA-191")
def _(patch: Patch) -> None:
    """Counters of a partition are never released."""
    # By pool, the names of all devices that were ever in use.
    seen: dict[Any, set[str]] = {}

    def ever(pool: Any, names: Any) -> set[str]:
        held = seen.setdefault(pool.id, set())
        held.update(names)
        return held

    _counters_without(patch, ever)


@mutant("first-counter-set-only", rule="DRA-192")
def _(patch: Patch) -> None:
    """A device needs only one of its counter sets."""
    _without_short_cuts(patch)
    patch.replace(
        f"{_ALLOCATOR}.counters:fits",
        lambda device, left: any(value <= left.get(key, 0) for key, value in device.counters.items()),
    )


@mutant("counters-for-each-node", rule="DRA-193")
def _(patch: Patch) -> None:
    """Only devices of the same node consume counters."""
    _counters_without(
        patch, lambda pool, names: {name for name in names if name in {device.id.device for device in pool.devices}}
    )


@mutant("counter-slices-on-every-node", rule="DRA-475", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A slice with counters belongs to every node."""
    patch.wrap(
        f"{_SCHEDULER}.engines:Correct.home_of",
        lambda original: lambda self, item: "" if item.counter_sets else original(self, item),
    )
    patch.wrap(
        f"{_ALLOCATOR}.pools:offered_to",
        lambda original: lambda item, node: bool(item.counter_sets) or original(item, node),
    )


@mutant("counter-slices-of-other-nodes-left-out", rule="DRA-476", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """Slices with counters for other nodes are not read."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def view_pool(slices: Any, node: Any, features: Any) -> Any:
            read = [one for one in slices if not one.counter_sets or pools.offered_to(one, node)]
            return original(read, node, features) if read else None

        return view_pool

    patch.wrap(f"{_ALLOCATOR}.pools:view_pool", make)


@mutant("counters-of-other-nodes-have-no-limit", rule="DRA-476", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """Counters in a slice for another node limit no device."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def view_pool(slices: Any, node: Any, features: Any) -> Any:
            found = original(slices, node, features)
            if found is None:
                return None
            here = {name for one in slices if pools.offered_to(one, node) for name, _ in one.counter_sets}
            left = {key: value if key[0] in here else 1 << 62 for key, value in found.counters.items()}
            return dataclasses.replace(found, counters=left)

        return view_pool

    patch.wrap(f"{_ALLOCATOR}.pools:view_pool", make)


@mutant("unknown-counters-accepted", rule="DRA-194")
def _(patch: Patch) -> None:
    """A pool with unknown counters is used."""

    def make(original: Callable[..., str]) -> Callable[..., str]:
        return lambda slices, devices, features: original(
            slices, devices, dataclasses.replace(features, partitionable_devices=False)
        )

    patch.wrap(f"{_ALLOCATOR}.pools:problem_in", make)


def _pools_share_counters(patch: Patch, key: Callable[[Any], str]) -> None:
    """Pools with the same `key(pool)` have one set of counters."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def init(self: Any, problem: Any, *args: Any, **more: Any) -> None:
            original(self, problem, *args, **more)
            by_key: dict[str, Any] = {}
            for pool, left in self._left.items():
                # One dict for all of these pools: a pick in one reduces the counters of the others.
                self._left[pool] = by_key.setdefault(key(pool), left)

        return init

    _without_short_cuts(patch)
    patch.wrap(f"{_ALLOCATOR}.search:Search.__init__", make)


@mutant("counters-shared-by-drivers", rule="DRA-195")
def _(patch: Patch) -> None:
    """Pools of one name share their counters across drivers."""
    _pools_share_counters(patch, lambda pool: str(pool.pool))


@mutant("counters-shared-by-pools", rule="DRA-195")
def _(patch: Patch) -> None:
    """The pools of a driver share their counters."""
    _pools_share_counters(patch, lambda pool: str(pool.driver))


@mutant("skipped-device-consumes-counters", rule="DRA-196")
def _(patch: Patch) -> None:
    """A skipped tainted device consumes counters."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def post_init(self: Any) -> None:
            original(self)
            for device in self.inventory.devices:
                if device.taints and device.counters:
                    counters.take(device, self.left[device.id.pool_id])

        return post_init

    patch.wrap(f"{_ALLOCATOR}.search:Problem.__post_init__", make)


@mutant("device-node-names-ignored", rule="DRA-197")
def _(patch: Patch) -> None:
    """A device of one node is offered to all nodes."""
    patch.wrap(
        f"{_ALLOCATOR}.pools:device_offered_to",
        lambda original: lambda device, node: bool(device.node_name) or original(device, node),
    )


@mutant("device-selector-lost", rule="DRA-198")
def _(patch: Patch) -> None:
    """The node selector of a device is not in its allocation."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda devices, node: original([one for one in devices if not one.per_device_node], node)

    patch.wrap(f"{_ALLOCATOR}.results:node_selector", make)


@mutant("profile-selectors-ignored", rule="DRA-200")
def _(patch: Patch) -> None:
    """Selectors that read the attribute profile are ignored."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def verdict(expression: Any, device: Any, features: Any) -> Any:
            return True if "profile" in (expression or "") else original(expression, device, features)

        return verdict

    patch.wrap(f"{_ALLOCATOR}.selectors:verdict", make)


# -- shares ------------------------------------------------------------------------------------------------------------


@mutant("shares-are-exclusive", rule="DRA-201")
def _(patch: Patch) -> None:
    """A shared device is allocated to one claim only."""
    patch.replace(f"{_ALLOCATOR}.capacity:shareable", lambda device, enabled: False)


@mutant("shares-with-the-same-id", rule="DRA-201")
def _(patch: Patch) -> None:
    """All shares have the same id."""
    patch.replace(f"{_ALLOCATOR}.allocate:new_share_id", lambda: "11111111-1111-4111-8111-111111111111")


@mutant("shares-of-extended-resources-count-twice", rule="DRA-201")
def _(patch: Patch) -> None:
    """The devices of a BindRequest for extended resources count beside those of the claim that was made for it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda request, pod: original(request, {**pod, "status": _without_claim(pod.get("status") or {})})

    patch.wrap(f"{_SCHEDULER}.cluster_view:ClusterView._promised", make)


def _without_claim(status: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in status.items() if name != "extendedResourceClaimStatus"}


@mutant("existing-shares-not-counted", rule="DRA-201b")
def _(patch: Patch) -> None:
    """A device that no longer allows multiple allocations is free unless a claim has it exclusively."""

    def make(original: Callable[..., int]) -> Callable[..., int]:
        def in_use(self: Any, taken: Any) -> int:
            alone = Taken()
            # All but the attribute `shared`.
            alone.exclusive, alone.versions = taken.exclusive, taken.versions
            return original(self, alone)

        return in_use

    patch.wrap(f"{_ALLOCATOR}.inventory:NodeInventory.in_use", make)


@mutant("exclusive-use-of-shared-devices-not-counted", rule="DRA-770")
def _(patch: Patch) -> None:
    """Of a device that allows multiple allocations only the free capacity counts."""

    def make(original: Callable[..., int]) -> Callable[..., int]:
        return lambda self, taken: original(self, taken) & ~self.shareable

    patch.wrap(f"{_ALLOCATOR}.inventory:NodeInventory.in_use", make)


@mutant("all-means-all-with-free-capacity", rule="DRA-155b")
def _(patch: Patch) -> None:
    """A request for all devices gets those with free capacity."""

    def make(original: Callable[..., int | None]) -> Callable[..., int | None]:
        def take(self: Any) -> int | None:
            self._tasks = [
                msgspec.structs.replace(task, mask=_with_room(self, task)) if task.everything else task
                for task in self._tasks
            ]
            return original(self)

        return take

    _without_short_cuts(patch)
    patch.wrap(f"{_ALLOCATOR}.search:Search._take_all_requests", make)


def _with_room(search: Any, task: Any) -> int:
    return sum(1 << position for position in bits(task.mask) if search._within_capacity(task, position))


def _capacity_without_end(patch: Patch) -> None:
    patch.replace(f"{_ALLOCATOR}.search:Search._within_capacity", lambda self, task, position: True)


@mutant("device-shared-beyond-capacity", rule="DRA-201")
def _(patch: Patch) -> None:
    """A device is shared without limit."""
    _capacity_without_end(patch)


@mutant("consumed-capacity-ignored", rule="DRA-212")
def _(patch: Patch) -> None:
    """Capacity that other claims consume is ignored."""
    _capacity_without_end(patch)


def _policies(patch: Patch, change: Callable[[Any, Any, Any], Any]) -> None:
    """Change the consumed capacity: `change(capacity, requested, right)`."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda capacity, requested: change(capacity, requested, original(capacity, requested))

    patch.wrap(f"{_ALLOCATOR}.capacity:consumption", make)


@mutant("capacity-defaults-ignored", rule="DRA-202")
def _(patch: Patch) -> None:
    """A request without capacity consumes everything."""
    _policies(patch, lambda capacity, requested, right: capacity.value if requested is None else right)


@mutant("missing-request-consumes-nothing", rule="DRA-203")
def _(patch: Patch) -> None:
    """A request without capacity and policy consumes nothing."""
    _policies(
        patch,
        lambda capacity, requested, right: Quantity.parse("0") if requested is None and not capacity.policy else right,
    )


@mutant("capacity-step-ignored", rule="DRA-204")
def _(patch: Patch) -> None:
    """The step of a policy is ignored."""
    patch.replace(f"{_ALLOCATOR}.capacity:round_up_to_range", lambda requested, valid: requested)


@mutant("capacity-valid-values-ignored", rule="DRA-206")
def _(patch: Patch) -> None:
    """The valid values of a policy are ignored."""
    patch.replace(f"{_ALLOCATOR}.capacity:round_up_to_value", lambda requested, valid: requested)
    patch.replace(f"{_ALLOCATOR}.capacity:violates", lambda capacity, consumed: False)


@mutant("capacity-maximum-ignored", rule="DRA-205")
def _(patch: Patch) -> None:
    """The maximum of a policy is ignored."""
    patch.replace(f"{_ALLOCATOR}.capacity:violates", lambda capacity, consumed: False)


@mutant("steps-in-64-bits", rule="DRA-205b")
def _(patch: Patch) -> None:
    """Steps of a capacity are computed in 64-bit integers, which overflow (#140442)."""

    def make(original: Callable[..., Quantity]) -> Callable[..., Quantity]:
        def round_up(requested: Quantity, valid: Any) -> Quantity:
            if requested.value < _INT64:
                return original(requested, valid)
            return original(Quantity((requested.value + _INT64) % (2 * _INT64) - _INT64), valid)

        return round_up

    patch.wrap(f"{_ALLOCATOR}.capacity:round_up_to_range", make)


@mutant("steps-beyond-64-bits-consume-nothing", rule="DRA-492")
def _(patch: Patch) -> None:
    """A capacity that is rounded up beyond 64 bits consumes nothing."""
    _policies(
        patch,
        lambda capacity, requested, right: (
            Quantity.parse("0") if requested is not None and requested.value < _INT64 <= right.value else right
        ),
    )


def _ends_the_attempt(patch: Patch, wrong: Callable[[Any, Any], bool]) -> None:
    """A device that the request does not fit because of `wrong(device, request)` ends the whole attempt."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def acceptable(device: Any, request: Any, *, shared: bool) -> bool:
            if wrong(device, request):
                raise AllocationError(f"device {device.id} cannot serve the requested capacity")
            return original(device, request, shared=shared)

        return acceptable

    patch.wrap(f"{_ALLOCATOR}.capacity:acceptable", make)


@mutant("missing-capacity-ends-the-attempt", rule="DRA-493")
def _(patch: Patch) -> None:
    """A device without a requested capacity ends the whole attempt."""
    _ends_the_attempt(
        patch,
        lambda device, request: any(
            qualified(name, device.id.driver) not in device.capacity for name, _ in request.capacity
        ),
    )


def _against_policy(device: Any, request: Any, key: str) -> bool:
    wanted = {qualified(name, device.id.driver): quantity for name, quantity in request.capacity}
    return any(
        key in (known.policy or {}) and capacity.violates(known, capacity.consumption(known, wanted.get(name)))
        for name, known in device.capacity.items()
    )


@mutant("capacity-above-range-ends-the-attempt", rule="DRA-495")
def _(patch: Patch) -> None:
    """A device whose range does not allow the requested capacity ends the whole attempt."""
    _ends_the_attempt(patch, lambda device, request: _against_policy(device, request, "validRange"))


@mutant("capacity-above-values-ends-the-attempt", rule="DRA-495")
def _(patch: Patch) -> None:
    """A device whose valid values do not allow the requested capacity ends the whole attempt."""
    _ends_the_attempt(patch, lambda device, request: _against_policy(device, request, "validValues"))


@mutant("negative-shares-are-allocated", rule="DRA-205c")
def _(patch: Patch) -> None:
    """A negative share of a device is allocated (#140442)."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def acceptable(device: Any, request: Any, shared: bool) -> bool:
            positive = tuple((name, wanted) for name, wanted in request.capacity if wanted.sign >= 0)
            return original(device, dataclasses.replace(request, capacity=positive), shared=shared)

        return acceptable

    patch.wrap(f"{_ALLOCATOR}.capacity:acceptable", make)


@mutant("zero-shares-are-refused", rule="DRA-205c")
def _(patch: Patch) -> None:
    """A request for none of a capacity is refused like a negative one."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def acceptable(device: Any, request: Any, shared: bool) -> bool:
            return original(device, request, shared=shared) and all(wanted.sign != 0 for _, wanted in request.capacity)

        return acceptable

    patch.wrap(f"{_ALLOCATOR}.capacity:acceptable", make)


@mutant("long-requests-add-up", rule="DRA-212b")
def _(patch: Patch) -> None:
    """A request of more than 18 digits for a device grows by what the claim's other requests take of it (#140702)."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def within(self: Any, task: Any, position: int) -> bool:
            found = original(self, task, position)
            if position in self._extra:
                extra, consumption = self._extra[position].amounts, self._consumption(task)
                consumption[position] = tuple(_grown(one, extra.get(one.name, 0)) for one in consumption[position])
            return found

        return within

    _without_short_cuts(patch)
    patch.wrap(f"{_ALLOCATOR}.search:Search._within_capacity", make)


def _grown(taking: Any, extra: int) -> Any:
    if len(str(taking.amount).rstrip("0")) <= 18:
        return taking
    amount = taking.amount + extra
    return taking._replace(amount=amount, text=str(Quantity(amount, scale=-9, format=Format.DECIMAL_SI)))


@mutant("unknown-capacity-ignored", rule="DRA-207")
def _(patch: Patch) -> None:
    """A requested capacity that a device lacks is ignored."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def acceptable(device: Any, request: Any, shared: bool) -> bool:
            # A request may name a capacity with or without the domain of the driver.
            known = tuple(
                (name, wanted)
                for name, wanted in request.capacity
                if f"{device.id.driver}/{name}" in device.capacity or name in device.capacity
            )
            return original(device, dataclasses.replace(request, capacity=known), shared=shared)

        return acceptable

    patch.wrap(f"{_ALLOCATOR}.capacity:acceptable", make)


@mutant("exclusive-devices-are-shared", rule="DRA-208")
def _(patch: Patch) -> None:
    """An exclusive device is allocated as a share."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda request, device, *, consumed, make_share_id: original(
            request,
            device,
            consumed={} if consumed is None and request.capacity else consumed,
            make_share_id=make_share_id,
        )

    patch.wrap(f"{_ALLOCATOR}.results:device_result", make)


@mutant("exclusive-capacity-ignored", rule="DRA-208")
def _(patch: Patch) -> None:
    """The requested capacity of an exclusive device is ignored."""
    patch.wrap(
        f"{_ALLOCATOR}.capacity:acceptable",
        lambda original: lambda device, request, shared: original(device, request, shared=True) if shared else True,
    )


@mutant("constraints-ignored-for-shares", rule="DRA-209")
def _(patch: Patch) -> None:
    """Constraints do not apply to shared devices."""
    patch.replace(f"{_ALLOCATOR}.constraints:distinct", lambda state, offered: True)
    _without_short_cuts(patch)


@mutant("one-share-for-each-claim", rule="DRA-210")
def _(patch: Patch) -> None:
    """A claim gets a shared device once only."""

    def make(original: Callable[..., int]) -> Callable[..., int]:
        def unused(self: Any, task: Any) -> int:
            mine = [
                p for number, held in enumerate(self._picked) if self._tasks[number].claim == task.claim for p in held
            ]
            return original(self, task) & ~sum(1 << int(position) for position in set(mine))

        return unused

    _without_short_cuts(patch)
    patch.wrap(f"{_ALLOCATOR}.search:Search._unused", make)


@mutant("shares-consume-counters-repeatedly", rule="DRA-211")
def _(patch: Patch) -> None:
    """A shared partition consumes its counters for each share."""
    _without_short_cuts(patch)
    patch.replace(f"{_ALLOCATOR}.search:Search._charged_already", lambda self, position: False)


@mutant("shares-without-capacity-consume-counters-repeatedly", rule="DRA-211")
def _(patch: Patch) -> None:
    """A shared partition without capacity consumes its counters for each share (kubernetes/kubernetes#140437)."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def charged_already(self: Any, position: int) -> bool:
            return bool(self._inventory.devices[position].capacity) and original(self, position)

        return charged_already

    _without_short_cuts(patch)
    patch.wrap(f"{_ALLOCATOR}.search:Search._charged_already", make)


# -- admin access ------------------------------------------------------------------------------------------------------


@mutant("admin-access-allocates-a-device-twice", rule="DRA-235")
def _(patch: Patch) -> None:
    """A request with admin access gets a device twice."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def request(*args: Any, **more: Any) -> Any:
            found = original(*args, **more)
            return dataclasses.replace(found, count=min(found.count, 2)) if found.admin_access else found

        return request

    patch.wrap(f"{_ALLOCATOR}.model:_subrequest", make)


@mutant("admin-access-waits-for-devices-in-use", rule="DRA-236")
def _(patch: Patch) -> None:
    """A request with admin access for all devices waits for those in use."""

    def make(original: Callable[..., int]) -> Callable[..., int]:
        return lambda self, task: original(self, task) & ~(self._problem.busy if task.everything else 0)

    _without_short_cuts(patch)
    patch.wrap(f"{_ALLOCATOR}.search:Search._unused", make)


@mutant("admin-access-consumes-counters", rule="DRA-237")
def _(patch: Patch) -> None:
    """Admin access consumes counters."""
    patch.replace(f"{_ALLOCATOR}.counters:charged", lambda request: True)


@mutant("admin-access-needs-capacity", rule="DRA-237c")
def _(patch: Patch) -> None:
    """Admin access needs free capacity."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def within(self: Any, task: Any, position: int) -> bool:
            ordinary = dataclasses.replace(task.request, admin_access=False)
            return original(self, msgspec.structs.replace(task, request=ordinary), position)

        return within

    _without_short_cuts(patch)
    patch.wrap(f"{_ALLOCATOR}.search:Search._within_capacity", make)


@mutant("admin-access-counters-counted-as-used", rule="DRA-237b")
def _(patch: Patch) -> None:
    """A device with admin access counts as in use, with its counters."""
    patch.replace(f"{_ALLOCATOR}.taken:counts", lambda result: True)


@mutant("earlier-shares-and-own-shares-not-added-up", rule="DRA-212")
def _(patch: Patch) -> None:
    """Of the shares of earlier claims and those of the same pod, the larger counts."""

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def _committed(self: Any, position: int) -> dict[str, int]:
            own = self._extra[position].amounts if position in self._extra else {}
            return {name: max(amount - own.get(name, 0), 0) for name, amount in original(self, position).items()}

        return _committed

    patch.wrap("reference_impl.scheduler.allocator.search:Search._committed", wrapped)
