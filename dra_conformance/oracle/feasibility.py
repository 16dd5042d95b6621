"""Decides whether a valid allocation exists, by an exhaustive search within a budget.

A pure function of the case, independent of the allocators under test. The depth-first search has one shortcut: of
devices that no rule distinguishes, it tries one at each position.

Source: KEP-4381, KEP-4815, KEP-4816, KEP-5075; rules DRA-134, DRA-146 to DRA-157, DRA-161, DRA-172 to DRA-174,
DRA-181 to DRA-188.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from dra_conformance.oracle import attributes, device_requests
from dra_conformance.oracle.cluster import Cluster, DeviceUse
from dra_conformance.oracle.context import MAX_RESULTS
from dra_conformance.oracle.nodes import OPTIONAL_CALLS, NodeView
from dra_conformance.oracle.pools import DeviceId, PoolDevice, PoolId
from dra_conformance.oracle.schema import Claim, Constraint, ExactDeviceRequest
from dra_conformance.oracle.verdict import Case, Settings

BUDGET = 200_000
SMALL_BUDGET = 20_000
"""For callers that repeat the search, for each node, constraint or counter."""


@dataclass(frozen=True, slots=True)
class Pick:
    """One device of a witness, with the claim and the (sub)request that it serves."""

    claim: str
    request: str
    device: DeviceId


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a valid allocation exists.

    `yes` comes with a `witness` on `node`. `unknown` comes with a `reason`: the budget of `states` ran out, a node's
    labels are not known, or the rules allow a scheduler to end such an attempt with an error although devices are
    available; in the last case there may be a witness.
    """

    verdict: Literal["yes", "no", "unknown"]
    reason: str = ""
    node: str = ""
    witness: tuple[Pick, ...] = ()
    states: int = 0

    def __bool__(self) -> bool:
        raise TypeError("an Answer is yes, no or unknown: compare its verdict")


def could_be_allocated(case: Case, *, node: str = "", budget: int = BUDGET) -> Answer:
    """Return whether the claim could be allocated, on `node` or on any node.

    `budget` is the number of picks that the search may try on all nodes together.
    """
    return could_all_be_allocated(case.cluster, [case.claim], settings=case.settings, node=node, budget=budget)


def could_all_be_allocated(
    cluster: Cluster, claims: Sequence[Claim], *, settings: Settings | None = None, node: str = "", budget: int = BUDGET
) -> Answer:
    """Return whether all claims could be allocated together on one node, as the claims of a pod must be (DRA-134)."""
    chosen = settings or Settings()
    for claim in claims:
        for name, request in claim.requests_by_name.items():
            if request.device_class_name not in cluster.classes_by_name:
                return Answer(
                    "no", f"request {name} refers to the DeviceClass {request.device_class_name}, which does not exist"
                )
    doubt, states = "", 0
    doubtful: Answer | None = None
    for candidate in [cluster.node_view(node)] if node else candidate_nodes(cluster):
        attempt = _Attempt(cluster, candidate, claims, chosen, budget - states)
        found = attempt.run()
        states += attempt.states
        if found:
            reason = attempt.doubts[0] if attempt.doubts else ""
            answer = Answer("unknown" if reason else "yes", reason, candidate.name, tuple(attempt.picked), states)
            if not reason:
                return answer
            # Another node may have an allocation without a doubt.
            doubtful = answer if doubtful is None else doubtful
            continue
        if _mixes_admin_access(claims):
            again = _Attempt(cluster, candidate, claims, chosen, budget - states, lenient=True)
            if again.run():
                doubt = doubt or _SAME_ATTEMPT
            states += again.states
        if attempt.unsure or states >= budget:
            doubt = doubt or attempt.unsure or f"no allocation was found within {budget} states"
    if doubtful is not None:
        return replace(doubtful, states=states)
    if doubt:
        return Answer("unknown", doubt, states=states)
    return Answer("no", "every choice of devices breaks a rule", states=states)


_SAME_ATTEMPT = "a device would have to serve two claims of one pod, one of them with admin access, in one attempt"


def _mixes_admin_access(claims: Sequence[Claim]) -> bool:
    """Whether some requests of the claims have admin access and others do not.

    DRA-234 allows a device to serve both, but no document defines this for one attempt. Upstream (1.36, allocateDevice)
    counts a device that the attempt has picked with admin access as in use, against its own comment there, so the order
    of claims decides. Therefore DRA-234b is a SHOULD, and the answer here is neither yes nor no.
    """
    access = {request.admin_access for claim in claims for request in claim.requests_by_name.values()}
    return len(claims) > 1 and len(access) > 1


def candidate_nodes(cluster: Cluster) -> list[NodeView]:
    """Return the nodes to try: the cluster's, or, if it has none, the nodes that slices name and an unnamed one."""
    if cluster.node_views:
        return list(cluster.node_views.values())
    named = {
        entry.node_access.node_name
        for pool in cluster.pools.values()
        for entries in pool.by_name.values()
        for entry in entries
    }
    return [NodeView(name) for name in sorted(named | {""})]


@dataclass(frozen=True, eq=False)
class _Task:
    """One alternative of one request, with the devices that satisfy it."""

    claim: int
    name: str
    request: ExactDeviceRequest
    count: int
    candidates: tuple[int, ...]
    constraints: tuple[int, ...]


@dataclass
class _Attempt:
    """The search on one node. Use once: `run` leaves its state behind."""

    cluster: Cluster
    node: NodeView
    claims: Sequence[Claim]
    settings: Settings
    budget: int
    lenient: bool = False  # a device picked with admin access in this attempt may be picked without it too
    states: int = 0
    unsure: str = ""
    doubts: list[str] = field(default_factory=list)
    picked: list[Pick] = field(default_factory=list)

    def run(self) -> bool:
        """Search, and return whether devices for all requests were found; then `picked` has them."""
        self.own_keys = {claim.key for claim in self.claims}
        self.devices = list(self._usable())
        self.constraints: list[Constraint] = [
            constraint for claim in self.claims for constraint in claim.spec.devices.constraints
        ]
        self.values: list[list[attributes.Values]] = [[] for _ in self.constraints]
        self._values_of: dict[tuple[int, str, int], attributes.Compared] = {}
        self.left = self._counters_left()
        # The devices on each counter set: their compatibility groups.
        self.groups: dict[tuple[PoolId, str], list[frozenset[str]]] = self._groups_in_use()
        self.room = {at: self._room(entry) for at, entry in enumerate(self.devices) if self._shared(entry)}
        self.charged = {at for at, entry in enumerate(self.devices) if self._shared(entry) and self._others(entry.id)}
        self.taken: dict[int, list[tuple[int, int, bool]]] = {}  # device -> (claim, request, admin access)
        # Devices picked for each claim, at most MAX_RESULTS (DRA-157).
        self.sizes = [0] * len(self.claims)
        self.options = [
            [
                task
                for name, request in device_request.alternatives
                if (task := self._task(number, name, request)) is not None
            ]
            for number, claim in enumerate(self.claims)
            for device_request in claim.spec.devices.requests
        ]
        # Last, because a signature depends on the candidates of all options.
        self.twins = self._signatures()
        return self._request(0)

    # -- supply ---------------------------------------------------------------------------------------------

    def _shared(self, entry: PoolDevice) -> bool:
        return entry.device.allow_multiple_allocations and self.settings.on("DRAConsumableCapacity")

    @property
    def _partitionable(self) -> bool:
        return self.settings.on("DRAPartitionableDevices")

    @property
    def _calls_optional(self) -> bool:
        """Whether devices that skip node operations can be allocated (DRA-519, DRA-521)."""
        if self.node.calls_optional is None:
            self.unsure = f"the declared features of node {self.node.name or '(any)'} are not known"
        return self.settings.on(OPTIONAL_CALLS) and self.node.calls_optional is True

    def _others(self, device: DeviceId) -> list[DeviceUse]:
        """Return the results of other claims that have the device."""
        return [use for use in self.cluster.uses.get(device, ()) if use.claim.key not in self.own_keys]

    def _usable(self) -> Iterator[PoolDevice]:
        """Yield the devices of valid pools that the node can use."""
        self.invalid_pools: list[str] = []
        for pool in self.cluster.pools_for(self.node):
            if any(
                entry.node_access.includes(self.node) is None for entries in pool.by_name.values() for entry in entries
            ):
                self.unsure = f"the labels of node {self.node.name or '(any)'} are not known"
            here = list(pool.devices(self.node))
            grouped = self.settings.on("DRADeviceCompatibilityGroups")
            if here and (problem := pool.problem(self.node, partitionable=self._partitionable, grouped=grouped)):
                self.invalid_pools.append(f"pool {pool.title} cannot be used: {problem}")
                continue
            for entry in here:
                if entry.resource_slice.spec.per_device_node_selection and not self._partitionable:
                    continue
                if entry.device.binding_conditions and not self.settings.on("DRADeviceBindingConditions"):
                    continue
                # Such a pick would free a counter, so that the order of picks would decide.
                if min(entry.consumes.values(), default=0) < 0:
                    self.unsure = f"device {'/'.join(entry.id)} consumes a negative amount"
                yield entry

    def _counters_left(self) -> dict[tuple[PoolId, tuple[str, str]], int]:
        left: dict[tuple[PoolId, tuple[str, str]], int] = {}
        if not self._partitionable:
            return left
        for pool_id in {entry.id[:2] for entry in self.devices if entry.consumes}:
            for counter, value in self.cluster.pools[pool_id].counters.items():
                left[pool_id, counter] = value
            seen: set[DeviceId] = set()
            for use in self.cluster.uses_by_pool.get(pool_id, ()):
                # A shared device is charged once for all its users (DRA-211).
                if use.claim.key in self.own_keys or use.result.id in seen:
                    continue
                seen.add(use.result.id)
                entry = self.cluster.pool_device(use.claim, use.result)
                for counter, value in entry.consumes.items() if entry else ():
                    if (pool_id, counter) in left:
                        left[pool_id, counter] -= value
        return left

    def _groups_in_use(self) -> dict[tuple[PoolId, str], list[frozenset[str]]]:
        found: dict[tuple[PoolId, str], list[frozenset[str]]] = {}
        if not self.settings.on("DRADeviceCompatibilityGroups"):
            return found
        for pool_id in {entry.id[:2] for entry in self.devices if entry.groups}:
            there = {
                use.result.id: self.cluster.pool_device(use.claim, use.result)
                for use in self.cluster.uses_by_pool.get(pool_id, ())
                if use.claim.key not in self.own_keys
            }
            for entry in there.values():
                for counter_set, groups in entry.groups.items() if entry else ():
                    found.setdefault((pool_id, counter_set), []).append(groups)
        return found

    def _room(self, entry: PoolDevice) -> dict[str, int]:
        """Return what is left of a shared device's capacity, by qualified name."""
        room = {
            device_requests.qualified(name, entry.driver): device_requests.amount(capacity.value)
            for name, capacity in entry.device.capacity.items()
        }
        for use in self._others(entry.id):
            for name, value in use.result.consumed_capacity.items():
                key = device_requests.qualified(name, entry.driver)
                if key in room:
                    room[key] -= device_requests.amount(value)
        return room

    # -- demand --------------------------------------------------------------------------------------------

    def _task(self, claim: int, name: str, request: ExactDeviceRequest) -> _Task | None:
        """Return one alternative, or None if the node cannot serve it, without regard to other picks."""
        device_class = self.cluster.classes_by_name[request.device_class_name]
        first = sum(len(before.spec.devices.constraints) for before in self.claims[:claim])
        own = self.claims[claim].spec.devices.constraints
        covering = tuple(first + number for number, constraint in enumerate(own) if constraint.covers(name))
        matching, blocked = [], set()
        for at, entry in enumerate(self.devices):
            reason, failed = device_requests.unselected(entry, request, device_class)
            if failed:
                self.doubts.append(f"device {'/'.join(entry.id)}: {reason}, which ends the attempt (DRA-161)")
            if reason or device_requests.too_small(entry, request, shared=self._shared(entry))[0]:
                continue
            matching.append(at)
            if not self._free(entry, request) or not self._attributes_there(name, request, at, covering):
                blocked.add(at)
        if not request.all_devices:
            return _Task(
                claim, name, request, request.count, tuple(at for at in matching if at not in blocked), covering
            )
        if self.invalid_pools:
            self.doubts.append(f"request {name} is for all devices, and {self.invalid_pools[0]} (DRA-147)")
            return None
        if covering:
            self.doubts.append(f"request {name} is for all devices under a constraint (DRA-173)")
        if not matching or blocked:
            return None
        return _Task(claim, name, request, len(matching), tuple(matching), covering)

    def _free(self, entry: PoolDevice, request: ExactDeviceRequest) -> bool:
        """Whether the device can be allocated to the request, without regard to other picks.

        With DRAPartitionableDevices off, a device that consumes counters cannot be allocated, and a device that skips
        node operations cannot on a node that lacks this feature. They still match requests for all devices, which
        therefore fail.
        """
        if entry.device.consumes_counters and not self._partitionable:
            return False
        if entry.resource_slice.spec.skip_node_operations and not self._calls_optional:
            return False
        if self.settings.on("DRADeviceTaints") and device_requests.untolerated(entry, request):
            return False
        selector = entry.node_access.node_selector
        # Several terms cannot be merged into the one term of an allocation (DRA-198).
        if selector is not None and not entry.node_access.node_name and len(selector.node_selector_terms) > 1:
            return False
        uses = self._others(entry.id)
        if request.admin_access or not uses:
            return True
        return self._shared(entry) and all(use.result.share_id for use in uses)

    def _attributes_there(self, name: str, request: ExactDeviceRequest, at: int, constraints: Sequence[int]) -> bool:
        there = True
        for number in filter(self._applies, constraints):
            found = self._value(number, request, at)
            if isinstance(found, str):
                device = "/".join(self.devices[at].id)
                text = f"device {device}: a derived attribute of request {name} fails, which ends the attempt (DRA-511)"
                self.doubts.append(f"{text}: {found}")
            there = there and isinstance(found, frozenset)
        return there

    def _applies(self, number: int) -> bool:
        attribute, match = attributes.attribute_of(self.constraints[number])
        return bool(attribute) and (match or self.settings.on("DRAConsumableCapacity"))

    def _value(self, number: int, request: ExactDeviceRequest, at: int) -> attributes.Compared:
        attribute, _ = attributes.attribute_of(self.constraints[number])
        key = (number, request.expressions.get(attribute, ""), at)
        if key not in self._values_of:
            lists = self.settings.on("DRAListTypeAttributes")
            self._values_of[key] = attributes.compared(self.devices[at], request, attribute, lists=lists)
        return self._values_of[key]

    def _signatures(self) -> list[object]:
        """Return one signature per device; devices with equal signatures are interchangeable in every solution."""
        all_tasks = [task for options in self.options for task in options]
        tasks = [set(task.candidates) for task in all_tasks]
        found: list[object] = []
        for at, entry in enumerate(self.devices):
            # The room of a shared device changes with every pick, so no other device is like it.
            if at in self.room:
                found.append(at)
                continue
            values = tuple(self._value(number, task.request, at) for task in all_tasks for number in task.constraints)
            counters = frozenset((entry.id[:2], counter, value) for counter, value in entry.consumes.items())
            groups = frozenset(entry.groups.items())
            found.append((tuple(at in task for task in tasks), values, counters, groups))
        return found

    # -- the search ------------------------------------------------------------------------------------------------

    def _request(self, position: int) -> bool:
        if position == len(self.options):
            return True
        for task in self.options[position]:
            if self.sizes[task.claim] + task.count > MAX_RESULTS:
                continue
            self.sizes[task.claim] += task.count
            found = self._pick(position, task, task.count, 0)
            self.sizes[task.claim] -= task.count
            if found:
                return True
        return False

    def _pick(self, position: int, task: _Task, left: int, start: int) -> bool:
        if left == 0:
            return self._request(position + 1)
        tried: set[object] = set()
        # Combinations: the order of the picks of one request does not matter.
        for index in range(start, len(task.candidates) - left + 1):
            at = task.candidates[index]
            if self.twins[at] in tried:
                continue
            if self.states >= self.budget:
                return False
            self.states += 1
            fresh = at not in self.taken  # a device that this attempt already uses differs from its twins
            if not self._take(position, task, at):
                # All candidates are required, so another pick cannot help.
                if task.request.all_devices:
                    return False
                if fresh:
                    tried.add(self.twins[at])
                continue
            self.picked.append(Pick(self.claims[task.claim].title, task.name, self.devices[at].id))
            if self._pick(position, task, left - 1, index + 1):
                return True
            self.picked.pop()
            self._give_back(task, at)
            if task.request.all_devices:
                return False
            if fresh:
                tried.add(self.twins[at])
        return False

    def _take(self, position: int, task: _Task, at: int) -> bool:
        """Pick a device if every rule allows it now, and return whether it was picked."""
        admin = task.request.admin_access
        before = self.taken.get(at, [])
        if at in self.room:
            # A shared device may serve several requests, but each of them once (DRA-153).
            if any(position_before == position for _, position_before, _ in before):
                return False
        elif any(claim == task.claim or self._excludes(was_admin, admin) for claim, _, was_admin in before):
            return False
        if not all(self._may_join(number, task.request, at) for number in task.constraints):
            return False
        needs = self._needs(task, at)
        if at in self.room and any(self.room[at][name] < value for name, value in needs.items()):
            return False
        charges = self._charges(at, admin=admin)
        if any(self.left[key] < value for key, value in charges.items()):
            return False
        grouped = self._grouped(at, charged=bool(charges))
        if any(not groups.intersection(*self.groups.get(where, ())) for where, groups in grouped.items()):
            return False
        for where, groups in grouped.items():
            self.groups.setdefault(where, []).append(groups)
        for key, value in charges.items():
            self.left[key] -= value
        for name, value in needs.items():
            self.room[at][name] -= value
        for number in task.constraints:
            if isinstance(found := self._value(number, task.request, at), frozenset):
                self.values[number].append(found)
        self.taken.setdefault(at, []).append((task.claim, position, admin))
        return True

    def _excludes(self, was_admin: bool, admin: bool) -> bool:
        """Whether a pick excludes a later pick of the device for another claim."""
        return not admin and (not was_admin or not self.lenient)

    def _give_back(self, task: _Task, at: int) -> None:
        admin = task.request.admin_access
        # First, because `_charges` depends on it and must return what `_take` charged.
        self.taken[at].pop()
        if not self.taken[at]:
            del self.taken[at]
        for number in task.constraints:
            if isinstance(self._value(number, task.request, at), frozenset):
                self.values[number].pop()
        for name, value in self._needs(task, at).items():
            self.room[at][name] += value
        charges = self._charges(at, admin=admin)
        for key, value in charges.items():
            self.left[key] += value
        for counter_set in self._grouped(at, charged=bool(charges)):
            self.groups[counter_set].pop()

    def _grouped(self, at: int, *, charged: bool) -> dict[tuple[PoolId, str], frozenset[str]]:
        """Return the compatibility groups that a pick brings to counter sets; none if it is not charged."""
        if not charged or not self.settings.on("DRADeviceCompatibilityGroups"):
            return {}
        entry = self.devices[at]
        return {(entry.id[:2], counter_set): groups for counter_set, groups in entry.groups.items()}

    def _may_join(self, number: int, request: ExactDeviceRequest, at: int) -> bool:
        if not self._applies(number):
            return True
        found = self._value(number, request, at)
        match = attributes.attribute_of(self.constraints[number])[1]
        return isinstance(found, frozenset) and attributes.satisfied([*self.values[number], found], match=match)

    def _needs(self, task: _Task, at: int) -> dict[str, int]:
        """Return what a pick consumes of a shared device's capacity, by qualified name."""
        if at not in self.room or task.request.admin_access:
            return {}
        entry = self.devices[at]
        wanted = device_requests.requested_capacity(entry, task.request)
        return {
            (key := device_requests.qualified(name, entry.driver)): device_requests.consumption(
                capacity, wanted.get(key)
            )
            for name, capacity in entry.device.capacity.items()
        }

    def _charges(self, at: int, *, admin: bool) -> dict[tuple[PoolId, tuple[str, str]], int]:
        """Return what a pick consumes of counters.

        A shared device is charged once, admin access never (DRA-211, DRA-237).
        """
        entry = self.devices[at]
        if admin or at in self.charged or any(not was_admin for _, _, was_admin in self.taken.get(at, ())):
            return {}
        return {(entry.id[:2], counter): value for counter, value in entry.consumes.items()}
