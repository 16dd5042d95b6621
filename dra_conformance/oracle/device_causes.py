"""Why a node cannot use a device for a request: selector, taint, capacity, allocation, counter, pool.

Pure functions. Each reason is a predicate, so that callers can form a sentence for one device or for many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from dra_conformance.core.plain_text import one_line
from dra_conformance.oracle import device_requests
from dra_conformance.oracle.cluster import Cluster, DeviceUse
from dra_conformance.oracle.device_requests import RefusingSelector
from dra_conformance.oracle.nodes import OPTIONAL_CALLS, NodeAccess, NodeView, node_access
from dra_conformance.oracle.pools import DeviceId, Pool, PoolDevice, PoolId
from dra_conformance.oracle.schema import DeviceClass, ExactDeviceRequest, ResourceSlice
from dra_conformance.oracle.verdict import Settings

EXPRESSION = 120
"""The length of a quoted CEL expression or error, at most."""


class Stage(IntEnum):
    """What a device must pass, in the order in which obstacles are reported."""

    EVALUATED = 0
    SELECTED = 1
    TOLERATED = 2
    LARGE = 3
    FREE = 4
    ONE_TERM = 5
    COUNTED = 6
    CALLED = 7


WORDS = {
    Stage.SELECTED: "selected by its selectors",
    Stage.TOLERATED: "without a taint that it does not tolerate",
    Stage.LARGE: "large enough",
    Stage.FREE: "free",
    Stage.ONE_TERM: "available to nodes through a single nodeSelectorTerm",
    Stage.COUNTED: "covered by what is left of shared counters",
    Stage.CALLED: "without node operations that the node cannot skip",
}
"""Each continues the text `but only 1 of 8 is`."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a device or pool cannot be used: `kind` and `name` are the subject, and `reason` the predicate."""

    kind: str
    name: str
    reason: str

    @classmethod
    def of_device(cls, device: DeviceId, reason: str) -> Cause:
        """Return a cause whose subject is a device."""
        return cls("device", "/".join(device), reason)


@dataclass(frozen=True)
class Supply:
    """The devices of one node for the claims `own`, whose present allocations do not count."""

    cluster: Cluster
    node: NodeView
    own: frozenset[tuple[str, str]]
    settings: Settings

    # -- pools -----------------------------------------------------------------------------------------------------

    @cached_property
    def pools(self) -> list[Pool]:
        """The pools with devices for the node in their newest generation."""
        return [pool for pool in self.cluster.pools_for(self.node) if next(pool.devices(self.node), None) is not None]

    @cached_property
    def problems(self) -> dict[PoolId, str]:
        """The problem of each of `pools` that cannot be used."""
        found = {pool.id: self._problem(pool) for pool in self.pools}
        return {pool: problem for pool, problem in found.items() if problem}

    def _problem(self, pool: Pool) -> str:
        return pool.problem(self.node, partitionable=self.settings.on("DRAPartitionableDevices"))

    @cached_property
    def devices(self) -> list[PoolDevice]:
        """The devices of valid pools."""
        return [entry for pool in self.pools if pool.id not in self.problems for entry in pool.devices(self.node)]

    def unusable(self) -> Iterator[Cause]:
        """Yield a cause for each device of an incomplete or invalid pool, and for such pools without a device."""
        for pool in self.pools:
            if pool.complete and (problem := self.problems.get(pool.id)):
                for entry in pool.devices(self.node):
                    yield Cause.of_device(entry.id, f"cannot be used, because its pool is invalid: {problem}")
        for pool in self.cluster.incomplete_pools:
            # The devices of older slices count: newer ones may be the slices that are missing.
            names = dict.fromkeys(
                device.name
                for one in pool.slices
                for device in one.spec.devices
                if node_access(one, device).includes(self.node)
            )
            text = _incomplete(pool)
            for name in names:
                yield Cause.of_device((*pool.id, name), f"cannot be used, because its pool is incomplete: {text}")
            if not names and any(_of_slice(one).includes(self.node) for one in pool.slices):
                yield Cause("pool", pool.title, f"is incomplete: {text}")

    # -- devices ---------------------------------------------------------------------------------------------------

    def shared(self, entry: PoolDevice) -> bool:
        """Whether several claims may have shares of the device."""
        return entry.device.allow_multiple_allocations and self.settings.on("DRAConsumableCapacity")

    def reasons(
        self, entry: PoolDevice, request: ExactDeviceRequest, device_class: DeviceClass
    ) -> list[tuple[Stage, str]]:
        """Return why a device cannot be allocated to a request, without regard to other requests.

        These are all reasons against a device that the selectors select, and the first refusing selector of any other.
        """
        refusing = device_requests.refusing_selector(entry, request, device_class)
        if refusing is not None:
            return [(Stage.EVALUATED if refusing.error else Stage.SELECTED, _quoted(refusing))]
        found = [(Stage.TOLERATED, text) for text in self._tainted(entry, request)]
        small = device_requests.too_small(entry, request, shared=self.shared(entry))[1]
        rest = (
            (Stage.LARGE, small),
            (Stage.FREE, "" if small else self._taken(entry, request)),
            (Stage.ONE_TERM, self._terms(entry)),
            (Stage.COUNTED, self._uncounted(entry, request)),
            (Stage.CALLED, self._called(entry)),
        )
        return [*found, *((stage, text) for stage, text in rest if text)]

    def _tainted(self, entry: PoolDevice, request: ExactDeviceRequest) -> Iterator[str]:
        if self.settings.on("DRADeviceTaints"):
            for taint in device_requests.untolerated(entry, request):
                yield f"is tainted {taint.key}={taint.value}:{taint.effect}, which the request does not tolerate"

    def others(self, entry: PoolDevice) -> list[DeviceUse]:
        """Return the uses of a device by other claims."""
        return [use for use in self.cluster.uses.get(entry.id, ()) if use.claim.key not in self.own]

    def _taken(self, entry: PoolDevice, request: ExactDeviceRequest) -> str:
        uses = self.others(entry)
        if request.admin_access or not uses:
            return ""
        if not self.shared(entry) or any(not use.result.share_id for use in uses):
            return f"is allocated to claim {uses[0].claim.title}"
        return _too_little_left(entry, request, uses)

    @staticmethod
    def _terms(entry: PoolDevice) -> str:
        # Several terms cannot be merged into the one term of an allocation (DRA-198).
        access = entry.node_access
        several = access.node_selector is not None and len(access.node_selector.node_selector_terms) > 1
        text = "has a nodeSelector of several terms, which an allocation cannot contain"
        return text if several and not access.node_name else ""

    def _called(self, entry: PoolDevice) -> str:
        """Return why the node cannot skip the calls that the device skips, or an empty text (DRA-519)."""
        if not entry.resource_slice.spec.skip_node_operations or self.node.calls_optional is not False:
            return ""
        return f"skips node operations, which needs the feature {OPTIONAL_CALLS} of the node"

    # -- counters --------------------------------------------------------------------------------------------------

    def holders(self, pool: PoolId) -> list[tuple[PoolDevice, DeviceUse]]:
        """Return the devices of a pool that other claims have, each once, with one of these claims."""
        found: dict[DeviceId, tuple[PoolDevice, DeviceUse]] = {}
        for use in self.cluster.uses_by_pool.get(pool, ()):
            if use.claim.key not in self.own and (entry := self.cluster.pool_device(use.claim, use.result)) is not None:
                found.setdefault(entry.id, (entry, use))
        return [*found.values()]

    def counter_left(self, pool: Pool, counter: tuple[str, str]) -> int:
        """Return what is left of a counter, in billionths."""
        return self._left(pool).get(counter, 0)

    @cached_property
    def _known_left(self) -> dict[PoolId, dict[tuple[str, str], int]]:
        return {}

    def _left(self, pool: Pool) -> dict[tuple[str, str], int]:
        if pool.id not in self._known_left:
            left = dict(pool.counters)
            for entry, _ in self.holders(pool.id):
                for counter, value in entry.consumes.items():
                    left[counter] = left.get(counter, 0) - value
            self._known_left[pool.id] = left
        return self._known_left[pool.id]

    def _uncounted(self, entry: PoolDevice, request: ExactDeviceRequest) -> str:
        """Return the first counter that has too little left for the device, or an empty text."""
        # A device that has users is charged already, and admin access never is (DRA-211, DRA-237).
        if not entry.consumes or request.admin_access or self.others(entry):
            return ""
        if not self.settings.on("DRAPartitionableDevices"):
            return ""
        pool = self.cluster.pools[entry.id[:2]]
        left = self._left(pool)
        for counter, value in entry.consumes.items():
            if value > left.get(counter, 0):
                there = device_requests.show(pool.counters.get(counter, 0))
                return (
                    f"consumes {device_requests.show(value)} of counter {'/'.join(counter)}, which has "
                    f"{device_requests.show(left.get(counter, 0))} of {there} left"
                )
        return ""


def _quoted(found: RefusingSelector) -> str:
    owner = f"DeviceClass {found.class_name}" if found.class_name else "the request"
    if not found.expression:
        return f"cannot be selected: selector #{found.number} of {owner} {found.error}"
    expression = one_line(found.expression, limit=EXPRESSION)
    if found.error:
        error = one_line(found.error, limit=EXPRESSION)
        return f"makes a CEL selector of {owner} fail with the error {error}: {expression}"
    return f"is not selected by the CEL selector of {owner}: {expression}"


def _incomplete(pool: Pool) -> str:
    older = [one for one in pool.slices if one.spec.pool.generation < pool.generation]
    text = f"{len(pool.current)} of {max(pool.counts)} slices of generation {pool.generation} are published"
    names = ", ".join(f"{one.metadata.name} (generation {one.spec.pool.generation})" for one in older[:3])
    more = f" and {len(older) - 3} more" if len(older) > 3 else ""
    return f"{text}; of older generations there is {names}{more}" if older else text


def _of_slice(resource_slice: ResourceSlice) -> NodeAccess:
    spec = resource_slice.spec
    return NodeAccess(spec.node_name, spec.node_selector, spec.all_nodes)


def _too_little_left(entry: PoolDevice, request: ExactDeviceRequest, uses: Sequence[DeviceUse]) -> str:
    """Return which capacity of a shared device has too little left, or an empty text."""
    requested = device_requests.requested_capacity(entry, request)
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
        needed = device_requests.consumption(capacity, requested.get(name))
        if needed > left:
            share = f"has {device_requests.show(left)} of {capacity.value} of capacity {short} left"
            return f"{share}, and the request consumes {device_requests.show(needed)}"
    return ""
