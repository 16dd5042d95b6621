"""Faults in how the scheduler gives pods shares of GPUs; for bind_requests/scheduler_shares."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dra_api.objects import Obj
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.scheduler.gpu_shares import GrantedShare, ShareRequest

_SHARES = "reference_impl.scheduler.gpu_shares"


@mutant("scheduler-ignores-shares", rule="KAI-017")
def _(patch: Patch) -> None:
    """A pod that wants a share gets a regular BindRequest."""
    patch.replace(f"{_SHARES}:requested_share", lambda pod: None)


@mutant("scheduler-shortens-portions", rule="KAI-017")
def _(patch: Patch) -> None:
    """The portion has one decimal."""
    received = property(lambda self: {"count": len(self.groups), "portion": f"{float(self.portion):.1f}"})
    patch.replace(f"{_SHARES}:GrantedShare.received", received)


@mutant("scheduler-names-one-group-twice", rule="KAI-018")
def _(patch: Patch) -> None:
    """All GPUs of a pod have one group."""

    def wrapped(original: Any) -> Any:
        def opened(self: Any, share: GrantedShare) -> GrantedShare:
            made: GrantedShare = original(self, share)
            return replace(made, groups=made.groups[:1] * len(made.groups))

        return opened

    patch.wrap(f"{_SHARES}:GpuShares.opened", wrapped)


@mutant("scheduler-gives-memory-of-one-gpu", rule="KAI-018")
def _(patch: Patch) -> None:
    """A share by memory is of one GPU, whatever number the pod requests."""

    def wrapped(original: Any) -> Any:
        def requested_share(pod: Obj) -> ShareRequest | None:
            share: ShareRequest | None = original(pod)
            return replace(share, devices=1) if share is not None and share.memory else share

        return requested_share

    patch.wrap(f"{_SHARES}:requested_share", wrapped)


@mutant("scheduler-shares-nothing", rule="KAI-381")
def _(patch: Patch) -> None:
    """Each share opens a GPU of its own."""

    def share_on(self: Any, node: str, requested: ShareRequest, gpu_memory: int) -> GrantedShare | None:
        portion = requested.amount(gpu_memory)
        return None if portion is None else GrantedShare((), portion, opened=requested.devices)

    patch.replace(f"{_SHARES}:GpuShares.share_on", share_on)


@mutant("scheduler-overfills-gpus", rule="KAI-382")
def _(patch: Patch) -> None:
    """The portions of a group are not added up."""

    def wrapped(original: Any) -> Any:
        def put(self: Any, pod: Any, node: str, groups: Any, portion: Fraction) -> None:
            original(self, pod, node, groups, Fraction(0))

        return put

    patch.wrap(f"{_SHARES}:GpuShares.put", wrapped)


@mutant("scheduler-overfills-gpus-with-a-gang", rule="KAI-382")
def _(patch: Patch) -> None:
    """The GPU groups of a pod are not counted while its gang is placed."""

    def of_gang(original: Any) -> Any:
        def together(self: Any, *args: Any) -> Any:
            assume = self._view.assume
            self._view.assume = lambda pod, node, allocations, **_: assume(pod, node, allocations)
            try:
                return original(self, *args)
            finally:
                self._view.assume = assume

        return together

    patch.wrap("reference_impl.scheduler.gangs:Gangs._together", of_gang)


@mutant("scheduler-keeps-ended-shares", rule="KAI-382")
def _(patch: Patch) -> None:
    """The portion of a deleted pod stays taken."""
    patch.wrap(
        "reference_impl.scheduler.cluster_view:ClusterView._share",
        lambda original: lambda self, pod, seen, now: original(self, pod, seen, now) if seen is not None else None,
    )


@mutant("scheduler-opens-gpus-without-counting", rule="KAI-383")
def _(patch: Patch) -> None:
    """New groups need no GPU of the node."""
    patch.replace(f"{_SHARES}:needs_with", lambda needs, share: needs)


@mutant("scheduler-gives-away-shared-gpus", rule="KAI-384")
def _(patch: Patch) -> None:
    """Shared GPUs are not counted as used."""
    patch.replace(f"{_SHARES}:GpuShares.count", lambda self, node: 0)


@mutant("scheduler-guesses-gpu-memory", rule="KAI-385")
def _(patch: Patch) -> None:
    """A node without the label counts as one with large GPUs."""
    patch.wrap(f"{_SHARES}:memory_of", lambda original: lambda node: original(node) or 80_000)


@mutant("scheduler-takes-multiples-of-gpu-memory", rule="KAI-385b")
def _(patch: Patch) -> None:
    """A gpu-memory that is a multiple of the GPU's counts as so many portions of 1, as in KAI 0.12.0."""

    def wrapped(original: Any) -> Any:
        def amount(self: ShareRequest, gpu_memory: int) -> Fraction | None:
            is_multiple = self.memory and gpu_memory and self.memory % gpu_memory == 0
            return Fraction(self.memory, gpu_memory) if is_multiple else original(self, gpu_memory)

        return amount

    patch.wrap(f"{_SHARES}:ShareRequest.amount", wrapped)


@mutant("scheduler-caps-gpu-memory", rule="KAI-385b")
def _(patch: Patch) -> None:
    """A gpu-memory that is more than the GPU's counts as a whole GPU."""

    def wrapped(original: Any) -> Any:
        def amount(self: ShareRequest, gpu_memory: int) -> Fraction | None:
            return original(self, gpu_memory) or (Fraction(1) if gpu_memory else None)

        return amount

    patch.wrap(f"{_SHARES}:ShareRequest.amount", wrapped)


@mutant("scheduler-rounds-gpu-memory-to-nearest", rule="KAI-312")
def _(patch: Patch) -> None:
    """The portion of a share by memory is rounded to the nearest hundredth."""
    _round_portions(patch, round)


@mutant("scheduler-rounds-gpu-memory-down", rule="KAI-312")
def _(patch: Patch) -> None:
    """The portion of a share by memory is rounded down to hundredths."""
    _round_portions(patch, math.floor)


@mutant("scheduler-adds-a-hundredth-to-gpu-memory", rule="KAI-312")
def _(patch: Patch) -> None:
    """A portion that is a number of hundredths already is rounded up to the next one."""
    _round_portions(patch, lambda hundredths: math.floor(hundredths) + 1)


def _round_portions(patch: Patch, rounded: Callable[[Fraction], int]) -> None:
    def wrapped(original: Any) -> Any:
        def amount(self: ShareRequest, gpu_memory: int) -> Fraction | None:
            exact = original(self, gpu_memory)
            by_memory = self.memory and exact is not None
            return Fraction(rounded(Fraction(self.memory * 100, gpu_memory)), 100) if by_memory else exact

        return amount

    patch.wrap(f"{_SHARES}:ShareRequest.amount", wrapped)


@mutant("scheduler-takes-large-fractions", rule="KAI-386")
def _(patch: Patch) -> None:
    """A gpu-fraction above 1 is a whole GPU."""

    def wrapped(original: Any) -> Any:
        def requested_share(pod: Obj) -> ShareRequest | None:
            found: ShareRequest | None = original(pod)
            text = (pod["metadata"].get("annotations") or {}).get("gpu-fraction")
            return ShareRequest(Fraction(1), 0, 1) if found is None and text else found

        return requested_share

    patch.wrap(f"{_SHARES}:requested_share", wrapped)


@mutant("scheduler-takes-negative-fractions", rule="KAI-386")
def _(patch: Patch) -> None:
    """The sign of a gpu-fraction is ignored."""
    patch.wrap(f"{_SHARES}:_portion", lambda original: lambda text: original(str(text).lstrip("-")))


@mutant("scheduler-counts-two-reservation-pods", rule="KAI-387")
def _(patch: Patch) -> None:
    """A new group needs room for two more pods."""

    def wrapped(original: Any) -> Any:
        def needs_with(needs: dict[str, int], share: GrantedShare) -> dict[str, int]:
            found: dict[str, int] = original(needs, share)
            return {**found, "pods": found["pods"] + share.opened * 1000}

        return needs_with

    patch.wrap(f"{_SHARES}:needs_with", wrapped)


@mutant("scheduler-forgets-reservation-pods", rule="KAI-387")
def _(patch: Patch) -> None:
    """A new group needs a GPU and no room for a reservation pod."""
    patch.replace(f"{_SHARES}:needs_with", lambda needs, share: {**needs, "nvidia.com/gpu": share.opened * 1000})


@mutant("scheduler-counts-reservations", rule="KAI-388")
def _(patch: Patch) -> None:
    """A reservation pod uses the GPU that it requests."""
    patch.replace(f"{_SHARES}:needs_of", lambda pod, requests: requests)
