"""One scheduling cycle: a pod in, a decision or the reasons against every node out.

Reads the cluster view under its lock and writes nothing. Nodes are tried in the view's order and the first that fits
wins; all nodes are tried only if a claim has prioritized alternatives; then the best alternatives win.

Source: dynamicresources plugin PreFilter, Filter, Score (v1.36); rules DRA-122 to DRA-136, DRA-140, DRA-161, KAI-020
to KAI-024, KAI-054 to KAI-056.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from dra_api.allocations import results_of_allocation
from dra_api.objects import Obj, key_of, name_of
from dra_api.pod_requests import added
from reference_impl import binding_conditions, node_selector
from reference_impl.scheduler import extended_resources, gpu_shares, node_allocatable, node_filter, pod_claims
from reference_impl.scheduler.allocator import AllocationError, Claim, decode_claim, node_operations, results
from reference_impl.scheduler.allocator.model import Allocation, Features, MissingClass
from reference_impl.scheduler.claim_ledger import ClaimKey
from reference_impl.scheduler.cluster_view import ClusterView, NodeState
from reference_impl.scheduler.engines import Correct, Engine, PodAllocator
from reference_impl.scheduler.extended_resources import Wanted
from reference_impl.scheduler.gpu_shares import GrantedShare, ShareRequest
from reference_impl.scheduler.node_allocatable import UsedClaim
from reference_impl.scheduler.pod_claims import PodClaim

CANNOT_ALLOCATE = "cannot allocate all claims"
NO_GPU_MEMORY = "node(s) had GPUs with too little or unknown memory"
CLAIM_ELSEWHERE = "resourceclaim not available on the node"
_EXPLAINED_NODES = 3
# Steps that one pod may take in all: what is left after some nodes is shared by the rest.
_STEPS_PER_POD = 60_000


@dataclass(frozen=True, slots=True)
class ExtendedDecision:
    """The claim for the extended resources of a pod, which does not exist yet, and its allocation."""

    wanted: Wanted
    allocation: Obj


@dataclass(frozen=True, slots=True)
class Decision:
    """The node of a pod, and the allocation of each of its claims.

    `entries` pairs each of the pod's own names for its claims with the claim and its allocation; `fresh` are the claims
    that were not allocated before. `share` is the pod's share of GPUs. `uses` is what devices use of the node, as
    the pod's status says it.
    """

    pod: Obj
    node: str
    entries: tuple[tuple[PodClaim, Obj], ...] = ()
    fresh: frozenset[ClaimKey] = frozenset()
    extended: ExtendedDecision | None = None
    share: GrantedShare | None = None
    uses: tuple[Obj, ...] = ()

    @property
    def has_binding_conditions(self) -> bool:
        """Return whether a device must be made ready before the pod is bound (DRA-250)."""
        allocations = [allocation for _, allocation in self.entries]
        if self.extended is not None:
            allocations.append(self.extended.allocation)
        return any(
            result.get("bindingConditions")
            for allocation in allocations
            for result in results_of_allocation(allocation)
        )

    @property
    def allocations(self) -> dict[ClaimKey, Obj]:
        """Return the new allocations by claim; that of extended resources under a key of its own."""
        found = {
            key_of(entry.claim): allocation for entry, allocation in self.entries if key_of(entry.claim) in self.fresh
        }
        if self.extended is not None:
            found[extended_resources.key_for(self.pod)] = self.extended.allocation
        return found


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a pod cannot be scheduled now. `reason` is that of PodScheduled; a `silent` refusal writes no condition.

    `for_own_claims`: only a change of the pod or its claims can help. `stranded` are allocated claims that no
    node of the pod can use; `leftover` is the claim that an earlier attempt made for the pod's extended resources.
    """

    message: str
    reason: str = "Unschedulable"
    silent: bool = False
    for_own_claims: bool = False
    stranded: tuple[ClaimKey, ...] = ()
    leftover: Obj | None = None


@dataclass(slots=True)
class _Attempt:
    pod: Obj
    claims: list[PodClaim]
    held: dict[ClaimKey, Obj]
    wanted: list[Claim]
    allocator: PodAllocator | None
    hopeless: set[ClaimKey]  # allocated, but its devices will not be ready
    extended: dict[str, str]  # resources that classes stand for
    by_resources: dict[frozenset[str], tuple[Wanted | None, PodAllocator | None]]
    steps: int
    share_request: ShareRequest | None = None
    shares: dict[str, GrantedShare] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    unfitting: list[NodeState] = field(default_factory=list)
    stranded: set[ClaimKey] = field(default_factory=set)


class Cycle:
    """Decides about pods, one at a time.

    `now` is the clock for binding conditions; without it the binder handles them and the claims of extended resources.
    """

    def __init__(
        self,
        view: ClusterView,
        *,
        features: Features,
        max_steps: int,
        now: Callable[[], datetime] | None = None,
        binding_timeout: float = 600.0,
        engine: Engine | None = None,
    ) -> None:
        self._now = now
        self._engine = engine or Correct()
        self._makes_claims = now is not None
        self._binding_timeout = binding_timeout
        self._view = view
        self._features = features
        self._max_steps = max_steps

    def decide(self, pod: Obj) -> Decision | Refusal:
        """Return a decision about `pod`, or the reason why there is none. Needs the view's lock."""
        try:
            claims = pod_claims.resolve(pod, self._view.find_claim)
        except pod_claims.NotReady as missing:
            return Refusal(str(missing), silent=not missing.reported, for_own_claims=True)
        attempt = self._attempt(pod, claims)
        if isinstance(attempt, Refusal):
            return attempt
        best: tuple[int, NodeState, tuple[Allocation, ...]] | None = None
        for state in self._candidates(attempt):
            allocations = self._try(attempt, state)
            if allocations is None:
                continue
            score = preference(allocations)
            if best is None or score > best[0]:
                best = (score, state, allocations)
            # With all first alternatives: no later node can score higher, and on a tie the earlier candidate wins.
            if score == 0:
                break
        if best is None:
            return self._refusal(attempt)
        return self._decision(attempt, best[1], best[2])

    def _candidates(self, attempt: _Attempt) -> list[NodeState]:
        """Return the nodes in the order of attempts; a share goes to a GPU that is shared already (KAI-381)."""
        candidates = self._view.candidates()
        shares = self._view.shares
        if shares is None or attempt.share_request is None:
            return candidates
        for state in candidates:
            share = shares.share_on(state.facts.name, attempt.share_request, gpu_shares.memory_of(state.node))
            if share is not None:
                attempt.shares[state.facts.name] = share
        new = {name: share.opened for name, share in attempt.shares.items()}
        return sorted(candidates, key=lambda state: new.get(state.facts.name, 0))

    def _attempt(self, pod: Obj, claims: list[PodClaim]) -> _Attempt | Refusal:
        """Return everything that does not depend on the node."""
        held: dict[ClaimKey, Obj] = {}
        wanted: dict[ClaimKey, Claim] = {}
        for entry in claims:
            key = key_of(entry.claim)
            allocation = self._view.ledger.allocation(key)
            if allocation is not None:
                held[key] = allocation
            # Two entries of a pod may name the same claim; it is allocated once.
            elif key not in wanted:
                wanted[key] = decode_claim(entry.claim)
        extended: dict[str, str] = {}
        if self._features.extended_resources:
            extended = extended_resources.requested(self._view.pod_needs(pod), self._view.extended.class_of)
            if extended and self._makes_claims and (old := self._view.extended.claim_of(pod)) is not None:
                return Refusal("cannot schedule extended resource claim", leftover=old)
        allocator = None
        if wanted:
            try:
                allocator = self._engine.allocator(
                    [*wanted.values()], self._view.classes, features=self._features, max_steps=self._max_steps
                )
            except MissingClass as error:
                return Refusal(str(error))
            except AllocationError as error:
                return Refusal(str(error), reason="SchedulerError")
        return _Attempt(
            pod,
            claims,
            held,
            [*wanted.values()],
            allocator,
            hopeless=self._hopeless(claims),
            extended=extended,
            steps=max(_STEPS_PER_POD, self._max_steps),
            by_resources={frozenset(): (None, allocator)},
            share_request=gpu_shares.requested_share(pod) if self._view.shares is not None else None,
        )

    def _for_node(self, attempt: _Attempt, state: NodeState) -> tuple[Wanted | None, PodAllocator | None]:
        """Return the claims of a pod on a node, with one for extended resources without device plugin (DRA-241)."""
        names = extended_resources.by_devices(attempt.extended, state.allocatable)
        known = attempt.by_resources.get(names)
        if known is None:
            wanted = extended_resources.wanted(attempt.pod, attempt.extended, names)
            namespace, name = extended_resources.key_for(attempt.pod)
            draft = wanted.claim(attempt.pod)
            special = decode_claim({**draft, "metadata": {"namespace": namespace, "name": name}})
            allocator = self._engine.allocator(
                [*attempt.wanted, special], self._view.classes, features=self._features, max_steps=self._max_steps
            )
            known = attempt.by_resources[names] = (wanted, allocator)
        return known

    def _hopeless(self, claims: list[PodClaim]) -> set[ClaimKey]:
        """Return the claims whose devices failed or exceeded the binding timeout (DRA-251, DRA-252)."""
        if self._now is None or not self._features.binding_conditions:
            return set()
        now, timeout = self._now(), self._binding_timeout
        return {key_of(e.claim) for e in claims if binding_conditions.given_up(e.claim, now, timeout)}

    # -- one node --------------------------------------------------------------------------------------------------

    def _try(self, attempt: _Attempt, state: NodeState) -> tuple[Allocation, ...] | None:
        """Return the allocations of the pod on a node; None, with the reason recorded, if it does not fit."""
        name = state.facts.name
        share = attempt.shares.get(name)
        if attempt.share_request is not None and share is None:
            reason = NO_GPU_MEMORY
        else:
            reason = self.node_refusal(attempt.pod, state, attempt.extended, share)
        if not reason:
            away = [
                key
                for key, allocation in attempt.held.items()
                if key in attempt.hopeless or not usable_on(allocation, state)
            ]
            attempt.stranded.update(away)
            reason = CLAIM_ELSEWHERE if away else ""
            reason = reason or self._shared_mapping(attempt, state)
        if reason:
            attempt.refused[name] = reason
            return None
        try:
            _, allocator = self._for_node(attempt, state)
            if allocator is None:
                return self._with_room(attempt, state, ())
            # All nodes share one budget of steps: a hard claim must not occupy the only deciding thread.
            allocator.max_steps = max(min(self._max_steps, attempt.steps), 1)
            outcome = allocator.on(self._view.inventory(name), self._view.ledger.taken)
        except AllocationError as error:
            attempt.steps -= error.steps
            if error.on_node_only:
                attempt.refused[name] = str(error)
                attempt.unfitting.append(state)
            else:
                attempt.errors.append(str(error))
            return None
        attempt.steps -= outcome.steps
        if outcome.allocations is None:
            attempt.refused[name] = CANNOT_ALLOCATE
            attempt.unfitting.append(state)
            return None
        return self._with_room(attempt, state, outcome.allocations)

    def _shared_mapping(self, attempt: _Attempt, state: NodeState) -> str:
        """Return the reason if another pod uses a claim of which a device is mapped to resources of the node (DRA-532).

        What such a device uses would be charged to the node a second time.
        """
        if not self._features.node_allocatable or not attempt.held:
            return ""
        device_of = self._view.inventory(state.facts.name).device
        for entry in attempt.claims:
            allocation = attempt.held.get(key_of(entry.claim))
            if allocation is None or not node_allocatable.is_mapped(allocation, device_of):
                continue
            if self._view.others_use(entry.claim, attempt.pod):
                return f"resource claim {name_of(entry.claim)} has a mapped device and cannot be shared across pods"
        return ""

    def _uses(self, attempt: _Attempt, state: NodeState, allocations: Sequence[Allocation]) -> list[Obj]:
        """Return what the devices of the pod's claims would use of the node."""
        if not self._features.node_allocatable or not attempt.claims:
            return []
        fresh = {(new.claim.namespace, new.claim.name): new.result for new in allocations}
        used: dict[ClaimKey, UsedClaim] = {}
        for entry in attempt.claims:
            key = key_of(entry.claim)
            allocation = attempt.held[key] if key in attempt.held else fresh[key]
            used.setdefault(key, UsedClaim([], entry.claim, allocation)).references.append(entry.reference)
        return node_allocatable.statuses(attempt.pod, used.values(), self._view.inventory(state.facts.name).device)

    def _with_room(
        self, attempt: _Attempt, state: NodeState, allocations: tuple[Allocation, ...]
    ) -> tuple[Allocation, ...] | None:
        """Return the allocations; None, with the reason recorded, if devices use more of the node than it has left."""
        if uses := self._uses(attempt, state, allocations):
            name = state.facts.name
            if beyond := node_allocatable.beyond_own_requests(attempt.pod, uses):
                attempt.refused[name] = f"pod level request for {beyond} is insufficient for containers and devices"
                return None
            needs = added(
                self._needs(attempt.pod, state, attempt.extended), node_allocatable.charged_for(attempt.pod, uses)
            )
            if reason := node_filter.full(needs, self._view.used(name), state.allocatable):
                attempt.refused[name] = reason
                return None
        return allocations

    def _needs(
        self, pod: Obj, state: NodeState, extended: dict[str, str] | None, share: GrantedShare | None = None
    ) -> dict[str, int]:
        """Return what the pod requests of the node, apart from devices and extended resources (`extended`)."""
        needs = self._view.pod_needs(pod)
        if share is not None:
            needs = gpu_shares.needs_with(needs, share)
        if extended:
            instead = extended_resources.by_devices(extended, state.allocatable)
            needs = {name: value for name, value in needs.items() if name not in instead}
        return needs

    def node_refusal(
        self, pod: Obj, state: NodeState, extended: dict[str, str] | None = None, share: GrantedShare | None = None
    ) -> str:
        """Return why the pod does not fit on the node, apart from devices and extended resources (`extended`)."""
        needs = self._needs(pod, state, extended, share)
        return (
            ("" if self._makes_claims else node_filter.unhealthy(state.node))
            or node_filter.refusal(pod, state.node, state.facts)
            or node_filter.full(needs, self._view.used(state.facts.name), state.allocatable)
        )

    # -- outcome ---------------------------------------------------------------------------------------------------

    def _decision(self, attempt: _Attempt, state: NodeState, allocations: Sequence[Allocation]) -> Decision:
        wanted, _ = self._for_node(attempt, state)
        extended = ExtendedDecision(wanted, allocations[-1].result) if wanted is not None else None
        # The claim for extended resources is the last one, see `_for_node`.
        own = allocations[:-1] if extended else allocations
        # A scheduler that writes allocations itself does it as kube-scheduler of its release does.
        shorten = self._makes_claims and isinstance(self._engine, Correct)
        fresh = {
            (new.claim.namespace, new.claim.name): results.without_lists_of_all(new.result) if shorten else new.result
            for new in own
        }
        entries = []
        for entry in attempt.claims:
            key = key_of(entry.claim)
            entries.append((entry, attempt.held[key] if key in attempt.held else fresh[key]))
        share = attempt.shares.get(state.facts.name)
        if share is not None and self._view.shares is not None:
            share = self._view.shares.opened(share)
        uses = tuple(self._uses(attempt, state, own))
        return Decision(attempt.pod, state.facts.name, tuple(entries), frozenset(fresh), extended, share, uses)

    def _refusal(self, attempt: _Attempt) -> Refusal:
        """Return all reasons in one message, as kube-scheduler counts them, and what exactly is in the way."""
        if attempt.errors:
            return Refusal(f'running "DynamicResources" filter plugin: {attempt.errors[0]}', reason="SchedulerError")
        total = len(self._view.nodes)
        if not total:
            return Refusal("no nodes available to schedule pods")
        counted = Counter(attempt.refused.values())
        reasons = ", ".join(f"{number} {reason}" for reason, number in sorted(counted.items()))
        message = f"0/{total} nodes are available: {reasons}."
        if details := self._details(attempt):
            message += f" {details}"
        return Refusal(message, stranded=tuple(sorted(attempt.stranded)))

    def _details(self, attempt: _Attempt) -> str:
        """Return the obstacles on the first few nodes; nodes with the same obstacle are grouped."""
        by_reason: dict[str, list[str]] = {}
        for state in attempt.unfitting[:_EXPLAINED_NODES]:
            _, allocator = self._for_node(attempt, state)
            assert allocator is not None  # noqa: S101 - for the type checker; it has refused the node
            why = allocator.why_not(self._view.inventory(state.facts.name), self._view.ledger.taken)
            by_reason.setdefault(why, []).append(state.facts.name)
        return " ".join(f"{', '.join(names)}: {reason}." for reason, names in by_reason.items())


def usable_on(allocation: Obj, state: NodeState) -> bool:
    """Return whether an allocation can be used on a node: by its node selector, everywhere without one (KAI-054), and
    by the node operations that its devices skip (DRA-520).
    """
    selected = node_selector.matches_if_valid(allocation.get("nodeSelector"), state.facts)
    return selected and node_operations.usable_on(allocation, state.facts)


def preference(allocations: Sequence[Allocation]) -> int:
    """Return the score of a node: the earlier the chosen alternatives, the higher, 0 at most (DRA-140)."""
    return -sum(number for new in allocations for number in new.chosen_alternatives)
