"""Mutants of leader election among replicas of the ComputeDomain controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant

ELECTION = "reference_impl.leader_election:LeaderElected"


@mutant("standby-works", rule="NV-339")
def _(patch: Patch) -> None:
    """A replica works from its start, also while another one holds the lease."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def start(self: Any) -> None:
            self._begin()
            original(self)

        return start

    patch.wrap(f"{ELECTION}.start", make)
    patch.replace(f"{ELECTION}.is_overdue", lambda self: False)


@mutant("leader-without-lease", rule="NV-339")
def _(patch: Patch) -> None:
    """A replica works without a lease."""
    patch.replace(f"{ELECTION}._try_lease", lambda self: True)


@mutant("lease-taken-before-its-end", rule="NV-339")
def _(patch: Patch) -> None:
    """A replica takes a lease that has not been renewed for its retry period."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def may_take(self: Any, lease: Any) -> bool:
            before = getattr(self, "before", None)
            self.before = lease["spec"]
            return bool(original(self, lease)) or before == lease["spec"]

        return may_take

    patch.wrap(f"{ELECTION}.may_take", make)


@mutant("lease-of-killed-leader-kept", rule="NV-340")
def _(patch: Patch) -> None:
    """A replica waits until the leader releases the lease, which a killed one never does."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def may_take(self: Any, lease: Any) -> bool:
            holder = (lease.get("spec") or {}).get("holderIdentity")
            return bool(original(self, lease)) and holder in ("", None, self._options.identity)

        return may_take

    patch.wrap(f"{ELECTION}.may_take", make)


@mutant("leader-holds-lease-only", rule="NV-340")
def _(patch: Patch) -> None:
    """A replica that takes the lease of another one does not begin to work."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def begin(self: Any) -> None:
            if self._seen is None:
                original(self)

        return begin

    patch.wrap(f"{ELECTION}._begin", make)


@mutant("lease-not-released", rule="NV-340b")
def _(patch: Patch) -> None:
    """A leader that is stopped leaves the lease as it is."""
    patch.replace(f"{ELECTION}.release", lambda self: None)


@mutant("replica-gives-up-after-one-failed-request", rule="NV-340c")
def _(patch: Patch) -> None:
    """A replica whose first request for the lease fails makes no further one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def try_lease(self: Any) -> bool:
            self.given_up = getattr(self, "given_up", False) or not original(self)
            return not self.given_up

        return try_lease

    patch.wrap(f"{ELECTION}._try_lease", make)


@mutant("leader-ends-after-one-failed-renewal", rule="NV-340c")
def _(patch: Patch) -> None:
    """A leader ends its work when one renewal fails, and waits for the end of the lease."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def try_lease(self: Any) -> bool:
            if getattr(self, "failed", False):
                return False
            found = bool(original(self))
            self.failed = self._working is not None and not found
            return found

        return try_lease

    patch.wrap(f"{ELECTION}._try_lease", make)
    patch.replace(f"{ELECTION}.is_overdue", lambda self: True)


@mutant("requests-for-lease-without-deadline", rule="NV-341")
def _(patch: Patch) -> None:
    """A leader waits for the response to its renewal for as long as the API server takes."""
    patch.replace(
        "reference_impl.deadline:WithDeadline.request",
        lambda self, method, path, **options: self._inner.request(method, path, **options),
    )


@mutant("work-goes-on-without-lease", rule="NV-341")
def _(patch: Patch) -> None:
    """A leader whose lease is lost goes on working."""
    patch.replace(f"{ELECTION}.is_overdue", lambda self: False)
