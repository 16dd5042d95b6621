"""The resize of a running pod: its containers get other CPU and memory, and keep their devices.

Pure functions. The kubelet *allocates* the resources of a spec that fits on the node. Until then the pod runs with the
earlier ones, which also count for the pods after it.

Source: k8s.io/kubernetes v1.37.2, pkg/kubelet/allocation (allocation_manager.go, handlePodResourcesResize); KEP-1287.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dra_api.objects import Obj

LISTS = ("initContainers", "containers")

Resources = Mapping[str, Mapping[str, Any]]
"""The resources of each container, by its name."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Why a resize is not done: it fits at another time (Deferred) or never (Infeasible)."""

    reason: Literal["Deferred", "Infeasible"]
    message: str


def resources_of(pod: Obj) -> Resources:
    """Return what the spec of a pod says."""
    return {one["name"]: one.get("resources") or {} for field in LISTS for one in pod["spec"].get(field) or ()}


def with_resources(pod: Obj, resources: Resources) -> Obj:
    """Return the pod with other resources of its containers."""
    spec = dict(pod["spec"])
    for field in LISTS:
        if field in spec:
            spec[field] = [{**one, "resources": resources.get(one["name"], {})} for one in spec[field]]
    return {**pod, "spec": spec}


def in_status(resources: Mapping[str, Any]) -> Obj:
    """Return the fields of a running container's status for its allocated resources."""
    found: Obj = {"resources": dict(resources)} if resources else {}
    if resources.get("requests"):
        found["allocatedResources"] = dict(resources["requests"])
    return found
