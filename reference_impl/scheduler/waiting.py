"""Pods that wait for their own claims, or for room on devices and nodes.

The scheduler calls it under its lock.

Source: kube-scheduler scheduling queue (v1.36), queueing hints; rules DRA-122 to DRA-127.
"""

from __future__ import annotations

from dataclasses import dataclass

from dra_api.objects import Obj
from reference_impl.scheduler import pod_claims
from reference_impl.scheduler.claim_ledger import ClaimKey
from reference_impl.scheduler.cluster_view import PodKey


@dataclass(frozen=True, slots=True)
class _Wait:
    """The cause that one pod waits for: its own claims, or room (then a change of its claims too)."""

    for_own_claims: bool
    claims: frozenset[ClaimKey]


class Waiting:
    """Waiting pods by the change that wakes them. The caller serialises all calls."""

    def __init__(self) -> None:
        self._waits: dict[PodKey, _Wait] = {}
        self._by_claim: dict[ClaimKey, set[PodKey]] = {}

    def add(self, key: PodKey, pod: Obj, *, for_own_claims: bool) -> None:
        """Let the pod wait from now on, for this cause alone."""
        self.remove(key)
        wait = _Wait(for_own_claims, frozenset((key[0], name) for name in pod_claims.claim_names(pod)))
        self._waits[key] = wait
        for claim in wait.claims:
            self._by_claim.setdefault(claim, set()).add(key)

    def remove(self, key: PodKey) -> None:
        """Remove a pod."""
        wait = self._waits.pop(key, None)
        for claim in wait.claims if wait else ():
            pods = self._by_claim[claim]
            pods.discard(key)
            if not pods:
                del self._by_claim[claim]

    def for_claim(self, claim: ClaimKey) -> list[PodKey]:
        """Return the pods that a change of a claim may help."""
        return [*self._by_claim.get(claim, ())]

    def for_room(self) -> list[PodKey]:
        """Return the pods that room on devices or nodes may help."""
        return [pod for pod, wait in self._waits.items() if not wait.for_own_claims]
