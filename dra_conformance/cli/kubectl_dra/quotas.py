"""Quotas that keep claims of a pod from being created: those of its templates, and that of its extended resources.

Pure functions. A claim counts as one object, and with its devices for each DeviceClass (`dra_api.claim_devices`) and
for the extended resources that the class provides, less what its pod is charged for.

Source: pkg/quota/v1/evaluator/core/resource_claims.go of k8s.io/kubernetes at v1.37.2; rules DRA-620 to DRA-627.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dra_api.claim_devices import QUOTA, devices_by_class
from dra_api.objects import Obj, name_of, namespace_of
from dra_api.quantity import Quantity
from dra_conformance.oracle.dumps import Dump
from reference_impl.scheduler.extended_resources import IMPLICIT
from reference_impl.scheduler.pod_resources import pod_requests

_REQUESTS = "requests."
COUNT = "count/resourceclaims.resource.k8s.io"


def obstacles(dump: Dump, pod: Obj, extended: Obj | None = None) -> Iterator[str]:
    """Yield a sentence for each quota that has too little left for the claims that the pod still needs.

    `extended` is the spec of the claim that a scheduler will create for extended resources of the pod.
    """
    namespace = namespace_of(pod) or "default"
    needed = _needed(dump, pod, namespace)
    if extended is not None:
        charged = {f"{_REQUESTS}{name}": value // 1000 for name, value in pod_requests(pod).items()}
        needed += Counter({COUNT: 1}) + (_charges(dump, extended) - Counter(charged))
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
            needed += Counter({COUNT: 1}) + _charges(dump, (templates[name].get("spec") or {}).get("spec") or {})
    return needed


def _charges(dump: Dump, spec: Obj) -> Counter[str]:
    """Return what the devices of a claim are charged to, without regard to what its pod is charged for."""
    extended = {
        name_of(each): (each.get("spec") or {}).get("extendedResourceName") for each in dump.of_kind("DeviceClass")
    }
    found: Counter[str] = Counter()
    for class_name, number in devices_by_class(spec).items():
        names = {f"{class_name}{QUOTA}", f"{_REQUESTS}{IMPLICIT}{class_name}"}
        if resource := extended.get(class_name):
            names.add(f"{_REQUESTS}{resource}")
        found += Counter(dict.fromkeys(names, number))
    return found


def _number(text: object) -> int:
    """Return a quantity of a quota as a whole number."""
    return Quantity.parse(str(text)).scaled_value(0)
