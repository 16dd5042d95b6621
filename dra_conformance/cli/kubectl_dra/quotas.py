"""Quotas that keep the claims of a pod's templates from being created.

Pure functions. A claim counts as one object, and with its devices for each DeviceClass (`dra_api.claim_devices`).

Source: pkg/quota/v1/evaluator/core/resource_claims.go of k8s.io/kubernetes at v1.37.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dra_api.claim_devices import QUOTA, devices_by_class
from dra_api.objects import Obj, name_of, namespace_of
from dra_api.quantity import Quantity
from dra_conformance.oracle.dumps import Dump

COUNT = "count/resourceclaims.resource.k8s.io"


def obstacles(dump: Dump, pod: Obj) -> Iterator[str]:
    """Yield a sentence for each quota that has too little left for the claims that the pod still needs."""
    namespace = namespace_of(pod) or "default"
    needed = _needed(dump, pod, namespace)
    for quota in dump.of_kind("ResourceQuota") if needed else ():
        if (namespace_of(quota) or "default") != namespace:
            continue
        status = quota.get("status") or {}
        hard = status.get("hard") or (quota.get("spec") or {}).get("hard") or {}
        used = status.get("used") or {}
        for resource, amount in sorted(needed.items()):
            if resource not in hard:
                continue
            limit, taken = _number(hard[resource]), _number(used.get(resource, "0"))
            if taken + amount > limit:
                left = max(limit - taken, 0)
                text = f"{left} of {limit} left, and the claims of the pod need {amount}"
                yield f"quota {name_of(quota)}: {resource} has {text}"


def _needed(dump: Dump, pod: Obj, namespace: str) -> Counter[str]:
    """Return what the claims count that are still to be created from the pod's templates."""
    made = {entry.get("name") for entry in (pod.get("status") or {}).get("resourceClaimStatuses") or ()}
    wanted = [
        entry["resourceClaimTemplateName"]
        for entry in (pod.get("spec") or {}).get("resourceClaims") or ()
        if entry.get("resourceClaimTemplateName") and entry.get("name") not in made
    ]
    templates = {
        name_of(obj): obj
        for obj in dump.of_kind("ResourceClaimTemplate")
        if (namespace_of(obj) or "default") == namespace
    }
    needed: Counter[str] = Counter()
    for name in wanted:
        if name in templates:
            needed[COUNT] += 1
            devices = devices_by_class((templates[name].get("spec") or {}).get("spec") or {})
            needed += Counter({f"{class_name}{QUOTA}": number for class_name, number in devices.items()})
    return needed


def _number(text: object) -> int:
    """Return a quantity of a quota as a whole number."""
    return Quantity.parse(str(text)).scaled_value(0)
