"""Devices that must be made ready before a pod is bound (KEP-5007): are they, have they failed, is it taking too long?

Pure functions over claims as the API server gives them; `status.devices` is written by drivers and their controllers.

Source: dynamicresources plugin of kube-scheduler, isClaimReadyForBinding and isClaimTimeout (v1.36); rules DRA-250 to
DRA-255. One deviation: a failure of any device counts at once; 1.36 does not look past the first that is not ready.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dra_api.clock import parse_timestamp
from dra_api.objects import Obj, name_of


def results_with_conditions(claim: Obj) -> Iterator[Obj]:
    """The allocation results of a claim that have binding conditions."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    for result in (allocation.get("devices") or {}).get("results") or ():
        if result.get("bindingConditions"):
            yield result


def true_conditions(claim: Obj, result: Obj) -> dict[str, Obj]:
    """The conditions that `status.devices` reports as True for the device of a result, by type."""
    for reported in (claim.get("status") or {}).get("devices") or ():
        if all(reported.get(key) == result.get(key) for key in ("driver", "pool", "device", "shareID")):
            return {one["type"]: one for one in reported.get("conditions") or () if one.get("status") == "True"}
    return {}


def is_ready(claim: Obj) -> bool:
    """Whether every binding condition of every device of the claim is True (DRA-250, DRA-255)."""
    return all(
        set(result["bindingConditions"]) <= true_conditions(claim, result).keys()
        for result in results_with_conditions(claim)
    )


def failure(claim: Obj) -> str:
    """What went wrong with a device of the claim, in words; empty where nothing did (DRA-251)."""
    for result in results_with_conditions(claim):
        held = true_conditions(claim, result)
        for kind in result.get("bindingFailureConditions") or ():
            if found := held.get(kind):
                reason, message = found.get("reason") or kind, found.get("message") or ""
                return f'device binding failed: claim={name_of(claim)}, reason={reason}, message="{message}"'
    return ""


def seconds_left(claim: Obj, now: datetime, timeout: float) -> float:
    """Seconds until the claim has been allocated for `timeout` seconds; an allocation without time never ends."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    allocated = allocation.get("allocationTimestamp")
    if not allocated:
        return timeout
    return (parse_timestamp(allocated) + timedelta(seconds=timeout) - now).total_seconds()


def is_allocated(claim: Obj) -> bool:
    """Whether the claim's status has an allocation."""
    return (claim.get("status") or {}).get("allocation") is not None


def given_up(claim: Obj, now: datetime, timeout: float) -> str:
    """Why the allocation must be given up, in words; empty where there is hope (DRA-251, DRA-252)."""
    if reason := failure(claim):
        return reason
    if not is_ready(claim) and seconds_left(claim, now, timeout) < 0:
        return f"device binding timeout: claim={name_of(claim)} was not ready within {timeout:g} s"
    return ""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the devices of a pod are: all ready, or `lost` in these words, or to be looked at in `seconds`."""

    lost: str = ""
    seconds: float = 0.0

    @property
    def waits(self) -> bool:
        """Whether there is hope, and something to wait for."""
        return self.seconds > 0


def progress(claims: Sequence[Obj], now: datetime, timeout: float) -> Progress:
    """How far the devices of reserved claims are (DRA-250 to DRA-252)."""
    if not all(map(is_allocated, claims)):
        return Progress(lost="a claim was deallocated while its devices were made ready")
    for claim in claims:
        if reason := given_up(claim, now, timeout):
            return Progress(lost=reason)
    if all(map(is_ready, claims)):
        return Progress()
    # A moment more than is left, so that the time is over when it is looked at again.
    return Progress(seconds=max(0.0, min(seconds_left(claim, now, timeout) for claim in claims)) + 0.01)
