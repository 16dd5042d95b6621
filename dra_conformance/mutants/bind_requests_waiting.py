"""Faults in how the binder waits for binding conditions (KEP-5007); for bind_requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.binder.extended import is_extended_resource_claim


@mutant("binder-does-not-await-conditions", rule="DRA-250b")
def _(patch: Patch) -> None:
    """The binder does not wait for binding conditions."""
    patch.replace("reference_impl.binder.devices:needs_work", lambda claim: False)


@mutant("binder-omits-allocation-timestamp", rule="DRA-250b")
def _(patch: Patch) -> None:
    """The claim has no allocationTimestamp."""
    patch.replace("reference_impl.binder.claims:ClaimWriter._with_time", lambda self, allocation: allocation)


@mutant("binder-checks-conditions-at-timeout-only", rule="DRA-250b")
def _(patch: Patch) -> None:
    """The binder checks the conditions only at the timeout."""
    patch.replace("reference_impl.binder.devices:DeviceWaits.on_claim", lambda self, change: None)


@mutant("binder-waits-for-failed-devices", rule="DRA-251b")
def _(patch: Patch) -> None:
    """A failure condition is ignored."""
    patch.replace("reference_impl.binding_conditions:failure", lambda claim: "")


@mutant("binder-keeps-allocation-after-failure", rule="DRA-251b")
def _(patch: Patch) -> None:
    """A BindRequest that failed finally leaves its claim allocated."""
    patch.replace("reference_impl.binder.reconcile:Binder.roll_back", lambda self, request, pod: "")


@mutant("binder-without-binding-timeout", rule="DRA-252b")
def _(patch: Patch) -> None:
    """There is no binding timeout."""
    patch.replace("reference_impl.binding_conditions:seconds_left", lambda claim, now, timeout: timeout)


@mutant("binder-timeout-of-one-minute", rule="DRA-252b")
def _(patch: Patch) -> None:
    """The binding timeout is one minute."""
    patch.wrap(
        "reference_impl.binding_conditions:seconds_left",
        # kube-scheduler's default is ten minutes.
        lambda original: lambda claim, now, timeout: original(claim, now, timeout / 10),
    )


@mutant("binder-wakes-the-first-consumer", rule="DRA-250b")
def _(patch: Patch) -> None:
    """Of the pods that wait for a device, only the first one tries again when it is ready."""

    def wrapped(original: Any) -> Any:
        def on_claim(self: Any, change: Any) -> None:
            status = change.object.get("status") or {}
            first = {**status, "reservedFor": (status.get("reservedFor") or [])[:1]}
            original(self, replace(change, object={**change.object, "status": first}))

        return on_claim

    patch.wrap("reference_impl.binder.devices:DeviceWaits.on_claim", wrapped)


@mutant(
    "binder-does-not-await-extended-resources",
    rule="DRA-250b",
    scenario="bind_requests/binder_waits#a-pod-with-extended-resources-is-bound-once-their-device-is-ready",
)
def _(patch: Patch) -> None:
    """The binder does not wait for the devices of extended resources."""

    def wrapped(original: Any) -> Any:
        def require_ready(self: Any, pod: Any, claims: Any) -> None:
            original(self, pod, [claim for claim in claims if not is_extended_resource_claim(claim)])

        return require_ready

    patch.wrap("reference_impl.binder.devices:DeviceWaits.require_ready", wrapped)
