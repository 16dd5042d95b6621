"""Allocation on one node: all claims of a pod or none.

`allocate` is a pure function of its arguments (share ids aside). It turns requests into tasks, chooses among
prioritized alternatives, runs the search, and puts the results together.

Source: allocator_incubating.go Allocate (v0.36); rules DRA-134, DRA-146 to DRA-157, DRA-181 to DRA-188.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from reference_impl.scheduler.allocator import derived, explain, results, selectors
from reference_impl.scheduler.allocator.inventory import NodeInventory, bits
from reference_impl.scheduler.allocator.model import (
    MAX_RESULTS,
    Allocation,
    AllocationError,
    Claim,
    Classes,
    Device,
    Features,
    MissingClass,
    Outcome,
    Request,
    SubRequest,
)
from reference_impl.scheduler.allocator.search import (
    MAX_STEPS,
    ConstraintBreach,
    FailedDevice,
    Problem,
    Search,
    Task,
)
from reference_impl.scheduler.allocator.taken import Taken

log = logging.getLogger(__name__)

MODES = frozenset({"ExactCount", "All"})
INVALID_POOLS = "invalid resource pools were encountered"


def new_share_id() -> str:
    """Return a fresh id for one share of a device (UUID version 4)."""
    return str(uuid.uuid4())


def check_claim(claim: Claim, classes: Classes, features: Features) -> None:
    """Check everything about a claim that does not depend on the node. Raises AllocationError (digest 3.2)."""
    for request in claim.requests:
        if request.prioritized and not features.prioritized_list:
            raise AllocationError(f"claim {claim.key}, request {request.name}: firstAvailable needs DRAPrioritizedList")
        for sub in request.alternatives:
            where = f"claim {claim.key}, request {sub.name}"
            if sub.class_name not in classes:
                raise MissingClass(f"request {sub.name}: device class {sub.class_name} does not exist")
            if sub.mode not in MODES:
                raise AllocationError(f"{where}: unsupported allocation mode {sub.mode}")
            if sub.admin_access and not features.admin_access:
                raise AllocationError(f"{where}: admin access is requested, but the feature is disabled")
            if sub.capacity and not features.consumable_capacity:
                raise AllocationError(f"{where}: capacity is requested, but the feature is disabled")
            if sub.derived and not features.derived_attributes:
                raise AllocationError(f"{where}: derivedAttributes are used, but the feature is disabled")
    for constraint in claim.constraints:
        if not constraint.kind:
            raise AllocationError(f"claim {claim.key}: a constraint is neither matchAttribute nor distinctAttribute")
        if constraint.kind == "distinctAttribute" and not features.consumable_capacity:
            raise AllocationError(f"claim {claim.key}: distinctAttribute is used, but the feature is disabled")


class Option(NamedTuple):
    """One alternative of one request on this node, with the size it would have."""

    request: Request
    number: int
    task: Task


class Allocator:
    """The claims of one pod against any number of nodes."""

    def __init__(
        self,
        claims: Sequence[Claim],
        classes: Classes,
        *,
        features: Features | None = None,
        max_steps: int = MAX_STEPS,
    ) -> None:
        """Check the claims. `max_steps` bounds the search on one node. Raises AllocationError (digest 3.2)."""
        self.claims = claims
        self.classes = classes
        self.features = features or Features()
        self.max_steps = max_steps
        self._constraints = [constraint for claim in claims for constraint in claim.constraints]
        # Without All requests and admin access, a node without a free device cannot satisfy the claims.
        self._needs_free_devices = bool(claims) and all(claim.needs_free_devices for claim in claims)
        self._has_choice = any(request.prioritized for claim in claims for request in claim.requests)
        self._first_constraint = [0]
        for claim in claims:
            check_claim(claim, classes, self.features)
            self._first_constraint.append(self._first_constraint[-1] + len(claim.constraints))

    # -- entry point --------------------------------------------------------------------------------------------

    def on(self, inventory: NodeInventory, taken: Taken) -> Outcome:
        """Try one node; `why_not` returns the reason of a failure, which costs more than the failure.

        Raises AllocationError when a selector fails, a pool is in the way of an All request, or a limit is passed.
        """
        if self._needs_free_devices and not inventory.everything & ~inventory.in_use(taken):
            return self._nothing(inventory, steps=0)
        problem = self._problem(inventory, taken)
        try:
            options = self._options(inventory)
            found = self._choose(problem, options)
        except FailedDevice as failed:
            raise self._selector_error(inventory, failed.task, failed.position) from None
        except ConstraintBreach as breach:
            raise AllocationError(
                f"claim {self.claims[breach.task.claim].key}, request {breach.task.request.name}: cannot add device "
                f"{inventory.devices[breach.position].id} because a claim constraint would not be satisfied"
            ) from None
        except AllocationError as error:
            error.steps = self.max_steps - problem.steps
            raise
        steps = self.max_steps - problem.steps
        if found is not None:
            tasks, picked, numbers = found
            return Outcome(tuple(self._assemble(inventory, tasks, picked, numbers)), steps)
        return self._nothing(inventory, steps=steps)

    def _nothing(self, inventory: NodeInventory, *, steps: int) -> Outcome:
        """Return the outcome without devices. Raises AllocationError if an invalid pool may be the reason."""
        if (broken := inventory.unusable("invalid")) is not None:
            log.debug("pool %s/%s: %s", broken.id.driver, broken.id.pool, broken.reason)
            raise AllocationError(INVALID_POOLS, on_node_only=True)
        return Outcome(None, steps)

    def why_not(self, inventory: NodeInventory, taken: Taken) -> str:
        """Return the reason why the claims do not fit on a node for which `on` found no devices, in one sentence."""
        return explain.failure(self._problem(inventory, taken), self._options(inventory))

    def _problem(self, inventory: NodeInventory, taken: Taken) -> Problem:
        return Problem(inventory, taken, self.claims, self._constraints, self.features, steps=self.max_steps)

    # -- from requests to tasks ------------------------------------------------------------------------------------

    def _options(self, inventory: NodeInventory) -> list[list[Option]]:
        """Return for each request of each claim its alternatives that are possible on this node."""
        found: list[list[Option]] = []
        for claim_number, claim in enumerate(self.claims):
            for request in claim.requests:
                tasks = [self._task(inventory, claim_number, sub) for sub in request.alternatives]
                found.append([Option(request, number, task) for number, task in enumerate(tasks)])
            if not claim.needs_free_devices:  # the size of others is known and within the limit
                self._check_size(claim, found[len(found) - len(claim.requests) :])
        return found

    def _check_size(self, claim: Claim, options: list[list[Option]]) -> None:
        """Raise an error for more devices than a claim can have; it does not depend on the node (DRA-156, DRA-157)."""
        least = sum(min(option.task.count for option in alternatives) for alternatives in options)
        if exceeds_limit(least):
            raise AllocationError(
                f"claim {claim.key}: number of requested devices {least} exceeds the claim limit of {MAX_RESULTS}"
            )

    def _task(self, inventory: NodeInventory, claim_number: int, sub: SubRequest) -> Task:
        claim = self.claims[claim_number]
        matched = inventory.matching(sub, self.classes[sub.class_name], claim)
        first = self._first_constraint[claim_number]
        constraints = tuple(
            first + number for number, constraint in enumerate(claim.constraints) if constraint.covers(sub)
        )
        if not sub.all_devices:
            mask = matched.mask & ~inventory.repelling(sub) & ~inventory.barred
            mask &= ~inventory.too_small(sub)
            shares = inventory.consumption(sub) if mask & inventory.shareable else None
            return Task(
                claim_number,
                sub,
                sub.count,
                mask,
                matched.failed,
                fails=self._fails(inventory, sub, mask, constraints),
                constraints=constraints,
                consumption=shares,
            )
        refuse_unusable_pools(inventory, claim, sub)
        if matched.failed:
            task = Task(claim_number, sub, 0, matched.mask, matched.failed)
            raise FailedDevice(task, next(bits(matched.failed)))
        wanted = matched.mask & ~inventory.too_small(sub)
        # A taint does not make the request smaller: a device that must be taken and cannot be ends it.
        blocked = bool(wanted & (inventory.repelling(sub) | inventory.barred))
        return Task(
            claim_number,
            sub,
            wanted.bit_count(),
            0 if blocked else wanted,
            fails=not blocked and self._fails(inventory, sub, wanted, constraints),
            everything=True,
            constraints=constraints,
        )

    def _fails(self, inventory: NodeInventory, sub: SubRequest, mask: int, constraints: Iterable[int]) -> bool:
        """Return whether a derived attribute that a constraint needs fails on a device that the request may take."""
        if not sub.derived:
            return False
        attributes = [self._constraints[number].attribute for number in constraints]
        devices = [inventory.devices[position] for position in bits(mask)]
        return derived.fails(devices, sub, attributes, self.features)

    # -- alternatives ----------------------------------------------------------------------------------------------

    def _choose(
        self, problem: Problem, options: list[list[Option]]
    ) -> tuple[list[Task], list[list[int]], tuple[int, ...]] | None:
        """Return the first choice of alternatives, in order of preference, with devices for all of it.

        Choices are made from the first request to the last, and a beginning that cannot work, given what the rest
        needs at least, is abandoned at once with all its continuations. Raises ConstraintBreach only if no other choice
        works: an impossible alternative does not exclude the next one.
        """
        breaches: list[ConstraintBreach] = []
        choices = self._prefixes(problem, options, (), breaches) if self._has_choice else [(0,) * len(options)]
        for numbers in choices:
            tasks = [alternatives[number].task for alternatives, number in zip(options, numbers, strict=True)]
            picked = self._attempt(problem, tasks, breaches)
            if picked is not None:
                return tasks, picked, numbers
        if breaches:
            raise breaches[0]
        return None

    def _prefixes(
        self, problem: Problem, options: list[list[Option]], chosen: tuple[int, ...], breaches: list[ConstraintBreach]
    ) -> Iterator[tuple[int, ...]]:
        """Return complete choices that begin with `chosen`, best first, skipping beginnings that cannot work."""
        position = len(chosen)
        while position < len(options) and len(options[position]) == 1:
            chosen, position = (*chosen, 0), position + 1
        if position == len(options):
            yield chosen
            return
        tried: list[Task] = []
        alternatives = list(enumerate(options[position]))
        # An alternative with too few devices is not tried: its search could only fail on the selector of another.
        alternatives = [one for one in alternatives if not out_of_reach(problem, [one[1].task])] or alternatives
        for number, option in alternatives:
            attempt = (*chosen, number)
            if any(option.task.like(before) for before in tried):
                continue
            tried.append(option.task)
            if self._attempt(problem, self._start(problem, options, attempt), breaches) is not None:
                yield from self._prefixes(problem, options, attempt, breaches)

    @staticmethod
    def _start(problem: Problem, options: list[list[Option]], chosen: tuple[int, ...]) -> list[Task]:
        """Return the tasks of a beginning: what is chosen, and of each later request what all its alternatives need."""
        tasks = [alternatives[number].task for alternatives, number in zip(options, chosen, strict=False)]
        for alternatives in options[len(chosen) :]:
            if any(option.task.failed or option.task.fails for option in alternatives):
                break  # whether the search reaches it decides between "no" and an error
            common = alternatives[0].task if len(alternatives) == 1 else least_of(alternatives, problem.inventory)
            if common is not None:
                tasks.append(common)
        return tasks

    def _attempt(self, problem: Problem, tasks: list[Task], breaches: list[ConstraintBreach]) -> list[list[int]] | None:
        """Return devices for all tasks, or None; record a constraint that forbids a device of an All request."""
        try:
            return self._solve(problem, tasks)
        except ConstraintBreach as breach:
            breaches.append(breach)
            return None

    def _solve(self, problem: Problem, tasks: list[Task]) -> list[list[int]] | None:
        for claim_number in range(len(self.claims)):
            if exceeds_limit(sum(task.count for task in tasks if task.claim == claim_number)):
                return None
        for number, task in enumerate(tasks):
            if not can_take_all(task):
                Search(problem, tasks[:number], barrier=True).run()
                return None
        if out_of_reach(problem, tasks):
            return None
        if alike(problem, tasks):
            return first_free(problem, tasks)
        return Search(problem, tasks).run()

    # -- results ---------------------------------------------------------------------------------------------------

    def _assemble(
        self, inventory: NodeInventory, tasks: list[Task], picked: list[list[int]], numbers: tuple[int, ...]
    ) -> Iterator[Allocation]:
        shared = {
            inventory.devices[at]: at for positions in picked for at in positions if inventory.shareable >> at & 1
        }

        def consumed_by(device: Device, request: SubRequest) -> dict[str, str] | None:
            if device not in shared or request.admin_access:
                return None
            return {taking.name: taking.text for taking in inventory.consumption(request)[shared[device]]}

        for claim_number, claim in enumerate(self.claims):
            mine = [at for at, task in enumerate(tasks) if task.claim == claim_number]
            chosen = [(tasks[at].request, [inventory.devices[position] for position in picked[at]]) for at in mine]
            result = results.assemble(
                claim, chosen, inventory.node, self.classes, consumed_by=consumed_by, make_share_id=new_share_id
            )
            prioritized = tuple(
                numbers[at] for at, request in zip(mine, claim.requests, strict=True) if request.prioritized
            )
            yield Allocation(claim, result, prioritized)

    def _selector_error(self, inventory: NodeInventory, task: Task, position: int) -> AllocationError:
        """Evaluate the failed selector again, for an error message that names this claim."""
        claim = self.claims[task.claim]
        device_class = self.classes[task.request.class_name]
        try:
            selectors.matches(inventory.devices[position], task.request, device_class, claim, self.features)
        except selectors.SelectorError as error:
            return error
        return AllocationError(f"claim {claim.key}: a selector failed")


def least_of(alternatives: Sequence[Option], inventory: NodeInventory) -> Task | None:
    """Return a task that every alternative of a request includes: the fewest devices of all those that any of them may
    use.

    None if no such task exists (admin access, shared devices).
    """
    tasks = [option.task for option in alternatives]
    mask = 0
    for task in tasks:
        mask |= task.mask
    if any(task.request.admin_access for task in tasks) or mask & inventory.shareable:
        return None
    return Task(tasks[0].claim, tasks[0].request, min(task.count for task in tasks), mask)


def exceeds_limit(devices: int) -> bool:
    """Return whether a claim would get more devices than its status can hold (DRA-156, DRA-157)."""
    return devices > MAX_RESULTS


def out_of_reach(problem: Problem, tasks: Sequence[Task]) -> bool:
    """Return whether some request has fewer free devices than it needs: the most frequent case and the cheapest check.

    False if a selector or derived attribute fails, or an `All` request is constrained, because the result then depends
    on the order of the search.
    """
    free = ~problem.busy
    short = False
    for task in tasks:
        if task.failed or task.fails or (task.everything and task.constraints):
            return False
        mask = task.mask if task.request.admin_access else task.mask & free
        short = short or mask.bit_count() < task.count
    return short


def alike(problem: Problem, tasks: Sequence[Task]) -> bool:
    """Return whether all requests choose from the same devices with nothing else to mind: then there is nothing to
    search.
    """
    if not tasks or tasks[0].mask & problem.inventory.entangled:
        return False
    mask = tasks[0].mask
    return not any(
        task.mask != mask or task.constraints or task.failed or task.everything or task.request.admin_access
        for task in tasks
    )


def first_free(problem: Problem, tasks: Sequence[Task]) -> list[list[int]] | None:
    """Return the first free devices for requests that are alike, as a search would find them."""
    free = bits(tasks[0].mask & ~problem.busy)
    picked = [list(islice(free, task.count)) for task in tasks]
    return picked if all(len(picks) == task.count for picks, task in zip(picked, tasks, strict=True)) else None


def can_take_all(task: Task) -> bool:
    """Return whether an All request gets at least one device and all that match; True for others (DRA-154, DRA-155)."""
    return not task.everything or (task.count > 0 and task.mask.bit_count() == task.count)


def refuse_unusable_pools(inventory: NodeInventory, claim: Claim, sub: SubRequest) -> None:
    """Refuse an All request if a pool is unusable: it may have more devices. Raises AllocationError (DRA-147)."""
    if (pool := inventory.unusable("incomplete")) is not None:
        raise AllocationError(
            f"claim {claim.key}, request {sub.name}: asks for all devices, but resource pool "
            f"{pool.id.driver}/{pool.id.pool} is currently being updated ({pool.reason})"
        )
    if (pool := inventory.unusable("invalid")) is not None:
        raise AllocationError(
            f"claim {claim.key}, request {sub.name}: asks for all devices, but resource pool "
            f"{pool.id.driver}/{pool.id.pool} is invalid ({pool.reason})"
        )
