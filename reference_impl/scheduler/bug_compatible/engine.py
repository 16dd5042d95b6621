"""The entry point: an allocator with the deviations of a release, with the interface of the reference's own.

`NodePools` replaces `allocator.NodeInventory`, `CompatibleAllocator` replaces `allocator.Allocator`, so the scheduler's
cycle and the differential test use either of them. Deviations: until 1.36 all-passes-over-full-devices; until 1.35:
selectors-of-earlier-alternative; in 1.34: tolerations-not-recorded.

Source: Allocate of k8s.io/dynamic-resource-allocation v0.34.13, v0.35.10, v0.36.6 and v0.37.2.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reference_impl.node_selector import NodeFacts
from reference_impl.scheduler.allocator import capacity, results
from reference_impl.scheduler.allocator.allocate import INVALID_POOLS, check_claim, exceeds_limit, new_share_id
from reference_impl.scheduler.allocator.model import (
    MAX_RESULTS,
    Allocation,
    AllocationError,
    Claim,
    Classes,
    Device,
    Features,
    Outcome,
    Request,
    Slice,
    SubRequest,
)
from reference_impl.scheduler.allocator.search import MAX_STEPS
from reference_impl.scheduler.allocator.taken import Taken
from reference_impl.scheduler.bug_compatible import configs, shares, variants
from reference_impl.scheduler.bug_compatible.deviations import Release
from reference_impl.scheduler.bug_compatible.gather import SeenPool, gather
from reference_impl.scheduler.bug_compatible.ledger import Available, Ledger
from reference_impl.scheduler.bug_compatible.selecting import Selecting
from reference_impl.scheduler.bug_compatible.trackers import tracker_for
from reference_impl.scheduler.bug_compatible.walk import Candidate, ClaimPlan, Plan, Use, Walk, has_room

# A look at one device is cheaper than a step of the reference's search, and kube-scheduler's 10 s allow for more.
_LOOKS_PER_STEP = 50


@dataclass(frozen=True, slots=True, eq=False)
class NodePools:
    """The pools that concern one node."""

    node: NodeFacts
    pools: tuple[SeenPool, ...]

    @classmethod
    def build(
        cls, node: NodeFacts, slices_by_pool: Iterable[Sequence[Slice]], features: Features, release: Release
    ) -> NodePools:
        """Look at all slices of every pool from `node`. Raises AllocationError for an invalid node selector.

        No release has DRADeviceCompatibilityGroups on by default; slices with groups do not count then (DRA-507).
        """
        slices_by_pool = [
            known for slices in slices_by_pool if (known := [one for one in slices if not one.has_compatibility_groups])
        ]
        variant = variants.variant_for(features, release)
        return cls(node, tuple(gather(slices_by_pool, node, features, variant, release)))


class CompatibleAllocator:
    """The claims of one pod against any number of nodes, as `release` would have it."""

    def __init__(
        self,
        claims: Sequence[Claim],
        classes: Classes,
        *,
        release: Release,
        features: Features | None = None,
        max_steps: int = MAX_STEPS,
    ) -> None:
        """Check the claims. Raises AllocationError."""
        # Alpha, and not one of the allocators that releases have by default (DRA-516).
        self.features = dataclasses.replace(features or Features(), derived_attributes=False)
        self.classes = classes
        self.release = release
        self.max_steps = max_steps
        variant = variants.variant_for(self.features, release)
        self.claims = variants.claims_as_read(claims, variant, release)
        for claim in variants.claims_as_checked(self.claims, variant, release):
            check_claim(claim, classes, self.features)
        self._available = Available(release, self.features)
        self._arithmetic = shares.Arithmetic.of(release, self.features)
        self._tried = {"complete"}
        if release.has("incomplete-pools-are-used"):
            self._tried.add("incomplete")
        if release.has("invalid-pool-ends-attempt"):
            self._tried.add("invalid")

    def on(self, node_pools: NodePools, taken: Taken) -> Outcome:
        """Try one node; see Allocator.on."""
        selecting = Selecting(node_pools.node, self.features, self.release)
        plans = [self._plan(claim, node_pools, selecting, taken) for claim in self.claims]
        walk = Walk(
            plans,
            [
                Candidate(device, pool)
                for pool in node_pools.pools
                if pool.state in self._tried
                for device in pool.devices
            ],
            taken,
            self.features,
            selecting=Selecting(node_pools.node, self.features, self.release),  # the lookups for All are not reused
            ledger=Ledger(self._available, taken, self.release),
            steps=self.max_steps * _LOOKS_PER_STEP,
            release=self.release,
        )
        found = walk.run()
        steps = self.max_steps - walk.steps // _LOOKS_PER_STEP
        if found:
            results_ = tuple(self._result(plans, number, walk, node_pools.node) for number in range(len(plans)))
            return Outcome(results_, steps)
        if any(pool.state == "invalid" for pool in node_pools.pools):
            raise AllocationError(INVALID_POOLS, on_node_only=True)
        return Outcome(None, steps)

    def why_not(self, node_pools: NodePools, taken: Taken) -> str:
        """Return the reason why `on` found nothing: only that no combination works."""
        del taken
        count = sum(len(pool.devices) for pool in node_pools.pools)
        return f"no combination of {count} devices works as Kubernetes {self.release.name} allocates (bug-compatible)"

    # -- before the walk -------------------------------------------------------------------------------------------

    def _plan(self, claim: Claim, node_pools: NodePools, selecting: Selecting, taken: Taken) -> ClaimPlan:
        requests: list[tuple[Plan, ...]] = []
        least = 0
        for request in claim.requests:
            plans = tuple(
                self._plan_one(claim, sub, self._looked_up(request, number), node_pools, selecting, taken)
                for number, sub in enumerate(request.alternatives)
            )
            requests.append(plans)
            least += min(plan.count for plan in plans)
            if exceeds_limit(least):
                raise AllocationError(
                    f"claim {claim.key}, request {request.name}: {least} devices exceed the limit of {MAX_RESULTS}"
                )
        trackers = tuple(
            tracker_for(one, lists=self.features.list_attributes, release=self.release) for one in claim.constraints
        )
        return ClaimPlan(claim, tuple(requests), tuple(request.prioritized for request in claim.requests), trackers)

    def _looked_up(self, request: Request, number: int) -> SubRequest:
        """Return the request for caching the verdicts of an alternative (selectors-of-earlier-alternative)."""
        if self.release.has("selectors-of-earlier-alternative"):
            number = max(number - 1, 0)
        return request.alternatives[number]

    def _plan_one(
        self,
        claim: Claim,
        sub: SubRequest,
        under: SubRequest,
        node_pools: NodePools,
        selecting: Selecting,
        taken: Taken,
    ) -> Plan:
        device_class = self.classes[sub.class_name]
        if not sub.all_devices:
            return Plan(sub, device_class, sub.count)
        found: list[Candidate] = []
        for pool in node_pools.pools:
            if pool.state != "complete":
                what = "being updated" if pool.state == "incomplete" else "invalid"
                raise AllocationError(
                    f"claim {claim.key}, request {sub.name}: asks for all devices, but resource pool "
                    f"{pool.id.driver}/{pool.id.pool} is currently {what}"
                )
            found += [
                Candidate(device, pool)
                for device in pool.devices
                if selecting.suits(device, sub, device_class, claim, under=under)
                and self._suffices(device, sub, selecting, taken)
            ]
        return Plan(sub, device_class, len(found), tuple(found))

    def _suffices(self, device: Device, sub: SubRequest, selecting: Selecting, taken: Taken) -> bool:
        """Return whether a device is one of all: its capacity must suffice, to upstream now, with what others use of
        it.
        """
        if not self.features.consumable_capacity:
            return True
        used = taken if self.release.has("all-passes-over-full-devices") else Taken()
        return selecting.large_enough(device, sub) and has_room(device, sub, used, Use(), self._arithmetic)

    # -- after the walk --------------------------------------------------------------------------------------------

    def _result(self, plans: Sequence[ClaimPlan], number: int, walk: Walk, node: NodeFacts) -> Allocation:
        plan = plans[number]
        chosen: list[tuple[SubRequest, list[Device]]] = [
            (alternatives[walk.chosen.get((number, at), 0)].request, [])
            for at, alternatives in enumerate(plan.requests)
        ]
        # Not by the chosen alternative: its devices may have been requested by another one.
        given = [(pick.request, [pick.candidate.device]) for pick in walk.picks[number]]
        result = results.assemble(
            plan.claim, given, node, self.classes, consumed_by=self._consumed_by, make_share_id=new_share_id
        )
        result["devices"].pop("config", None)
        for one in result["devices"]["results"]:
            # Alpha: the allocators that releases have by default do not know the field (DRA-521).
            one.pop("skipNodeOperations", None)
            if self.release.has("tolerations-not-recorded"):
                one.pop("tolerations", None)
        if entries := configs.configs(plan.claim, chosen, self.classes, self.release):
            result["devices"]["config"] = entries
        prioritized = tuple(walk.chosen[number, at] for at, choice in enumerate(plan.prioritized) if choice)
        return Allocation(plan.claim, result, prioritized)

    def _consumed_by(self, device: Device, request: SubRequest) -> dict[str, str] | None:
        """Return the consumption of a result that is a share; one with admin access is one too
        (admin-pick-blocks-others).
        """
        if not capacity.shareable(device, enabled=self.features.consumable_capacity):
            return None
        return {name: str(value) for name, value in shares.consumed_by(device, request, self._arithmetic).items()}
