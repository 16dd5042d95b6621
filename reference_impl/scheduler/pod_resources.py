"""Requests of a pod for a node's cpu, memory, pods and device-plugin resources, and whether they fit.

Pure functions. Amounts are integers in thousandths. While the kubelet has not finished a resize, the largest of the
requests in the spec, of those that it has admitted and of those that the containers have counts.

Source: k8s.io/component-helpers resource.PodRequests and the NodeResourcesFit plugin (v0.37): overhead is on top of the
requests of the containers, or of those of the pod as a whole; rule DRA-860.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from dra_api.objects import Obj
from dra_api.pod_requests import added, larger, of_containers
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
    status = pod.get("status") or {}
    if own and (actual := status.get("resources")):
        held = larger(amounts(actual.get("requests")), amounts(status.get("allocatedResources")))
        own = held if is_resize_infeasible(pod) else larger(own, held)
    return {name: value for name, value in own.items() if name in _OF_PODS or name.startswith(_HUGE_PAGES)}


def containers_requests(pod: Obj) -> dict[str, int]:
    """Return the total requests of the containers of a pod."""
    spec, infeasible = pod.get("spec") or {}, is_resize_infeasible(pod)
    wanted = of_containers(spec, container_requests)
    statuses = _container_statuses(pod)
    if not statuses and not infeasible:
        return wanted

    def admitted(container: Mapping[str, Any]) -> dict[str, int]:
        held = statuses.get(str(container.get("name")), {}).get("allocatedResources")
        if held is not None:
            return amounts(held)
        return {} if infeasible else container_requests(container)

    def actual(container: Mapping[str, Any]) -> dict[str, int]:
        held = (statuses.get(str(container.get("name")), {}).get("resources") or {}).get("requests")
        return admitted(container) if held is None else amounts(held)

    held = larger(of_containers(spec, admitted), of_containers(spec, actual))
    return held if infeasible else larger(wanted, held)


def is_resize_infeasible(pod: Obj) -> bool:
    """Return whether the kubelet has refused the resize of a pod for good: its spec then has what no container gets."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "PodResizePending":
            return bool(condition.get("reason") == "Infeasible")
    return False


def _container_statuses(pod: Obj) -> dict[str, Obj]:
    status = pod.get("status") or {}
    return {
        str(one.get("name")): one
        for field in ("initContainerStatuses", "containerStatuses")
        for one in status.get(field) or ()
    }


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
