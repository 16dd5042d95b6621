"""The plain walk: claims, requests, alternatives and devices in their order, every combination, the first that works.

A `Walk` serves one attempt on one node. Deviations: exhaustive-search (nothing is counted ahead),
alternatives-before-devices, all-with-constraint, admin-pick-blocks-others, admin-access-consumes-counters and
admin-access-consumes-capacity (admin access of a pick is ignored), shares-do-not-block (only exclusive use of a device
counts); in 1.35 and 1.36 shares-without-capacity; in 1.36.2 and before the half of rejected-keeps-counters that is not
the ledger's; until 1.35 every-order-tried and second-alternative-read-as-first; in 1.34 invalid-pool-ends-attempt,
every-taint-keeps-off, every-share-takes-counters and capacity-of-another-device.

Source: allocateOne and allocateDevice of k8s.io/dynamic-resource-allocation v0.34.13, v0.35.10, v0.36.6 and v0.37.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from reference_impl.scheduler.allocator import taints
from reference_impl.scheduler.allocator.model import (
    MAX_RESULTS,
    AllocationError,
    Claim,
    Device,
    DeviceClass,
    DeviceId,
    Features,
    SubRequest,
)
from reference_impl.scheduler.allocator.search import SearchLimit
from reference_impl.scheduler.allocator.taken import Taken
from reference_impl.scheduler.bug_compatible import shares
from reference_impl.scheduler.bug_compatible.deviations import Release
from reference_impl.scheduler.bug_compatible.gather import SeenPool
from reference_impl.scheduler.bug_compatible.ledger import Ledger
from reference_impl.scheduler.bug_compatible.selecting import Selecting
from reference_impl.scheduler.bug_compatible.trackers import Tracker
from reference_impl.scheduler.bug_compatible.variants import variant_for


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A device that may be met, with its pool."""

    device: Device
    pool: SeenPool


@dataclass(frozen=True, slots=True)
class Plan:
    """One (sub)request: the number of devices, and for `All` which ones."""

    request: SubRequest
    device_class: DeviceClass
    count: int
    everything: tuple[Candidate, ...] | None = None


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """One claim: of each request its alternatives, whether it has a choice of them, and the claim's constraints."""

    claim: Claim
    requests: tuple[tuple[Plan, ...], ...]
    prioritized: tuple[bool, ...]
    trackers: tuple[Tracker, ...]


@dataclass(frozen=True, slots=True)
class Pick:
    """One device picked; `consumed` is what a share takes of each capacity, in billionths, None for a whole device."""

    request: SubRequest
    candidate: Candidate
    charged: bool
    consumed: dict[str, int] | None


@dataclass(slots=True)
class Use:
    """Devices used by the picks of the attempt: whole devices by claim, shares, and their capacity."""

    claims: dict[DeviceId, set[int]] = field(default_factory=dict)
    shares: dict[DeviceId, int] = field(default_factory=dict)
    amounts: dict[tuple[DeviceId, str], int] = field(default_factory=dict)


class Panic(AllocationError):
    """kube-scheduler of the release panics here."""


class TooManyDevices(Exception):
    """The claim would get more than its status holds: no other device helps, but a smaller alternative may."""


class Walk:
    """One attempt on one node. `steps` bounds how many devices are looked at, in place of kube-scheduler's time-out."""

    def __init__(
        self,
        plans: Sequence[ClaimPlan],
        candidates: Sequence[Candidate],
        taken: Taken,
        features: Features,
        *,
        selecting: Selecting,
        ledger: Ledger,
        steps: int,
        release: Release,
    ) -> None:
        self._plans = plans
        self._candidates = candidates
        self._taken = taken
        self._features = features
        self._selecting = selecting
        self._ledger = ledger
        self._release = release
        self._keeps_refused = release.has("rejected-keeps-counters")
        self._arithmetic = shares.Arithmetic.of(release, features)
        variant = variant_for(features, release)
        self._every_order = variant == "stable" or release.has("every-order-tried")
        self._size_is_special = variant != "stable" or release.minor >= 36
        self._use = Use()
        self.steps = steps
        self.picks: list[list[Pick]] = [[] for _ in plans]
        self.chosen: dict[tuple[int, int], int] = {}

    def run(self) -> bool:
        """Return whether devices were found for all claims: `picks` has them, `chosen` the alternatives taken.

        Raises AllocationError, SearchLimit among it.
        """
        try:
            return self._claim(0)
        except TooManyDevices:
            return False
        # The walk recurses for each device, so Python's limit may come before that of the steps.
        except RecursionError:
            raise SearchLimit("timed out trying to allocate devices: the claims want too many at once") from None

    # -- claims, requests, alternatives ----------------------------------------------------------------------------

    def _claim(self, number: int) -> bool:
        return number == len(self._plans) or self._request(number, 0)

    def _request(self, number: int, at: int) -> bool:
        plan = self._plans[number]
        if at == len(plan.requests):
            try:
                # A later claim that is too large does not make this one too large.
                return self._claim(number + 1)
            except TooManyDevices:
                return False
        if not plan.prioritized[at]:
            return self._device(number, at, plan.requests[at][0], 0, 0)
        all_too_large = True
        for alternative, wanted in enumerate(plan.requests[at]):
            try:
                found = self._device(number, at, wanted, 0, 0)
            except TooManyDevices:
                continue
            if found:
                self.chosen[number, at] = alternative
                return True
            all_too_large = False
        # Only then is the request itself too large for the claim.
        if all_too_large:
            raise TooManyDevices
        return False

    # -- devices ---------------------------------------------------------------------------------------------------

    def _device(self, number: int, at: int, plan: Plan, nth: int, start: int) -> bool:
        """Place device `nth` of a request, and all that follows; `start` is the position at which this request
        continues.
        """
        if plan.everything is not None and not plan.everything:
            return False
        if nth == plan.count:
            return self._request(number, at + 1)
        if plan.count - nth > MAX_RESULTS - len(self.picks[number]):
            if self._size_is_special:
                raise TooManyDevices
            return False
        if plan.everything is not None:
            if not self._take(number, plan, plan.everything[nth], nth, must=True):
                return False
            following = plan
            if self._release.has("second-alternative-read-as-first"):
                following = self._plans[number].requests[at][0]
            return self._go_on(number, at, following, nth, 0)
        for place in range(start, len(self._candidates)):
            self.steps -= 1
            if self.steps < 0:
                raise SearchLimit("timed out trying to allocate devices")
            candidate = self._candidates[place]
            if candidate.pool.state == "invalid":  # invalid-pool-ends-attempt: elsewhere such pools are no candidates
                raise AllocationError(f"pool {candidate.pool.id.pool} is invalid")
            if (
                self._open(number, plan.request, candidate.device)
                and self._selecting.suits(candidate.device, plan.request, plan.device_class, self._plans[number].claim)
                and self._selecting.large_enough(candidate.device, plan.request)
                and self._room(candidate.device, plan.request)
                and self._take(number, plan, candidate, nth, must=False)
                and self._go_on(number, at, plan, nth, self._after(place))
            ):
                return True
        return False

    def _after(self, place: int) -> int:
        """Return the start position for the next device: 0 in the stable variant, or by every-order-tried."""
        return 0 if self._every_order else place + 1

    def _go_on(self, number: int, at: int, plan: Plan, nth: int, start: int) -> bool:
        """Continue after a pick; undo the pick if no solution follows."""
        try:
            found = self._device(number, at, plan, nth + 1, start)
        except TooManyDevices:
            self._give_up(number)
            raise
        if not found:
            self._give_up(number)
        return found

    def _open(self, number: int, request: SubRequest, device: Device) -> bool:
        """Return whether the device is unused; a pick with admin access uses it too (admin-pick-blocks-others)."""
        pickers = self._use.claims.get(device.id)
        if request.admin_access:
            return not pickers or number not in pickers
        if pickers:
            return False
        if device.id.device in self._taken.exclusive.get(device.id.pool_id, ()):
            return False
        return self._features.consumable_capacity or device.id.device not in self._taken.shared.get(
            device.id.pool_id, ()
        )

    def _room(self, device: Device, request: SubRequest) -> bool:
        return not self._features.consumable_capacity or (
            self._selecting.large_enough(device, request)
            and has_room(device, request, self._taken, self._use, self._arithmetic)
        )

    # -- taking and giving up --------------------------------------------------------------------------------------

    def _take(self, number: int, plan: Plan, candidate: Candidate, nth: int, *, must: bool) -> bool:
        """Pick a device if counters, taints, constraints and capacity allow it; `must`: it is one of All.

        It would be device `nth` of its request.

        Raises AllocationError if a constraint forbids a device that must be taken (all-with-constraint).
        """
        device, request = candidate.device, plan.request
        shared = self._features.consumable_capacity and device.allow_multiple
        if not self._open(number, request, device):
            return False
        if device.counters and not self._features.partitionable_devices:
            return False
        once = not self._release.has("every-share-takes-counters")
        charged = bool(device.counters) and not (once and shared and self._is_shared_already(device.id))
        if charged and not self._ledger.charge(candidate.pool, device):
            return False
        if self._features.device_taints and self._is_tainted(device, request):
            self._refuse(candidate, charged=charged)
            return False
        trackers = self._plans[number].trackers
        for done, tracker in enumerate(trackers):
            if not tracker.add(request, device):
                for earlier in reversed(trackers[:done]):
                    earlier.remove(request)
                self._refuse(candidate, charged=charged)
                if must:
                    raise AllocationError(
                        f"claim {self._plans[number].claim.key}, request {request.name}: cannot add device "
                        f"{device.id} because a claim constraint would not be satisfied"
                    )
                return False
        if not self._room(self._measured(candidate, nth), request):
            self._refuse(candidate, charged=charged)
            if not self._keeps_refused:
                for tracker in trackers:
                    tracker.remove(request)
            elif not shared:
                self._use.claims.setdefault(device.id, set()).add(number)
            return False
        consumed = consumption(device, request, self._arithmetic) if shared else None
        self._use_device(device.id, number, consumed, 1)
        self.picks[number].append(Pick(request, candidate, charged, consumed))
        return True

    def _is_tainted(self, device: Device, request: SubRequest) -> bool:
        """Return whether a taint excludes the device; with every-taint-keeps-off, also one with an unknown effect."""
        if self._release.has("every-taint-keeps-off"):
            return any(not taints.tolerated(request.tolerations, taint) for taint in device.taints)
        return taints.untolerated(device, request) is not None

    def _measured(self, candidate: Candidate, nth: int) -> Device:
        """Return the device whose capacity is compared: the candidate, but for capacity-of-another-device."""
        if not (self._features.consumable_capacity and self._release.has("capacity-of-another-device")):
            return candidate.device
        others = candidate.pool.slice_of(candidate.device).devices
        if nth >= len(others):
            raise Panic(f"kube-scheduler {self._release.name} panics: index out of range [{nth}]")
        return others[nth]

    def _refuse(self, candidate: Candidate, *, charged: bool) -> None:
        if charged:
            self._ledger.refuse(candidate.pool, candidate.device)

    def _give_up(self, number: int) -> None:
        """Undo the claim's last pick."""
        pick = self.picks[number].pop()
        device = pick.candidate.device
        self._use_device(device.id, number, pick.consumed, -1)
        for tracker in reversed(self._plans[number].trackers):
            tracker.remove(pick.request)
        if pick.charged:
            # In releases with rejected-keeps-counters, a share that is given up stays charged too.
            undo = self._ledger.give_back if pick.consumed is None else self._ledger.refuse
            undo(pick.candidate.pool, device)

    def _use_device(self, device: DeviceId, number: int, consumed: dict[str, int] | None, sign: int) -> None:
        if consumed is None:
            pickers = self._use.claims.setdefault(device, set())
            (pickers.add if sign > 0 else pickers.discard)(number)
            return
        self._use.shares[device] = self._use.shares.get(device, 0) + sign
        for name, value in consumed.items():
            self._use.amounts[device, name] = self._use.amounts.get((device, name), 0) + sign * value

    def _is_shared_already(self, device: DeviceId) -> bool:
        """Return whether a share of the device was charged before: by an earlier allocation, or in this attempt."""
        earlier = self._taken.shared.get(device.pool_id, {}).get(device.device)
        # Only consumed capacity is looked up (shares-without-capacity).
        known = earlier is not None and (bool(earlier.amounts) or not self._release.has("shares-without-capacity"))
        return known or self._use.shares.get(device, 0) > 0


def has_room(device: Device, request: SubRequest, taken: Taken, use: Use, arithmetic: shares.Arithmetic) -> bool:
    """Return whether earlier shares, those of the attempt and the request together stay within each capacity.

    Admin access takes of it like any other (admin-pick-blocks-others).
    """
    earlier = taken.shared.get(device.id.pool_id, {}).get(device.id.device)
    committed = earlier.amounts if earlier else {}
    wanted = consumption(device, request, arithmetic)
    return all(
        committed.get(one.name, 0) + use.amounts.get((device.id, one.name), 0) + wanted[one.name]
        <= one.value.scaled_value(-9)
        for one in device.capacity.values()
    )


def consumption(device: Device, request: SubRequest, arithmetic: shares.Arithmetic) -> dict[str, int]:
    """Return the consumption of each capacity of a device by a request, in billionths."""
    return {name: value.scaled_value(-9) for name, value in shares.consumed_by(device, request, arithmetic).items()}
