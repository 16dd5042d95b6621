"""Access to the allocation of a ResourceClaim as the API has it: plain dicts, of which any level may be absent."""

from __future__ import annotations

from dra_api.objects import Obj


def results_of_allocation(allocation: Obj | None) -> list[Obj]:
    """Return the device results of an allocation; empty for None."""
    return list(((allocation or {}).get("devices") or {}).get("results") or ())


def results_of_status(status: Obj | None) -> list[Obj]:
    """Return the device results in the status of a claim; empty if the claim is not allocated."""
    return results_of_allocation((status or {}).get("allocation"))


def results_of(claim: Obj | None) -> list[Obj]:
    """Return the device results of a claim; empty for None and for a claim that is not allocated."""
    return results_of_status((claim or {}).get("status"))
