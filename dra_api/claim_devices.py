"""How many devices a ResourceClaim can get of each DeviceClass: what ResourceQuotas charge for it.

Pure functions of the claim's spec.

Source: pkg/quota/v1/evaluator/core/resource_claims.go of k8s.io/kubernetes at v1.37.2; rules DRA-621 to DRA-623.
"""

from __future__ import annotations

from collections import Counter

from dra_api.objects import Obj

QUOTA = ".deviceclass.resource.k8s.io/devices"
"""What follows the name of a DeviceClass in the name of its resource in a quota."""
# A request for all devices gets as many as an allocation can have (AllocationResultsMaxSize), but no more.
_MOST_DEVICES = 32


def devices_by_class(spec: Obj) -> Counter[str]:
    """Return the most devices that a claim with this spec can get, by the name of the class.

    Of alternatives, the largest number of each class counts.
    """
    found: Counter[str] = Counter()
    for request in (spec.get("devices") or {}).get("requests") or ():
        largest: Counter[str] = Counter()
        for option in request.get("firstAvailable") or [request.get("exactly") or {}]:
            largest |= Counter({str(option.get("deviceClassName")): _devices(option)})
        found += largest
    return found


def _devices(option: Obj) -> int:
    # A count that is not set is stored as 1 by the API server.
    return _MOST_DEVICES if option.get("allocationMode") == "All" else int(option.get("count") or 1)
