"""The search: devices for a list of tasks on one node, first fit in slice order.

A `Search` serves one attempt. It tries devices in order, backtracks if a later task fails, and detects early by
counting that no solution exists: see `Search._hopeless`. Devices that are equal for the tasks at hand form one class;
if one of a class fails, the others are not tried at the same position.

Source: allocator_incubating.go allocateOne (v0.36) for the meaning; the pruning is ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from reference_impl.scheduler.allocator import compatibility, constraints, counters, derived, matching
from reference_impl.scheduler.allocator.inventory import Consumption, NodeInventory, bits
from reference_impl.scheduler.allocator.matching import Need
from reference_impl.scheduler.allocator.model import (
    AllocationError,
    Claim,
    Constraint,
    Device,
    Features,
    PoolId,
    SubRequest,
)
from reference_impl.scheduler.allocator.taken import Shares, Taken

_NOTHING: Mapping[str, int] = {}
# Attempts to place one device before the search on a node ends, as upstream ends after its filter timeout.
MAX_STEPS = 20_000


class SearchLimit(AllocationError):
    """The search took too many steps on this node."""


class Task(msgspec.Struct, frozen=True, gc=False):
    """One (sub)request to serve: `count` devices of `mask`, or exactly those of `mask` when `everything`.

    `failed` are devices on which a selector failed; meeting one ends the search. `fails`: a derived attribute that a
    constraint needs fails on some device, which ends the search where the constraint needs it. `constraints` are
    positions in the search's list of constraints. `consumption` is what a pick takes of a shared device, by position.
    """

    claim: int
    request: SubRequest
    count: int
    mask: int
    failed: int = 0
    fails: bool = False
    everything: bool = False
    constraints: tuple[int, ...] = ()
    consumption: Consumption | None = None

    def like(self, other: Task) -> bool:
        """Return whether the two tasks are interchangeable."""
        return (
            self.claim == other.claim
            and self.count == other.count
            and self.mask == other.mask
            and self.failed == other.failed
            and self.constraints == other.constraints
            and not self.everything
            and not other.everything
            and self.request.admin_access == other.request.admin_access
            and self.request.capacity == other.request.capacity
            and self.request.derived == other.request.derived
        )


@dataclass(slots=True)
class Problem:
    """The input of a search: the node, the devices in use, the claims, and all their constraints."""

    inventory: NodeInventory
    taken: Taken
    claims: Sequence[Claim]
    constraints: Sequence[Constraint]
    features: Features
    busy: int = 0
    left: dict[PoolId, dict[tuple[str, str], int]] = field(default_factory=dict)
    groups: dict[PoolId, compatibility.State] = field(default_factory=dict)
    steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        self.busy = self.inventory.in_use(self.taken)
        for pool in self.inventory.pools:
            if pool.counters:
                self.left[pool.id] = counters.available(pool, self.taken.names(pool.id))
                if self.features.compatibility_groups and pool.has_compatibility_groups:
                    self.groups[pool.id] = compatibility.in_use(pool, self.taken.names(pool.id))


class FailedDevice(Exception):
    """The search met a device on which a selector of the task failed."""

    def __init__(self, task: Task, position: int) -> None:
        super().__init__()
        self.task = task
        self.position = position


class ConstraintBreach(Exception):
    """All devices of an `All` request must be taken, and a constraint forbids one."""

    def __init__(self, task: Task, position: int) -> None:
        super().__init__()
        self.task = task
        self.position = position


def union_of(masks: Iterable[int]) -> int:
    """Return the union of masks."""
    union = 0
    for mask in masks:
        union |= mask
    return union


class Search:
    """One search over `tasks`, in their order.

    `barrier` means that something after the tasks is impossible: nothing will be found, but a selector that fails
    before that point still is an error of the claim.
    """

    def __init__(self, problem: Problem, tasks: Sequence[Task], *, barrier: bool = False) -> None:
        self._problem = problem
        self._inventory = problem.inventory
        self._tasks = tasks
        self._barrier = barrier
        self._states: list[constraints.State] = [None] * len(problem.constraints)
        self._used = 0
        self._used_by_claim = [0] * len(problem.claims)
        self._left = {pool: dict(left) for pool, left in problem.left.items()}
        self._groups = dict(problem.groups)
        # What `_groups` was before each pick that changed it, to go back.
        self._former_groups: list[compatibility.State] = []
        self._extra: dict[int, Shares] = {}
        self._picked: list[list[int]] = [[] for _ in tasks]
        self._exact = [number for number, task in enumerate(tasks) if not task.everything]
        self._scope = [
            [number for number in self._exact if position in tasks[number].constraints]
            for position in range(len(problem.constraints))
        ]
        self._derives = [
            any(constraint.attribute in tasks[number].request.derived for number in self._covering(position))
            for position, constraint in enumerate(problem.constraints)
        ]
        # Where an evaluation fails, the order of the search decides between "no" and an error: nothing is cut short.
        self._may_fail = any(task.fails for task in tasks)
        self._class_of: dict[int, object] = {}
        self._dead: set[object] = set()
        # Devices that `All` requests behind a task take: they are given, but not yet met when the task's turn comes.
        self._taken_later = [0] * len(tasks)
        if len(self._exact) < len(tasks):
            for number in self._exact:
                later = tasks[number + 1 :]
                self._taken_later[number] = union_of(other.mask for other in later if other.everything)

    def _covering(self, position: int) -> list[int]:
        """Return the tasks that a constraint covers."""
        return [number for number, task in enumerate(self._tasks) if position in task.constraints]

    def _offered(self, task: Task, position: int, attribute: str) -> constraints.Values | AllocationError | None:
        return derived.values(self._inventory.devices[position], task.request, attribute, self._problem.features)

    # -- the way through -------------------------------------------------------------------------------------------

    def run(self) -> list[list[int]] | None:
        """Return the devices of each task, or None when there is no way.

        Raises FailedDevice, ConstraintBreach, SearchLimit.
        """
        blocked = self._take_all_requests()
        found = self._place_others() if blocked is None else None
        if found is None:
            self._meet_failures(blocked)
        return found

    def _meet_failures(self, blocked: int | None) -> None:
        """Raise FailedDevice if a failing selector comes before an `All` request of an unsuccessful search."""
        failed = False
        for number, task in enumerate(self._tasks):
            if number == blocked or (failed and task.everything):
                Search(self._problem, self._tasks[:number], barrier=True).run()
                return
            failed = failed or bool(task.failed) or task.fails

    def _place_others(self) -> list[list[int]] | None:
        """Choose devices for the requests that leave a choice, level by level."""
        places = [(number, nth) for number in self._exact for nth in range(self._tasks[number].count)]
        if not places:
            return None if self._barrier else self._picked
        if not self._barrier and self._straight_down(places):
            return self._picked
        levels = [self._choices(*places[0])]
        while levels:
            if next(levels[-1], None) is None:
                levels.pop()
            elif len(levels) == len(places):
                return self._picked
            else:
                levels.append(self._choices(*places[len(levels)]))
        return None

    def _straight_down(self, places: Sequence[tuple[int, int]]) -> bool:
        """Take the first possible device at every position, without looking ahead or backtracking.

        If that works, the result is the first one of the full search, at a fraction of the cost; otherwise nothing is
        taken.
        """
        down: list[tuple[int, int, list[constraints.State]]] = []
        for number, nth in places:
            before = self._states
            position = self._first_choice(number, nth)
            if position is None:
                for undone in reversed(down):
                    self._give_back(*undone)
                return False
            down.append((number, position, before))
        return True

    def _first_choice(self, number: int, nth: int) -> int | None:
        """Take the first device for a place; None when there is none, or when a selector failed on one before it."""
        task = self._tasks[number]
        # Devices of one task are picked in ascending order: another order of the same devices is the same solution.
        after = self._picked[number][-1] if nth else self._first_allowed(number)
        failing = task.failed & (self._unused(task) | self._taken_later[number]) if task.failed else 0
        tried: set[object] = set()
        for position in bits((self._open(task) | failing) >> (after + 1) << (after + 1)):
            self._problem.steps -= 1
            if failing >> position & 1 or self._problem.steps < 0:
                return None
            # Without a failed device there is no class to compare with, so none is computed.
            if tried and self._class(position) in tried:
                continue
            if self._within_counters(task, position) and self._within_capacity(task, position):
                states = self._constrained(task, position)
                if states is not None:
                    self._take(number, position, states)
                    return position
            tried.add(self._class(position))
        return None

    def _take_all_requests(self) -> int | None:
        """Serve the `All` requests first, whatever their position in the claim, because their devices are fixed.

        Returns the number of the first that cannot be served, if any. Raises ConstraintBreach if one could be
        reached and a constraint forbids it.
        """
        for number, task in enumerate(self._tasks):
            if not task.everything:
                continue
            for position in bits(task.mask):
                if not self._open(task) >> position & 1 or not self._within_counters(task, position):
                    return number
                if not self._within_capacity(task, position):
                    return number
                failure: Exception = ConstraintBreach(task, position)
                try:
                    states = self._constrained(task, position)
                except AllocationError as error:
                    states, failure = None, error
                if states is None:
                    # An error of the claim only if the search reaches this device: search up to it without constraints.
                    unconstrained = msgspec.structs.replace(task, constraints=())
                    if Search(self._problem, [*self._tasks[:number], unconstrained]).run() is None:
                        return number
                    raise failure
                self._take(number, position, states)
        return None

    def _choices(self, number: int, nth: int) -> Iterator[int]:
        """Place device `nth` of task `number`: each choice in turn, undone when the caller requests the next."""
        task = self._tasks[number]
        after = self._picked[number][-1] if nth else self._first_allowed(number)
        failing = task.failed & (self._unused(task) | self._taken_later[number])
        candidates = (self._open(task) | failing) >> (after + 1) << (after + 1)
        dead_key = (number, nth, after, self._used, tuple(self._used_by_claim), tuple(self._states))
        # The key does not contain the picked shares of devices, so nothing is remembered while there are any.
        remember = not self._extra
        if (remember and dead_key in self._dead) or self._hopeless(number, nth, after):
            if task.failed & candidates:
                raise FailedDevice(task, next(bits(task.failed & candidates)))
            return
        tried: set[object] = set()
        for position in bits(candidates):
            if task.failed >> position & 1:
                raise FailedDevice(task, position)
            self._problem.steps -= 1
            if self._problem.steps < 0:
                raise SearchLimit(f"node {self._inventory.node.name}: timed out trying to allocate devices")
            kind = self._class(position)
            if kind in tried:
                continue
            tried.add(kind)
            if not self._within_counters(task, position) or not self._within_capacity(task, position):
                continue
            states = self._constrained(task, position)
            if states is None:
                continue
            before = self._states
            self._take(number, position, states)
            yield position
            self._give_back(number, position, before)
        if remember:
            self._dead.add(dead_key)

    def _first_allowed(self, number: int) -> int:
        """Return the place behind which a task begins: interchangeable tasks take devices in order, not in every order.

        A device that can be shared may be taken by the next task as well.
        """
        task = self._tasks[number]
        if number and task.like(self._tasks[number - 1]):
            return self._picked[number - 1][0] - bool(self._shareable(task))
        return -1

    # -- what a pick does ------------------------------------------------------------------------------------------

    def _unused(self, task: Task) -> int:
        """Return the devices neither in use nor picked; admin access ignores the use by others (DRA-233, DRA-235)."""
        shareable = self._inventory.shareable
        mine = self._used_by_claim[task.claim]
        if task.request.admin_access:
            return self._inventory.everything & ~(mine & ~shareable)
        return self._inventory.everything & ~self._problem.busy & ~((self._used | mine) & ~shareable)

    def _open(self, task: Task) -> int:
        """Return devices that `task` may still take."""
        return task.mask & self._unused(task)

    def _shareable(self, task: Task) -> int:
        return task.mask & self._inventory.shareable

    def _within_counters(self, task: Task, position: int) -> bool:
        device = self._inventory.devices[position]
        if not device.counters or not counters.charged(task.request) or self._charged_already(position):
            return True
        groups = self._groups.get(device.id.pool_id)
        compatible = groups is None or compatibility.admits(device, groups)
        return compatible and counters.fits(device, self._left[device.id.pool_id])

    def _charged_already(self, position: int) -> bool:
        """Return whether a shared device is charged already: only its first use is (DRA-211)."""
        if not self._inventory.shareable >> position & 1:
            return False
        device = self._inventory.devices[position]
        return position in self._extra or device.id.device in self._problem.taken.shared.get(device.id.pool_id, ())

    def _within_capacity(self, task: Task, position: int) -> bool:
        if not self._inventory.shareable >> position & 1 or task.request.admin_access:
            return True
        committed = self._committed(position)
        extra = self._extra[position].amounts if position in self._extra else _NOTHING
        for name, amount, total, _ in self._consumption(task)[position]:
            if committed.get(name, 0) + extra.get(name, 0) + amount > total:
                return False
        return True

    def _consumption(self, task: Task) -> Consumption:
        return self._inventory.consumption(task.request) if task.consumption is None else task.consumption

    def _committed(self, position: int) -> Mapping[str, int]:
        """Return the consumption of a shared device by earlier allocations, by capacity name."""
        shared = self._problem.taken.shared.get(self._inventory.pool_of[position].id)
        shares = shared.get(self._inventory.devices[position].id.device) if shared else None
        return shares.amounts if shares else _NOTHING

    def _constrained(self, task: Task, position: int) -> list[constraints.State] | None:
        """Return the constraints' states with this device, or None when one forbids it.

        Raises AllocationError if a derived attribute cannot be evaluated.
        """
        if not task.constraints:
            return self._states
        states = list(self._states)
        for number in task.constraints:
            constraint = self._problem.constraints[number]
            offered = self._offered(task, position, constraint.attribute)
            if isinstance(offered, AllocationError):
                raise AllocationError(f"claim {self._problem.claims[task.claim].key}, {offered}")
            if offered is None:
                return None
            allowed, states[number] = constraints.add(constraint, states[number], offered)
            if not allowed:
                return None
        return states

    def _take(self, number: int, position: int, states: list[constraints.State]) -> None:
        task = self._tasks[number]
        device = self._inventory.devices[position]
        self._states = states
        self._picked[number].append(position)
        # Before `_share`, because `_charged_already` must not count this very pick.
        if device.counters and counters.charged(task.request) and not self._charged_already(position):
            counters.take(device, self._left[device.id.pool_id])
            self._join(device)
        if self._inventory.shareable >> position & 1:
            self._share(task, position, 1)
            return
        self._used_by_claim[task.claim] |= 1 << position
        if not task.request.admin_access:
            self._used |= 1 << position

    def _give_back(self, number: int, position: int, states: list[constraints.State]) -> None:
        task = self._tasks[number]
        device = self._inventory.devices[position]
        self._states = states
        self._picked[number].pop()
        if self._inventory.shareable >> position & 1:
            self._share(task, position, -1)
        else:
            self._used_by_claim[task.claim] &= ~(1 << position)
            if not task.request.admin_access:
                self._used &= ~(1 << position)
        # After `_share`: the counters are returned only if no other pick uses the device.
        if device.counters and counters.charged(task.request) and not self._charged_already(position):
            counters.give_back(device, self._left[device.id.pool_id])
            if device.id.pool_id in self._groups:
                self._groups[device.id.pool_id] = self._former_groups.pop()

    def _join(self, device: Device) -> None:
        """Let the device share counter sets with those of its groups; picks are undone in the reverse order."""
        groups = self._groups.get(device.id.pool_id)
        if groups is not None:
            self._former_groups.append(groups)
            self._groups[device.id.pool_id] = compatibility.joined(device, groups)

    def _share(self, task: Task, position: int, sign: int) -> None:
        if task.request.admin_access:
            return
        shares = self._extra.get(position)
        if shares is None:
            shares = self._extra[position] = Shares()
        shares.count += sign
        for name, amount, _, _ in self._consumption(task)[position]:
            shares.amounts[name] = shares.amounts.get(name, 0) + sign * amount
        if shares.count == 0:
            del self._extra[position]

    # -- looking ahead ---------------------------------------------------------------------------------------------

    def _class(self, position: int) -> object:
        """Return the key that equal devices share for these tasks: possible tasks, constrained values, counters."""
        known = self._class_of.get(position)
        if known is None:
            bit = 1 << position
            if self._inventory.shareable & bit:
                known = position
            else:
                device = self._inventory.devices[position]
                known = (
                    tuple((bool(task.mask & bit), bool(task.failed & bit)) for task in self._tasks),
                    bool(self._problem.busy & bit),
                    tuple(self._compared(number, position) for number in range(len(self._problem.constraints))),
                    (device.id.pool_id, frozenset(device.counters.items())) if device.counters else None,
                    # Read from the device only where it can matter: this is a hot path.
                    frozenset(compatibility.groups_of(device).items()) if device.id.pool_id in self._groups else None,
                )
            self._class_of[position] = known
        return known

    def _compared(self, number: int, position: int) -> object:
        """Return what a constraint compares of a device: with derived attributes, one value for each covered task."""
        attribute = self._problem.constraints[number].attribute
        if not self._derives[number]:
            return constraints.values(self._inventory.devices[position], attribute, self._problem.features)
        found = [self._offered(self._tasks[task], position, attribute) for task in self._covering(number)]
        return position if any(isinstance(one, AllocationError) for one in found) else tuple(found)

    def _hopeless(self, number: int, nth: int, after: int) -> bool:
        """Return whether counting alone shows that the remaining picks cannot all be made."""
        if self._may_fail:
            return False
        remaining: list[tuple[int, Need]] = []
        unused: dict[tuple[int, bool], int] = {}
        for other in self._exact:
            if other < number:
                continue
            task = self._tasks[other]
            if other > number and task.failed:
                break  # whether the search gets as far as there decides between "no" and an error
            kind = (task.claim, task.request.admin_access)
            if kind not in unused:
                unused[kind] = self._unused(task)
            mask = task.mask & unused[kind]
            if other == number:
                mask = mask >> (after + 1) << (after + 1)
            remaining.append((other, Need(task.count - (nth if other == number else 0), mask)))
        else:
            if self._barrier:
                return True
        if not self._countable(remaining):
            return True
        reached = remaining[-1][0]
        for position, constraint in enumerate(self._problem.constraints):
            # A constraint on later tasks proves nothing if a selector may fail before them.
            if not self._derives[position] and any(number <= at <= reached for at in self._scope[position]):
                check = self._no_common_value if constraint.kind == "matchAttribute" else self._too_few_values
                if check(position, remaining):
                    return True
        return bool(self._left) and self._counters_too_low(remaining)

    def _shares(self, number: int, need: Need) -> bool:
        """Return whether the devices of a task may be those of others: with admin access, or if they are shared."""
        return self._tasks[number].request.admin_access or bool(need.mask & self._inventory.shareable)

    def _countable(self, remaining: list[tuple[int, Need]]) -> bool:
        """Return whether counting devices allows a solution. Shared devices and admin access exclude no other task."""
        crowding: list[Need] = []
        for number, need in remaining:
            if self._shares(number, need):
                if need.mask.bit_count() < need.wanted:
                    return False
            else:
                crowding.append(need)
        return matching.satisfiable(crowding)

    def _no_common_value(self, position: int, remaining: list[tuple[int, Need]]) -> bool:
        """Return whether no value of a matchAttribute is left that enough devices share."""
        masks = self._inventory.having(self._problem.constraints[position].attribute)
        wanted, scope = self._states[position], self._scope[position]
        exclusive = sum(need.wanted for number, need in remaining if number in scope and not self._shares(number, need))
        # A value of many devices is the likeliest proof of the contrary.
        left = masks.values() if wanted is None else [masks[value] for value in wanted if value in masks]
        for having in sorted(left, key=int.bit_count, reverse=True):
            if having.bit_count() < exclusive:
                return True
            narrowed = [
                (number, Need(need.wanted, need.mask & having) if number in scope else need)
                for number, need in remaining
            ]
            if self._countable(narrowed):
                return False
        return True

    def _too_few_values(self, position: int, remaining: list[tuple[int, Need]]) -> bool:
        """Return whether fewer values of a distinctAttribute are left than picks, in any assignment."""
        by_value = self._inventory.by_value(self._problem.constraints[position].attribute)
        if any(len(offered) > 1 for offered in by_value):
            return False  # one device with a list attribute uses several values: counting proves nothing
        taken = self._states[position] or frozenset()
        masks = [mask for offered, mask in by_value.items() if offered.isdisjoint(taken)]
        over_values = [
            Need(need.wanted, sum(1 << nth for nth, mask in enumerate(masks) if mask & need.mask))
            for number, need in remaining
            if number in self._scope[position]
        ]
        return not matching.satisfiable(over_values)

    def _counters_too_low(self, remaining: list[tuple[int, Need]]) -> bool:
        """Return whether a counter of a pool is too low for the cheapest devices of the remaining picks."""
        needed: dict[PoolId, dict[str, int]] = {}
        for number, need in remaining:
            bound = self._bound(number)
            if bound is not None and need.wanted:
                totals = needed.setdefault(bound[0], {})
                for name, value in bound[1].items():
                    totals[name] = totals.get(name, 0) + need.wanted * value
        for pool, totals in needed.items():
            left, named = self._left[pool], self._inventory.counters_named[pool]
            for name, total in totals.items():
                if sum([left[key] for key in named.get(name, ()) if left[key] > 0]) < total:
                    return True
        return False

    def _bound(self, number: int) -> tuple[PoolId, dict[str, int]] | None:
        """Return the least that one pick of a task consumes of its pool's counters; None if that may be nothing."""
        task = self._tasks[number]
        if not counters.charged(task.request) or self._shareable(task):
            return None
        return self._inventory.least_counters(task.mask)
