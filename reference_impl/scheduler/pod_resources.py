"""Requests of a pod for a node's cpu, memory, pods and device-plugin resources, and whether they fit.

Pure functions. Amounts are integers in thousandths.

Source: k8s.io/component-helpers resource.PodRequests and the NodeResourcesFit plugin (v0.36): overhead is on top of the
requests of the containers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from dra_api.objects import Obj
from dra_api.pod_requests import added, of_containers
from dra_api.quantity import Quantity

Amounts: TypeAlias = Mapping[str, int]


def amounts(quantities: Mapping[str, object] | None) -> dict[str, int]:
    """Return a v1.ResourceList in thousandths."""
    return {name: Quantity.parse(str(value)).milli_value for name, value in (quantities or {}).items()}


def container_requests(container: Mapping[str, Any]) -> dict[str, int]:
    """Return requests of one container; a limit without a request counts as one."""
    resources = container.get("resources") or {}
    return {**amounts(resources.get("limits")), **amounts(resources.get("requests"))}


def pod_requests(pod: Obj) -> dict[str, int]:
    """Return the total requests of a pod with its overhead, and with one of `pods`."""
    spec = pod.get("spec") or {}
    total = added(of_containers(spec, container_requests), amounts(spec.get("overhead")))
    return {**total, "pods": 1000}


def insufficient(asked: Amounts, used: Amounts, allocatable: Amounts) -> str:
    """Return the first requested resource that does not fit, or an empty string."""
    for name, value in asked.items():
        if value and used.get(name, 0) + value > allocatable.get(name, 0):
            return name
    return ""
