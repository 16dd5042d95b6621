"""Writes of the binder to a Pod: the binding with its annotations, the condition PodBound.

Pods belong to the API server; every write carries the pod's uid, so that a pod recreated under the same name is never
changed. Annotations travel in the Binding: the API server copies them to the pod in the write that sets its node, so
no pod is bound without them (KAI-183) and it costs no write of its own; KAI patches the pod first.

Source: KAI-Scheduler 0.17 pkg/binder/binding/binder.go and controllers/bindrequest_controller.go.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from dra_api.client import KubeClient
from dra_api.clock import Clock, timestamp
from dra_api.objects import PODS, Obj, name_of, namespace_of, uid_of

RECEIVED_RESOURCE_TYPE = "received-resource-type"
NUMA_PREDICTED = "kai.scheduler/numa-placement-predicted"
POD_BOUND = "PodBound"


def node_of(pod: Obj) -> str:
    """Return the node that the pod is bound to, or an empty string."""
    return str(pod.get("spec", {}).get("nodeName") or "")


def is_finished(pod: Obj) -> bool:
    """Return whether the pod's phase is terminal."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def is_running(pod: Obj) -> bool:
    """Return whether the pod's phase is Running."""
    return bool(pod.get("status", {}).get("phase") == "Running")


def annotations_for(request: Obj) -> dict[str, str]:
    """Return the annotations that the pod gets with its binding (KAI-101, KAI-102)."""
    spec = request.get("spec") or {}
    wanted = {RECEIVED_RESOURCE_TYPE: str(spec.get("receivedResourceType") or "")}
    if zones := spec.get("predictedNUMAZones"):
        wanted[NUMA_PREDICTED] = orjson.dumps(zones).decode()
    return wanted


class PodWriter:
    """Writes to pods."""

    def __init__(self, client: KubeClient, *, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    def bind(self, pod: Obj, node: str, annotations: Mapping[str, str]) -> None:
        """Annotate and bind the pod of this uid (KAI-139). Raises Conflict if it is bound already."""
        self._client.bind(pod, node, annotations=annotations)

    def set_bound_condition(self, pod: Obj, *, status: str, reason: str, message: str) -> None:
        """Set the condition PodBound; its time changes with its status only."""
        held: Obj = next((c for c in pod.get("status", {}).get("conditions") or () if c.get("type") == POD_BOUND), {})
        changed = held.get("status") != status
        condition = {
            "type": POD_BOUND,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": timestamp(self._clock.now()) if changed else held.get("lastTransitionTime"),
        }
        patch = {"metadata": {"uid": uid_of(pod)}, "status": {"conditions": [condition]}}
        self._client.patch(PODS, name_of(pod), patch, namespace_of(pod), kind="strategic", subresource="status")
