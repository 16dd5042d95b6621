"""Faults of a scheduler that binds pods itself: claims, binding conditions and failed bindings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from dra_api.clock import parse_timestamp, timestamp
from dra_api.objects import key_of
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.binding_conditions import results_with_conditions, true_conditions
from reference_impl.scheduler.allocator.model import Features

Obj = dict[str, Any]

_SCHEDULER = "reference_impl.scheduler"
_CONDITIONS = "reference_impl.binding_conditions"
_ALLOCATOR = f"{_SCHEDULER}.allocator"


def _results(patch: Patch, change: Callable[[Obj], None]) -> None:
    """Change the allocation results that the scheduler writes."""

    def make(original: Callable[..., Obj]) -> Callable[..., Obj]:
        def device_result(*args: Any, **more: Any) -> Obj:
            result = original(*args, **more)
            change(result)
            return result

        return device_result

    patch.wrap(f"{_ALLOCATOR}.results:device_result", make)


@mutant("allocations-have-an-old-time", rule="DRA-129")
def _(patch: Patch) -> None:
    """The allocationTimestamp is five minutes before the time of the allocation."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def update_status(self: Any, res: Any, obj: Obj) -> Any:
            allocation = (obj.get("status") or {}).get("allocation") or {}
            if written := allocation.get("allocationTimestamp"):
                # Within the binding timeout of ten minutes, after which the claim would be deallocated.
                allocation["allocationTimestamp"] = timestamp(parse_timestamp(written) - timedelta(minutes=5))
            return original(self, res, obj)

        return update_status

    patch.wrap("dra_api.client:KubeClient.update_status", make)


@mutant("allocations-have-no-time", rule="DRA-129")
def _(patch: Patch) -> None:
    """An allocation has no allocationTimestamp."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def update_status(self: Any, res: Any, obj: Obj) -> Any:
            ((obj.get("status") or {}).get("allocation") or {}).pop("allocationTimestamp", None)
            return original(self, res, obj)

        return update_status

    patch.wrap("dra_api.client:KubeClient.update_status", make)


@mutant("unusable-allocation-kept", rule="DRA-131")
def _(patch: Patch) -> None:
    """An allocation that fits no node is never removed."""
    patch.replace(f"{_SCHEDULER}.publish:DirectPublisher.deallocate", lambda self, claim, pod: False)


@mutant("only-the-first-unusable-allocation", rule="DRA-131")
def _(patch: Patch) -> None:
    """If the first allocation that fits no node is in use, the second is kept as well."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        return lambda self, claim, pod: original(self, claim, pod) or True

    patch.wrap(f"{_SCHEDULER}.publish:DirectPublisher.deallocate", make)


@mutant("reserved-allocation-replaced", rule="DRA-132")
def _(patch: Patch) -> None:
    """An allocation that fits no node is replaced even if it is reserved."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def deallocate(self: Any, claim: Obj, pod: Obj) -> bool:
            # Without reservedFor the claim looks unused.
            status = {key: value for key, value in claim["status"].items() if key != "reservedFor"}
            return original(self, {**claim, "status": status}, pod)

        return deallocate

    patch.wrap(f"{_SCHEDULER}.publish:DirectPublisher.deallocate", make)


@mutant("reservation-kept", rule="DRA-139")
def _(patch: Patch) -> None:
    """A pod that cannot be bound stays in reservedFor."""
    patch.replace(f"{_SCHEDULER}.publish:DirectPublisher.give_back", lambda self, decision: None)


@mutant("binding-conditions-not-awaited", rule="DRA-250")
def _(patch: Patch) -> None:
    """The scheduler does not wait for binding conditions."""
    patch.replace(f"{_CONDITIONS}:is_ready", lambda claim: True)


@mutant("devices-of-extended-resources-not-awaited", rule="DRA-250")
def _(patch: Patch) -> None:
    """The scheduler does not wait for the devices behind extended resources."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def must_wait(self: Any) -> bool:
            return original(self) and self.extended is None

        return must_wait

    patch.wrap(f"{_SCHEDULER}.cycle:Decision.has_binding_conditions", make)


@mutant("devices-of-extended-resources-not-awaited-beside-a-claim", rule="DRA-250")
def _(patch: Patch) -> None:
    """While a pod waits, the claim of its extended resources is looked at only if it has no other claim."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, decision: original(self, decision)[: len(decision.entries) or 1]

    patch.wrap("reference_impl.scheduler.publish:DirectPublisher.claims_of", make)


@mutant("failure-conditions-not-copied", rule="DRA-250")
def _(patch: Patch) -> None:
    """The allocation has no bindingFailureConditions."""
    _results(patch, lambda result: result.pop("bindingFailureConditions", None))


@mutant("binding-failure-conditions-ignored", rule="DRA-251")
def _(patch: Patch) -> None:
    """The scheduler waits although a device has failed."""
    patch.replace(f"{_CONDITIONS}:failure", lambda claim: "")


@mutant("binding-timeout-missing", rule="DRA-252")
def _(patch: Patch) -> None:
    """There is no binding timeout."""
    patch.replace(f"{_CONDITIONS}:seconds_left", lambda claim, now, timeout: timeout)


@mutant("binding-timeout-of-one-minute", rule="DRA-252")
def _(patch: Patch) -> None:
    """The binding timeout is one minute."""
    # kube-scheduler's default is ten minutes.
    patch.wrap(
        f"{_CONDITIONS}:seconds_left", lambda original: lambda claim, now, timeout: original(claim, now, timeout / 10)
    )


@mutant("timeout-of-an-allocation-without-timestamp", rule="DRA-252c")
def _(patch: Patch) -> None:
    """An allocation without timestamp has exceeded the timeout."""

    def make(original: Callable[..., float]) -> Callable[..., float]:
        def seconds_left(claim: Obj, now: Any, timeout: float) -> float:
            allocated = ((claim.get("status") or {}).get("allocation") or {}).get("allocationTimestamp")
            return original(claim, now, timeout) if allocated else -1.0

        return seconds_left

    patch.wrap(f"{_CONDITIONS}:seconds_left", make)


@mutant("one-of-two-waiting-pods-is-woken", rule="DRA-250")
def _(patch: Patch) -> None:
    """Of the pods that wait for the device of a claim, only the first is looked at when the claim changes."""

    def claim_changed(self: Any, claim: tuple[str, str]) -> None:
        with self._lock:
            for pod, decision in self._getting_ready.items():
                if any(key_of(entry.claim) == claim for entry, _ in decision.entries):
                    self._writers.queue.add(pod)
                    return

    patch.replace(f"{_SCHEDULER}.binding_queue:BindingQueue.claim_changed", claim_changed)


@mutant("timestamp-added-with-the-reservation", rule="DRA-726")
def _(patch: Patch) -> None:
    """The scheduler adds the missing time to an allocation that it reserves."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def write(self: Any, current: Obj, allocation: Obj, pod: Obj) -> None:
            stored = (current.get("status") or {}).get("allocation")
            if stored and "allocationTimestamp" not in stored:
                timed = {**stored, "allocationTimestamp": timestamp(self._clock.now())}
                current = {**current, "status": {**current["status"], "allocation": timed}}
            original(self, current, allocation, pod)

        return write

    patch.wrap(f"{_SCHEDULER}.publish:DirectPublisher._write", make)


@mutant("no-event-for-pending-conditions", rule="DRA-253")
def _(patch: Patch) -> None:
    """There is no event BindingConditionsPending while a pod waits for its devices."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def event(self: Any, regarding: Obj, kind: str, reason: str, message: str, **more: Any) -> None:
            if reason != "BindingConditionsPending":
                original(self, regarding, kind, reason, message, **more)

        return event

    patch.wrap("reference_impl.recorder:EventRecorder.event", make)


@mutant("binds-to-node-ignored", rule="DRA-254")
def _(patch: Patch) -> None:
    """bindsToNode is ignored."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def node_selector(devices: Any, node: Any) -> Any:
            return original([replace(device, binds_to_node=False) for device in devices], node)

        return node_selector

    patch.wrap(f"{_ALLOCATOR}.results:node_selector", make)


@mutant("one-condition-is-enough", rule="DRA-255")
def _(patch: Patch) -> None:
    """A device is ready when one of its conditions is True."""
    patch.replace(
        f"{_CONDITIONS}:is_ready",
        lambda claim: all(
            result["bindingConditions"][-1] in true_conditions(claim, result)
            for result in results_with_conditions(claim)
        ),
    )


@mutant("binding-conditions-gate-ignored", rule="DRA-256")
def _(patch: Patch) -> None:
    """Devices with binding conditions are allocated with the feature gate off."""
    patch.replace(f"{_SCHEDULER}.options:features_of", lambda gates: Features())


@mutant("partitions-gate-ignored", rule="DRA-199")
def _(patch: Patch) -> None:
    """Partitions are allocated with the feature gate off."""
    patch.replace(f"{_SCHEDULER}.options:features_of", lambda gates: Features())


@mutant("claim-owner-not-checked", rule="DRA-106")
def _(patch: Patch) -> None:
    """The owner of a claim is not checked."""
    patch.replace(f"{_SCHEDULER}.pod_claims:belongs_to", lambda claim, pod: True)


@mutant("conditions-of-any-share", rule="DRA-255")
def _(patch: Patch) -> None:
    """Conditions that one share of a device reports count for its other shares."""

    def make(original: Any) -> Any:
        def conditions(claim: Any, result: Any) -> Any:
            found = original(claim, result)
            for other in (claim.get("status") or {}).get("devices") or ():
                if all(other.get(key) == result.get(key) for key in ("driver", "pool", "device")):
                    found = {**original(claim, other), **found}
            return found

        return conditions

    patch.wrap(f"{_CONDITIONS}:true_conditions", make)
