"""Reservation pods: each holds one whole GPU of a node for the pods of one GPU group.

A program in the reservation pod writes the index of the GPU that the device plugin gave it into an annotation. No
worker blocks: an attempt ends with `DevicesPending`, and the pod is reconciled again when the annotation appears or the
timeout has passed. The time is counted from the first look at the reservation pod, so a restart begins it anew.

Differences from KAI 0.12.0 (pkg/binder/binding/resourcereservation/resource_reservation.go), which are those of 0.17:

- The name follows from node and group, so that two attempts cannot reserve two GPUs for one group (KAI-203).
- A BindRequest that can still use a reservation keeps it (KAI-210).

Two more differences: all groups are reserved before the pod gets its labels, in one write, and a reservation on another
node is a failure, because an index means nothing there.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping

from dra_api.client import AlreadyExists, Conflict, KubeClient, NotFound
from dra_api.clock import Clock
from dra_api.informer import Change
from dra_api.objects import BIND_REQUESTS, PODS, Obj, key_of, meta, name_of, namespace_of, uid_of
from reference_impl import gpu_groups
from reference_impl.binder import fractions, pods
from reference_impl.binder.failure import BindFailure, DevicesPending
from reference_impl.binder.fractions import INDEX_ANNOTATION, PodShare
from reference_impl.binder.options import BinderOptions
from reference_impl.gpu_groups import GPU, GROUP_LABEL

Key = tuple[str, str]

IMAGE = "registry/local/kai-scheduler/resource-reservation"

_TERMINATING = 1.0  # seconds between looks at a reservation pod that is being deleted


class Reservations:
    """Creates and deletes reservation pods. `wake` queues a pod again, `sync` a group.

    The lock makes a decision to delete a reservation and its use by an attempt exclude each other.
    """

    def __init__(
        self,
        client: KubeClient,
        *,
        options: BinderOptions,
        clock: Clock,
        wake: Callable[[Key], None],
        sync: Callable[[str], None],
    ) -> None:
        self.namespace = options.reservation_namespace
        self._client = client
        self._options = options
        self._clock = clock
        self._wake = wake
        self._sync = sync
        self._lock = threading.Lock()
        self._waiting: dict[Key, PodShare] = {}
        self._since: dict[str, float] = {}

    def reserve(self, pod: Obj, node: str, share: PodShare) -> tuple[str, ...]:
        """Label the pod once all of its GPUs are reserved, and return their indices (KAI-203 to KAI-207).

        Raises DevicesPending while a reservation pod has no index, BindFailure after the timeout.
        """
        self._waiting[key_of(pod)] = share  # before the annotations are read, so that no later one is missed
        with self._lock:
            held = [self._find_or_create(node, group) for group in share.groups]
            indices = tuple(self._index(one) for one in held)
            # Inside the lock: no other attempt may use a reservation that is deleted after the timeout.
            if missing := [one for one, index in zip(held, indices, strict=True) if not index]:
                raise DevicesPending(min(self._seconds_left(one) for one in missing))
            # Labels of an earlier attempt, whose BindRequest was deleted before they were removed, go.
            stale = dict.fromkeys(gpu_groups.group_labels(pod).keys() - share.labels.keys())
            self._patch_labels(pod, {**stale, **share.labels})
        self.forget(key_of(pod))
        return indices

    def forget(self, key: Key) -> None:
        """Stop waiting for the GPUs of a pod."""
        self._waiting.pop(key, None)

    def remove_labels(self, pod: Obj, share: PodShare) -> None:
        """Take the pod out of its groups after a failure (KAI-209)."""
        current = self._client.find(PODS, name_of(pod), namespace_of(pod))
        if current is None or uid_of(current) != uid_of(pod):
            return
        if names := [name for name in share.labels if name in (meta(current).get("labels") or {})]:
            self._patch_labels(pod, dict.fromkeys(names))

    def release_unused(self, group: str, *, ended: str = "") -> None:
        """Delete the reservation of a group that has no consumer and no BindRequest (KAI-210, KAI-212).

        `ended` is the uid of a BindRequest that has failed and whose phase is not written yet.
        """
        with self._lock:
            held = self._held(group)
            if not held or self._has_consumer(group) or self._is_wanted(group, ended):
                return
            for one in held:
                self._delete(one)

    def delete_unreserved(self, group: str) -> None:
        """Delete the running pods of a group that has no reservation: others may get their GPU (KAI-211)."""
        with self._lock:
            if self._held(group):
                return
            for pod in self._consumers(group):
                if pods.is_running(pod) and not meta(pod).get("deletionTimestamp"):
                    with contextlib.suppress(NotFound, Conflict):  # gone, or another one of the name
                        self._client.delete(PODS, name_of(pod), namespace_of(pod), uid=uid_of(pod))

    def on_pod(self, change: Change) -> None:
        """Wake the pods that wait for a reservation, and look after the groups of a pod that runs or has ended.

        Both send requests, so only a change that matters to them leads to one: most are of other fields.
        """
        pod = change.object
        is_gone = change.type == "DELETED"
        is_reservation = namespace_of(pod) == self.namespace
        matters = _as_reservation if is_reservation else _as_consumer
        if not is_gone and change.old is not None and matters(change.old) == matters(pod):
            return
        groups = gpu_groups.groups_of_pod(pod)
        if is_reservation:
            if is_gone:
                self._since.pop(uid_of(pod), None)
                for group in groups:
                    self._sync(group)
            for key, share in list(self._waiting.items()):
                if groups.intersection(share.groups):
                    self._wake(key)
            return
        is_ended = is_gone or pods.is_finished(pod)
        # Without its last pod a group needs no reservation.
        left = gpu_groups.groups_of_pod(change.old) - groups if change.old is not None else set()
        for group in groups | left if is_ended or pods.is_running(pod) else left:
            self._sync(group)
        if is_ended and key_of(pod) in self._waiting:
            self._wake(key_of(pod))

    # -- reservation pods ---------------------------------------------------------------------------------------------

    def _held(self, group: str) -> list[Obj]:
        found = self._client.list(PODS, self.namespace, label_selector=f"{GROUP_LABEL}={group}")
        return list(found.items)

    def _find_or_create(self, node: str, group: str) -> Obj:
        held = [one for one in self._held(group) if not meta(one).get("deletionTimestamp")]
        if not held:
            return self._create(node, group)
        where = pods.node_of(held[0])
        if where != node:
            raise BindFailure(f"GPU group {group} is reserved on node {where}, not on {node}")
        return held[0]

    def _create(self, node: str, group: str) -> Obj:
        if scaling := self._unschedulable():
            raise BindFailure(f"pod {scaling} waits for nodes, so GPU group {group} is not reserved now")
        wanted = reservation_pod(node, group, self._options)
        try:
            return self._client.create(PODS, wanted)
        except AlreadyExists:  # created since, or still being deleted
            found = self._client.find(PODS, name_of(wanted), self.namespace)
            if found is None or meta(found).get("deletionTimestamp"):
                raise DevicesPending(_TERMINATING) from None
            return found

    def _unschedulable(self) -> str:
        """Return a pod of the scale-adjust namespace that no scheduler could place; its condition says so (KAI-213)."""
        namespace = self._options.scale_adjust_namespace
        for pod in self._client.list(PODS, namespace).items if namespace else ():
            conditions = (pod.get("status") or {}).get("conditions") or ()
            if any(one.get("type") == "PodScheduled" and one.get("status") != "True" for one in conditions):
                return f"{namespace}/{name_of(pod)}"
        return ""

    def _index(self, reservation: Obj) -> str:
        return str((meta(reservation).get("annotations") or {}).get(INDEX_ANNOTATION) or "")

    def _seconds_left(self, reservation: Obj) -> float:
        now = self._clock.monotonic()
        left = self._since.setdefault(uid_of(reservation), now) + self._options.reservation_timeout - now
        if left > 0:
            return left
        self._delete(reservation)
        name = f"{self.namespace}/{name_of(reservation)}"
        raise BindFailure(
            f"reservation pod {name} has no annotation {INDEX_ANNOTATION} after {self._options.reservation_timeout:g} s"
        )

    def _delete(self, reservation: Obj) -> None:
        self._since.pop(uid_of(reservation), None)
        with contextlib.suppress(NotFound, Conflict):  # gone, or another one of the name
            self._client.delete(
                PODS, name_of(reservation), self.namespace, uid=uid_of(reservation), grace_period_seconds=0
            )

    # -- consumers ----------------------------------------------------------------------------------------------------

    def _consumers(self, group: str) -> Iterator[Obj]:
        for selector in (f"{GROUP_LABEL}={group}", f"{GROUP_LABEL}/{group}={group}"):
            for pod in self._client.list(PODS, label_selector=selector).items:
                if namespace_of(pod) != self.namespace and not pods.is_finished(pod):
                    yield pod

    def _has_consumer(self, group: str) -> bool:
        return any(True for _ in self._consumers(group))

    def _is_wanted(self, group: str, ended: str) -> bool:
        return any(
            uid_of(request) != ended and fractions.may_reserve(request, group)
            for request in self._client.list(BIND_REQUESTS).items
        )

    def _patch_labels(self, pod: Obj, labels: Mapping[str, str | None]) -> None:
        patch = {"metadata": {"uid": uid_of(pod), "labels": labels}}
        self._client.patch(PODS, name_of(pod), patch, namespace_of(pod))


def _as_reservation(pod: Obj) -> object:
    """Return what an attempt reads of a reservation pod."""
    found = meta(pod)
    index = (found.get("annotations") or {}).get(INDEX_ANNOTATION)
    return gpu_groups.groups_of_pod(pod), index, found.get("deletionTimestamp")


def _as_consumer(pod: Obj) -> object:
    """Return what the reservations of a pod's groups depend on."""
    return gpu_groups.groups_of_pod(pod), pods.is_running(pod), pods.is_finished(pod)


def reservation_pod(node: str, group: str, options: BinderOptions) -> Obj:
    """Return the pod that holds one GPU of the node for a group; it is bound, so that no scheduler places it."""
    fields = {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace"}
    container = {
        "name": "resource-reservation",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"limits": {GPU: "1"}, "requests": {GPU: "1"}},
        "env": [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"gpu-reservation-{hashlib.sha256(f'{node}/{group}'.encode()).hexdigest()[:16]}",
            "namespace": options.reservation_namespace,
            "labels": {"app": gpu_groups.RESERVATION_APP, GROUP_LABEL: group},
            "annotations": {"karpenter.sh/do-not-disrupt": "true"},
        },
        "spec": {
            "nodeName": node,
            "serviceAccountName": options.reservation_service_account,
            "containers": [container],
        },
    }
