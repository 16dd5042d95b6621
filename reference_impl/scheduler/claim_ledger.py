"""Allocated devices: from the status of claims, from BindRequests in progress, and from decisions in flight.

For each claim one allocation counts: the one in its status, else one that a BindRequest carries, else one that this
process has decided and not yet written. The ledger keeps the sum in a `Taken`. Its owner serialises all calls.

Source: dra_manager.go (v1.36, allocated and in-flight claims); KAI dynamicresources.go assumePendingClaims (0.17);
rules DRA-133, KAI-052, KAI-053. One deviation: a claim whose allocation is in progress counts as allocated for
later pods too, so that two pods that share it cannot be promised different devices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from dra_api.allocations import results_of_allocation
from dra_api.objects import Obj
from reference_impl.scheduler.allocator.taken import Taken

ClaimKey: TypeAlias = tuple[str, str]


@dataclass(slots=True)
class _Entry:
    status: Obj | None = None
    pending: dict[str, Obj] = field(default_factory=dict)
    assumed: dict[str, Obj] = field(default_factory=dict)
    counted: Obj | None = None

    def effective(self) -> Obj | None:
        # The order of trust: written by the API server, promised by a BindRequest, decided here.
        return self.status or next(iter(self.pending.values()), None) or next(iter(self.assumed.values()), None)

    @property
    def empty(self) -> bool:
        return self.status is None and not self.pending and not self.assumed


class ClaimLedger:
    """Allocations that count, claim by claim."""

    def __init__(self) -> None:
        self.taken = Taken()
        self._entries: dict[ClaimKey, _Entry] = {}
        self._spent: set[tuple[str, ClaimKey]] = set()

    def allocation(self, key: ClaimKey) -> Obj | None:
        """Return the allocation of a claim that counts, or None."""
        entry = self._entries.get(key)
        return entry.counted if entry else None

    def set_status(self, key: ClaimKey, allocation: Obj | None) -> bool:
        """Set the allocation from the claim's status. Return True if devices became free."""
        entry = self._entries.get(key)
        if entry is None:
            if allocation is None:
                return False
            entry = self._entries[key] = _Entry()
        entry.status = allocation
        if allocation is not None:
            # The promise is fulfilled; if the claim is freed later, the promise must not come back.
            self._spent.update((source, key) for source in entry.pending)
            entry.pending.clear()
            entry.assumed.clear()
        return self._recount(key, entry)

    def forget_claim(self, key: ClaimKey) -> bool:
        """Forget a deleted claim. Return True if devices became free."""
        entry = self._entries.pop(key, None)
        if entry is None or entry.counted is None:
            return False
        self.taken.remove(results_of_allocation(entry.counted))
        return True

    def promise(self, source: str, key: ClaimKey, allocation: Obj) -> None:
        """Add an allocation that a BindRequest (uid `source`) carries for a claim."""
        if (source, key) in self._spent:
            return
        entry = self._entries.setdefault(key, _Entry())
        if entry.status is None:
            entry.pending[source] = allocation
        else:
            self._spent.add((source, key))
        self._recount(key, entry)

    def withdraw(self, source: str, keys: set[ClaimKey], *, gone: bool) -> bool:
        """Remove the allocations that a BindRequest carried for `keys`. Return True if devices became free."""
        freed = False
        for key in keys:
            if gone:
                # The uid of a deleted BindRequest never comes back, so there is nothing more to remember.
                self._spent.discard((source, key))
            entry = self._entries.get(key)
            if entry is not None and entry.pending.pop(source, None) is not None:
                freed = self._recount(key, entry) or freed
        return freed

    def assume(self, pod_uid: str, key: ClaimKey, allocation: Obj) -> None:
        """Add an allocation that this process has decided for a claim of a pod."""
        entry = self._entries.setdefault(key, _Entry())
        if entry.status is None:
            entry.assumed[pod_uid] = allocation
        self._recount(key, entry)

    def drop_assumed(self, pod_uid: str, keys: set[ClaimKey]) -> bool:
        """Drop an assumed allocation after it was written or failed. Return True if devices became free."""
        freed = False
        for key in keys:
            entry = self._entries.get(key)
            if entry is not None and entry.assumed.pop(pod_uid, None) is not None:
                freed = self._recount(key, entry) or freed
        return freed

    def _recount(self, key: ClaimKey, entry: _Entry) -> bool:
        counts = entry.effective()
        freed = False
        # Identity is enough: allocations are never changed in place.
        if counts is not entry.counted:
            if entry.counted is not None:
                self.taken.remove(results_of_allocation(entry.counted))
                freed = counts is None
            if counts is not None:
                self.taken.add(results_of_allocation(counts))
            entry.counted = counts
        if entry.empty:
            del self._entries[key]
        return freed
