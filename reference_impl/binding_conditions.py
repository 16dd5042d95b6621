"""Binding conditions (KEP-5007): whether devices are ready, have failed, or exceed the timeout.

Pure functions over claims as the API server gives them; `status.devices` is written by drivers and their controllers.

Source: dynamicresources plugin of kube-scheduler, isClaimReadyForBinding and isClaimTimeout (v1.36); rules DRA-250 to
DRA-255. One deviation: a failure of any device counts at once; 1.36 does not look past the first that is not ready.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dra_api.allocations import results_of
from dra_api.clock import parse_timestamp
from dra_api.objects import Obj, name_of


def results_with_conditions(claim: Obj) -> Iterator[Obj]:
    """Return the allocation results of a claim that have binding conditions."""
    for result in results_of(claim):
        if result.get("bindingConditions"):
            yield result


def true_conditions(claim: Obj, result: Obj) -> dict[str, Obj]:
    """Return the conditions that `status.devices` reports as True for the device of a result, by type."""
    for reported in (claim.get("status") or {}).get("devices") or ():
        if all(reported.get(key) == result.get(key) for key in ("driver", "pool", "device", "shareID")):
            return {one["type"]: one for one in reported.get("conditions") or () if one.get("status") == "True"}
    return {}


def is_ready(claim: Obj) -> bool:
    """Return whether every binding condition of every device of the claim is True (DRA-250, DRA-255)."""
    return all(
        set(result["bindingConditions"]) <= true_conditions(claim, result).keys()
        for result in results_with_conditions(claim)
    )


def failure(claim: Obj) -> str:
    """Return the failure that a driver reports for a device of the claim; empty if there is none (DRA-251)."""
    for result in results_with_conditions(claim):
        held = true_conditions(claim, result)
        for kind in result.get("bindingFailureConditions") or ():
            if found := held.get(kind):
                reason, message = found.get("reason") or kind, found.get("message") or ""
                return f'device binding failed: claim={name_of(claim)}, reason={reason}, message="{message}"'
    return ""


def seconds_left(claim: Obj, now: datetime, timeout: float) -> float:
    """Return the seconds until an allocation is `timeout` seconds old; one without timestamp never expires."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    allocated = allocation.get("allocationTimestamp")
    if not allocated:
        return timeout
    return (parse_timestamp(allocated) + timedelta(seconds=timeout) - now).total_seconds()


def is_allocated(claim: Obj) -> bool:
    """Return whether the claim's status has an allocation."""
    return (claim.get("status") or {}).get("allocation") is not None


def given_up(claim: Obj, now: datetime, timeout: float) -> str:
    """Return the reason to deallocate the claim: a failure or a timeout; empty if there is none (DRA-251, DRA-252)."""
    if reason := failure(claim):
        return reason
    if not is_ready(claim) and seconds_left(claim, now, timeout) < 0:
        return f"device binding timeout: claim={name_of(claim)} was not ready within {timeout:g} s"
    return ""


@dataclass(frozen=True, slots=True)
class Progress:
    """Binding progress of the devices of a pod: ready, `lost` with the reason, or to be checked again in `seconds`."""

    lost: str = ""
    seconds: float = 0.0

    @property
    def waits(self) -> bool:
        """Return whether devices are pending."""
        return self.seconds > 0


def progress(claims: Sequence[Obj], now: datetime, timeout: float) -> Progress:
    """Return the binding progress of the devices of reserved claims (DRA-250 to DRA-252)."""
    if not all(map(is_allocated, claims)):
        return Progress(lost="a claim was deallocated while its devices were made ready")
    for claim in claims:
        if reason := given_up(claim, now, timeout):
            return Progress(lost=reason)
    if all(map(is_ready, claims)):
        return Progress()
    # A little more than is left, so that the timeout has passed at the next check.
    return Progress(seconds=max(0.0, min(seconds_left(claim, now, timeout) for claim in claims)) + 0.01)
