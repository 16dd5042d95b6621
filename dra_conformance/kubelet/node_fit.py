"""Whether a pod has room on its node: CPU and memory, which the kubelet compares when the pod has its devices.

Pure functions. CPU is in thousandths, memory in bytes.

Source: k8s.io/kubernetes v1.37.2, pkg/kubelet/lifecycle/predicate.go (Admit, generalFilter).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dra_api.objects import Obj
from dra_api.pod_requests import added, of_containers
from dra_api.quantity import Quantity
from dra_conformance.kubelet.errors import AdmissionRefused

COMPARED = ("cpu", "memory")
"""The resources that are compared. Devices are the device manager's."""


def needs(pod: Obj) -> dict[str, int]:
    """Return what a pod requests with its overhead; without the resources that it does not request."""
    spec = pod["spec"]
    total = added(of_containers(spec, _requests), _amounts(spec.get("overhead")))
    return {name: amount for name, amount in total.items() if amount}


def check(pod: Obj, *, others: Iterable[Obj], allocatable: Mapping[str, Any]) -> None:
    """Compare a pod's requests with what other pods leave. Raises AdmissionRefused (rule DP-061)."""
    used = [needs(one) for one in others]
    for resource, need in needs(pod).items():
        taken = sum(one.get(resource, 0) for one in used)
        capacity = _amount(resource, allocatable.get(resource, "0"))
        if taken + need > capacity:
            raise AdmissionRefused(
                f"OutOf{resource}",
                f"Node didn't have enough resource: {resource}, requested: {need}, used: {taken}, capacity: {capacity}",
            )


def pod_total(spec: Mapping[str, Any], amounts: Mapping[str, int]) -> int:
    """Return how much a pod has at one time, of the amounts by container (rule DP-096)."""
    return of_containers(spec, lambda one: {"": amounts.get(one["name"], 0)}).get("", 0)


def _requests(container: Mapping[str, Any]) -> dict[str, int]:
    return _amounts((container.get("resources") or {}).get("requests"))


def _amounts(quantities: Mapping[str, Any] | None) -> dict[str, int]:
    wanted = quantities or {}
    return {name: _amount(name, wanted[name]) for name in COMPARED if name in wanted}


def _amount(resource: str, text: object) -> int:
    """Return CPU in thousandths and memory in bytes."""
    quantity = Quantity.parse(str(text))
    return quantity.milli_value if resource == "cpu" else quantity.value
