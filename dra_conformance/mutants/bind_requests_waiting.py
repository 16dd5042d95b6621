"""Faults in how the binder waits for devices that must be made ready (KEP-5007); for bind_requests."""

from __future__ import annotations

from dra_conformance.engine.mutation import Patch, mutant


@mutant("binder-binds-at-once", rule="DRA-250b")
def _(patch: Patch) -> None:
    """The binder asks nobody whether devices are ready."""
    patch.replace("reference_impl.binder.devices:needs_work", lambda claim: False)


@mutant("binder-writes-no-time", rule="DRA-250b")
def _(patch: Patch) -> None:
    """The claim does not say since when its devices have to get ready."""
    patch.replace("reference_impl.binder.claims:ClaimWriter._with_time", lambda self, allocation: allocation)


@mutant("binder-hears-no-claims", rule="DRA-250b")
def _(patch: Patch) -> None:
    """The binder looks again only when the time is over."""
    patch.replace("reference_impl.binder.devices:DeviceWaits.on_claim", lambda self, change: None)


@mutant("binder-waits-for-failed-devices", rule="DRA-251b")
def _(patch: Patch) -> None:
    """A failure condition is no reason to stop."""
    patch.replace("reference_impl.binding_conditions:failure", lambda claim: "")


@mutant("binder-keeps-lost-devices", rule="DRA-251b")
def _(patch: Patch) -> None:
    """A request that failed for good leaves its claim allocated."""
    patch.replace("reference_impl.binder.reconcile:Binder.roll_back", lambda self, request, pod: "")


@mutant("binder-waits-for-ever", rule="DRA-252b")
def _(patch: Patch) -> None:
    """A device may take as long as it likes."""
    patch.replace("reference_impl.binding_conditions:seconds_left", lambda claim, now, timeout: timeout)


@mutant("impatient-binder", rule="DRA-252b")
def _(patch: Patch) -> None:
    """A device has a minute."""
    patch.wrap(
        "reference_impl.binding_conditions:seconds_left",
        lambda original: lambda claim, now, timeout: original(claim, now, timeout / 10),
    )
