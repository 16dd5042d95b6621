"""Reasons why claims do not fit on a node, in one sentence: the request, the constraint, the obstacle.

Used only after a failed search. The reason is found by searching again for subsets of the requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dra_api.quantity import Quantity
from reference_impl.scheduler.allocator import matching, node_operations
from reference_impl.scheduler.allocator.inventory import NodeInventory, bits
from reference_impl.scheduler.allocator.matching import Need
from reference_impl.scheduler.allocator.model import AllocationError, SubRequest, qualified
from reference_impl.scheduler.allocator.search import ConstraintBreach, FailedDevice, Problem, Search, Task, union_of

if TYPE_CHECKING:
    from reference_impl.scheduler.allocator.allocate import Option

# A message is not worth a long search: without a result within these steps the reason is less precise.
_STEPS = 2_000
_CONSUMES_COUNTERS = "consumes shared counters, which requires the feature gate DRAPartitionableDevices"
_SKIPS_OPERATIONS = "is in a slice with skipNodeOperations, which requires the feature {} {}"


def failure(problem: Problem, options: Sequence[Sequence[Option]]) -> str:
    """Return the reason why no choice among `options` works, and the pool that might help if it could be used."""
    for alternatives in options:
        reasons = [lone_request(problem, option.task) for option in alternatives]
        if all(reasons):
            return "; ".join(reasons) + unusable(problem.inventory)
    # The last alternative is usually the least demanding one, so its obstacle is the most useful reason.
    tasks = [alternatives[-1].task for alternatives in options]
    return together(problem, tasks) + unusable(problem.inventory)


def lone_request(problem: Problem, task: Task) -> str:
    """Return the problem of one request on its own; empty if it alone would fit."""
    inventory, request = problem.inventory, task.request
    where = f"claim {problem.claims[task.claim].key}, request {request.name}"
    want = "all devices" if task.everything else f"{task.count} device{'s'[: task.count != 1]}"
    total = len(inventory.devices)
    matched = task.mask.bit_count()
    if not total:
        return f"{where}: wants {want}, but the node has no usable device"
    if task.everything and not task.count:
        return f"{where}: wants all devices, but none of {total} on the node matches its selectors"
    if task.everything and not task.mask:
        repelled = inventory.repelling(request)
        obstacle = "has a taint that it does not tolerate" if repelled else bar(problem)
        return f"{where}: wants all devices, but one of {task.count} {obstacle}"
    if not task.everything and matched < task.count:
        repelled = inventory.repelling(request).bit_count()
        hint = f", {repelled} of them with a taint that it does not tolerate" if repelled else ""
        if inventory.barred:
            hint += f", one {bar(problem)}"
        return (
            f"{where}: wants {want}, but only {matched} of {total} on the node match{'es'[: 2 * (matched == 1)]} "
            f"its selectors, capacity and tolerations{hint}{negative_capacity(inventory, request)}"
        )
    if not request.admin_access:
        free = (task.mask & ~problem.busy).bit_count()
        if free < task.count:
            return f"{where}: wants {want}, but only {free} of {matched} matching {be(free)} free"
    if solvable(problem, [task]):
        return ""
    if any(inventory.devices[at].counters for at in range(total) if task.mask >> at & 1) and not task.constraints:
        return f"{where}: wants {want}, but {spent(problem, task.mask)}"
    return f"{where}: wants {want}, but {limits_of(problem, [task])}"


def bar(problem: Problem) -> str:
    """Return why a device of the node cannot be allocated to any claim."""
    first = problem.inventory.devices[next(bits(problem.inventory.barred))]
    if first.counters and not problem.features.partitionable_devices:
        return _CONSUMES_COUNTERS
    where = "on the node" if problem.features.optional_node_operations else "in the scheduler"
    return _SKIPS_OPERATIONS.format(node_operations.FEATURE, where)


def together(problem: Problem, tasks: Sequence[Task]) -> str:
    """Return the obstacle if each request fits alone but all together do not."""
    count = sum(task.count for task in tasks)
    needs = alone(problem, [task for task in tasks if not task.request.admin_access])
    if not matching.satisfiable(needs):
        union = 0
        for need in needs:
            union |= need.mask
        free = union.bit_count()
        return f"the requests together want {count} devices, but share too few: {free} matching {be(free)} free"
    if (twice := wanted_twice(problem, tasks)) is not None:
        key = problem.claims[twice].key
        return f"claim {key} would need one device for two of its requests, which admin access does not allow"
    return f"the requests together want {count} devices, but {limits_of(problem, tasks)}"


def alone(problem: Problem, tasks: Sequence[Task]) -> list[Need]:
    """Return the needs of the tasks for exclusive devices; a task that may take a share has none."""
    # Matching counts devices, and several tasks may take one device that can be shared.
    single = ~problem.inventory.shareable
    return [
        Need((task.mask & single).bit_count() if task.everything else task.count, free & single)
        for task in tasks
        for free in [task.mask if task.request.admin_access else task.mask & ~problem.busy]
        if task.everything or not free & ~single
    ]


def wanted_twice(problem: Problem, tasks: Sequence[Task]) -> int | None:
    """Return the first claim whose own requests share too few devices: a claim has no device twice, even with admin
    access.
    """
    for claim in sorted({task.claim for task in tasks}):
        if not matching.satisfiable(alone(problem, [task for task in tasks if task.claim == claim])):
            return claim
    return None


def limits_of(problem: Problem, tasks: Sequence[Task]) -> str:
    """Return the constraint, or else the counters, without which the tasks would fit."""
    for position, constraint in enumerate(problem.constraints):
        without = [
            Task(
                task.claim,
                task.request,
                task.count,
                task.mask,
                everything=task.everything,
                constraints=tuple(number for number in task.constraints if number != position),
            )
            for task in tasks
        ]
        if any(position in task.constraints for task in tasks) and solvable(problem, without):
            over = f" over requests {', '.join(constraint.requests)}" if constraint.requests else ""
            return f"no free devices satisfy {constraint.kind} {constraint.attribute}{over}"
    if any(task.constraints for task in tasks):
        return "no free devices satisfy all its constraints together"
    if problem.left:
        return spent(problem, union_of(task.mask for task in tasks))
    return "the free capacity of shared devices does not suffice"


def spent(problem: Problem, mask: int) -> str:
    """Return the counter that is too low for the first device in `mask` that does not fit."""
    for position in bits(mask & ~problem.busy):
        device = problem.inventory.devices[position]
        left = problem.left.get(device.id.pool_id, {})
        for (counter_set, counter), value in device.counters.items():
            there = left.get((counter_set, counter), 0)
            if value > there:
                takes = next(
                    Quantity.parse(str(one["counters"][counter]["value"]))
                    for one in device.raw["consumesCounters"]
                    if one["counterSet"] == counter_set and counter in one["counters"]
                )
                rest = Quantity(there, scale=-9, format=takes.format)
                return f"{device.id} takes {takes} of the shared counter {counter_set}/{counter}, and {rest} is left"
    return "the shared counters of its devices do not suffice for all of them together"


def negative_capacity(inventory: NodeInventory, request: SubRequest) -> str:
    """Return a hint about the first device with a negative rest of a capacity that `request` requests."""
    for device in inventory.devices:
        for asked, _ in request.capacity:
            there = device.capacity.get(qualified(asked, device.id.driver))
            if there is not None and there.value.sign < 0:
                return f" ({device.id} has a negative {there.name}: {there.value})"
    return ""


def solvable(problem: Problem, tasks: Sequence[Task]) -> bool:
    """Return whether a short search finds devices for `tasks`."""
    trial = Problem(
        problem.inventory, problem.taken, problem.claims, problem.constraints, problem.features, steps=_STEPS
    )
    try:
        return Search(trial, tasks).run() is not None
    except (AllocationError, FailedDevice, ConstraintBreach):
        return False


def unusable(inventory: NodeInventory) -> str:
    """Return a hint about pools that cannot be used, or not yet."""
    pool = inventory.unusable("invalid") or inventory.unusable("incomplete")
    return f" (pool {pool.id.driver}/{pool.id.pool} is {pool.state}: {pool.reason})" if pool else ""


def be(count: int) -> str:
    """Return `is` or `are`."""
    return "is" if count == 1 else "are"
