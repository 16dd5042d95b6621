"""States in sentences which devices a node must have for claims: what a new node must publish in its ResourceSlices."""

from __future__ import annotations

from collections.abc import Sequence

from dra_conformance.core.plain_text import one_line
from dra_conformance.oracle.cluster import Cluster
from dra_conformance.oracle.device_requests import amount, show
from dra_conformance.oracle.schema import Claim, Constraint, ExactDeviceRequest, Toleration


def needed(cluster: Cluster, claims: Sequence[Claim]) -> list[str]:
    """Return one sentence for each request and each constraint of the claims, which are not allocated."""
    found: list[str] = []
    for claim in claims:
        for device_request in claim.spec.devices.requests:
            choices = [_devices(cluster, request) for _, request in device_request.alternatives]
            lead = f"claim {claim.title}, request {device_request.name}: "
            found.append(lead + (choices[0] if len(choices) == 1 else f"one of: {'; or '.join(choices)}"))
        found += [
            f"claim {claim.title}: {_together(constraint)}"
            for constraint in claim.spec.devices.constraints
            if constraint.match_attribute or constraint.distinct_attribute
        ]
    return found


def _devices(cluster: Cluster, request: ExactDeviceRequest) -> str:
    device_class = cluster.classes_by_name.get(request.device_class_name)
    if device_class is None:
        return f"no device can be enough: the DeviceClass {request.device_class_name} does not exist"
    if request.all_devices:
        lead = "at least 1 device, and no other that cannot be allocated"
    else:
        lead = f"{request.count} device{'s' if request.count > 1 else ''}"
    expressions = [
        one_line(selector.cel.expression)
        for selector in (*device_class.spec.selectors, *request.selectors)
        if selector.cel is not None
    ]
    parts = [f"of DeviceClass {request.device_class_name}"]
    if expressions:
        parts.append(f"for which {' and '.join(expressions)}")
    parts += [
        f"with capacity {name} of at least {show(amount(quantity))}"
        for name, quantity in request.capacity.requests.items()
    ]
    tolerated = ", ".join(map(_taint, request.tolerations))
    parts.append(f"without taints other than {tolerated}" if tolerated else "without taints")
    if request.admin_access:
        parts.append("(admin access: they may be in use)")
    return f"{lead} {', '.join(parts)}"


def _taint(toleration: Toleration) -> str:
    value = f"={toleration.value}" if toleration.value else ""
    return f"{toleration.key or 'any key'}{value}{f':{toleration.effect}' if toleration.effect else ''}"


def _together(constraint: Constraint) -> str:
    requests = f"the devices of requests {', '.join(constraint.requests)}" if constraint.requests else "all its devices"
    if constraint.match_attribute:
        return f"{requests} have the same value of attribute {constraint.match_attribute}"
    return f"{requests} have different values of attribute {constraint.distinct_attribute}"
