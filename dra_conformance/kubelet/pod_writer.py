"""Writes pod status and Warning events, each once. Writes nothing after `quiet` is set."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from dra_api.client import Conflict, KubeClient, NotFound
from dra_api.clock import Clock, timestamp
from dra_api.objects import EVENTS, PODS, Obj, name_of, namespace_of, uid_of
from dra_conformance.core.events import KubeletPod, KubeletProblem
from dra_conformance.kubelet.record import Record


@dataclass(slots=True)
class WrittenStatus:
    """The last status and events written for one pod; owned by the worker that handles the pod."""

    event: str = ""
    status: Obj = field(default_factory=dict)


class PodWriter:
    """Writes status and events of pods.

    Args:
        node: the source of events.
        stored: called with each pod as stored.
        quiet: if set, nothing is written any more.
    """

    def __init__(
        self,
        client: KubeClient,
        *,
        clock: Clock,
        node: str,
        record: Record,
        stored: Callable[[Obj], None],
        quiet: threading.Event,
    ) -> None:
        self._client = client
        self._clock = clock
        self._node = node
        self._record = record
        self._stored = stored
        self._quiet = quiet

    def write(self, pod: Obj, written: WrittenStatus, status: Obj) -> None:
        """Write a pod's status if it changed. Raises ApiError."""
        if self._quiet.is_set() or _without_times(status) == _without_times(written.status):
            return
        # Addresses are lists with a merge key: without the directive the old address would stay.
        whole: Obj = {key: [{"$patch": "replace"}, *status[key]] for key in ("podIPs", "hostIPs") if key in status}
        patch = {"metadata": {"uid": uid_of(pod)}, "status": {**status, **whole}}
        try:
            stored = self._client.patch(
                PODS, name_of(pod), patch, namespace_of(pod), kind="strategic", subresource="status"
            )
        except (NotFound, Conflict):
            return  # deleted or replaced meanwhile: the informer reports it
        written.status = status
        self._stored(stored)
        self._record(KubeletPod(step="status", pod=where(pod), uid=uid_of(pod), phase=status["phase"]))

    def record_event(self, pod: Obj, written: WrittenStatus, reason: str, message: str) -> None:
        """Record a Warning event about a pod, unless it was the last one."""
        if self._quiet.is_set() or written.event == message:
            return
        self._record(KubeletProblem(about="pod", pod=where(pod), uid=uid_of(pod), reason=reason, message=message))
        now = timestamp(self._clock.now())
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{name_of(pod)}.", "namespace": namespace_of(pod)},
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": name_of(pod),
                "namespace": namespace_of(pod),
                "uid": uid_of(pod),
            },
            "type": "Warning",
            "reason": reason,
            "message": message,
            "source": {"component": "kubelet", "host": self._node},
            "reportingComponent": "kubelet",
            "reportingInstance": self._node,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        self._client.create(EVENTS, event)
        written.event = message


def where(pod: Obj) -> str:
    """Namespace and name, as logs show a pod."""
    return f"{namespace_of(pod)}/{name_of(pod)}"


def _without_times(status: Obj) -> Obj:
    # New times alone are no reason for a write, which would wake the pod's worker again.
    conditions = [{k: v for k, v in c.items() if k != "lastTransitionTime"} for c in status.get("conditions") or ()]
    return {**status, "conditions": conditions, "startTime": ""}
