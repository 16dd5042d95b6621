"""Requests of a pod for a node's cpu, memory, pods and device-plugin resources, and whether they fit.

Pure functions. Amounts are integers in thousandths.

Source: k8s.io/component-helpers resource.PodRequests and the NodeResourcesFit plugin (v0.36): overhead is on top of the
requests of the containers, or of those of the pod as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from dra_api.objects import Obj
from dra_api.pod_requests import added, of_containers
from dra_api.quantity import Quantity

Amounts: TypeAlias = Mapping[str, int]

_OF_PODS = ("cpu", "memory")
_HUGE_PAGES = "hugepages-"


def amounts(quantities: Mapping[str, object] | None) -> dict[str, int]:
    """Return a v1.ResourceList in thousandths."""
    return {name: Quantity.parse(str(value)).milli_value for name, value in (quantities or {}).items()}


def container_requests(container: Mapping[str, Any]) -> dict[str, int]:
    """Return requests of one container; a limit without a request counts as one."""
    resources = container.get("resources") or {}
    return {**amounts(resources.get("limits")), **amounts(resources.get("requests"))}


def own_requests(pod: Obj) -> dict[str, int]:
    """Return the requests of a pod as a whole (`spec.resources`), which count in the place of its containers'."""
    own = amounts(((pod.get("spec") or {}).get("resources") or {}).get("requests"))
    return {name: value for name, value in own.items() if name in _OF_PODS or name.startswith(_HUGE_PAGES)}


def containers_requests(pod: Obj) -> dict[str, int]:
    """Return the total requests of the containers of a pod."""
    return of_containers(pod.get("spec") or {}, container_requests)


def pod_requests(pod: Obj) -> dict[str, int]:
    """Return the total requests of a pod with its overhead, and with one of `pods`."""
    total = {**containers_requests(pod), **own_requests(pod)}
    return {**added(total, amounts((pod.get("spec") or {}).get("overhead"))), "pods": 1000}


def insufficient(asked: Amounts, used: Amounts, allocatable: Amounts) -> str:
    """Return the first requested resource that does not fit, or an empty string."""
    for name, value in asked.items():
        if value and used.get(name, 0) + value > allocatable.get(name, 0):
            return name
    return ""
