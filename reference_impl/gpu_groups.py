"""GPU groups: the pods of a group share one GPU, which the group's reservation pod holds.

A BindRequest names the groups of its pod, and labels of the pod do so once it is bound. Pure functions.

Source: KAI-Scheduler 0.12.0 pkg/common/constants, pkg/scheduler/gpu_sharing; rules KAI-203 to KAI-214, KAI-381 to
KAI-388.
"""

from __future__ import annotations

from dra_api.objects import Obj, meta

GPU = "nvidia.com/gpu"
"""The extended resource of whole GPUs."""

GROUP_LABEL = "runai-gpu-group"
RESERVATION_APP = "kai-resource-reservation"
"""The label `app` of reservation pods."""


def groups_of(request: Obj) -> tuple[str, ...]:
    """Return the GPU groups of a BindRequest for a share of GPUs; empty for all others."""
    spec = request.get("spec") or {}
    if spec.get("receivedResourceType") != "Fraction":
        return ()
    return tuple(str(group) for group in spec.get("selectedGPUGroups") or ())


def groups_of_pod(pod: Obj) -> set[str]:
    """Return the GPU groups that the pod's labels name."""
    return set(group_labels(pod).values())


def group_labels(pod: Obj) -> dict[str, str]:
    """Return the labels of a pod that name its GPU groups."""
    labels: dict[str, str] = meta(pod).get("labels") or {}
    return {key: value for key, value in labels.items() if key == GROUP_LABEL or key.startswith(f"{GROUP_LABEL}/")}


def is_reservation(pod: Obj) -> bool:
    """Return whether a pod holds a GPU for its group."""
    return (meta(pod).get("labels") or {}).get("app") == RESERVATION_APP
