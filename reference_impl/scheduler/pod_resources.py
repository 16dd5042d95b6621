"""Requests of a pod for a node's cpu, memory, pods and device-plugin resources, and whether they fit.

Pure functions. Amounts are integers in thousandths.

Source: k8s.io/component-helpers resource.PodRequests and the NodeResourcesFit plugin (v0.36): containers and sidecars
add up, an init container counts if it needs more, overhead is on top.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from dra_api.objects import Obj
from dra_api.quantity import Quantity

Amounts: TypeAlias = Mapping[str, int]


def amounts(quantities: Mapping[str, object] | None) -> dict[str, int]:
    """Return a v1.ResourceList in thousandths."""
    return {name: Quantity.parse(str(value)).milli_value for name, value in (quantities or {}).items()}


def container_requests(container: Obj) -> dict[str, int]:
    """Return requests of one container; a limit without a request counts as one."""
    resources = container.get("resources") or {}
    return {**amounts(resources.get("limits")), **amounts(resources.get("requests"))}


def pod_requests(pod: Obj) -> dict[str, int]:
    """Return the total requests of a pod, with one of `pods`."""
    spec = pod.get("spec") or {}
    total = added(container_requests(container) for container in spec.get("containers") or ())
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        asked = container_requests(container)
        if container.get("restartPolicy") == "Always":
            sidecars = added((sidecars, asked))
            peak = larger(peak, sidecars)
        else:
            peak = larger(peak, added((sidecars, asked)))
    total = larger(added((total, sidecars)), peak)
    total = added((total, amounts(spec.get("overhead"))))
    total["pods"] = 1000
    return total


def added(parts: Iterable[Amounts]) -> dict[str, int]:
    """Return the sum of several."""
    total: dict[str, int] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, 0) + value
    return total


def larger(one: Amounts, other: Amounts) -> dict[str, int]:
    """Return the larger of two, resource by resource."""
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {*one, *other}}


def insufficient(asked: Amounts, used: Amounts, allocatable: Amounts) -> str:
    """Return the first requested resource that does not fit, or an empty string."""
    for name, value in asked.items():
        if value and used.get(name, 0) + value > allocatable.get(name, 0):
            return name
    return ""
