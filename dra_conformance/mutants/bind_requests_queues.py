"""Faults in how the scheduler keeps the limits of queues, for bind_requests/queues."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import Any

from dra_api.objects import Obj, key_of
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.scheduler.cluster_view import ClusterView

_MODULE = "reference_impl.scheduler.queues"
_QUEUES = f"{_MODULE}:Queues"
_SCHEDULER = "reference_impl.scheduler.scheduler:Scheduler"


def _needs(patch: Patch, change: Any) -> None:
    """Let each pod take something else: `change` gets the pod and what it takes, which it may edit."""

    def wrapped(original: Any) -> Any:
        def needs(self: Any, pod: Obj) -> Counter[str]:
            found: Counter[str] = original(self, pod)
            change(pod, found)
            return found

        return needs

    patch.wrap(f"{_QUEUES}._needs", wrapped)


@mutant("queues-have-no-limits", rule="KAI-302")
def _(patch: Patch) -> None:
    """No pod waits for its queue."""
    patch.replace(f"{_QUEUES}.refusal", lambda self, pod: "")


@mutant("queue-limit-counts-one-group", rule="KAI-302")
def _(patch: Patch) -> None:
    """Only pods of the same PodGroup count."""

    def wrapped(original: Any) -> Any:
        def refusal(self: Any, pod: Obj) -> str:
            own = self._group_of(pod)
            every = self._view.placed_pods
            self._view.placed_pods = lambda: [one for one in every() if self._group_of(one) == own]
            try:
                return str(original(self, pod))
            finally:
                del self._view.placed_pods

        return refusal

    patch.wrap(f"{_QUEUES}.refusal", wrapped)


@mutant("queue-limit-ignores-the-rest-of-the-gang", rule="KAI-302")
def _(patch: Patch) -> None:
    """Pods that are placed in the same decision do not count."""

    def placed(self: ClusterView) -> list[Obj]:
        return [self.pods[key] for key in self._placed if key in self.pods and not self.is_assumed(key)]

    patch.replace("reference_impl.scheduler.cluster_view:ClusterView.placed_pods", placed)


@mutant("queue-pod-that-waits-is-forgotten", rule="KAI-302b")
def _(patch: Patch) -> None:
    """A pod that found its queue full is tried again only if its own claims change."""

    def wrapped(original: Any) -> Any:
        def decide(self: Any, pod: Obj) -> Any:
            found = original(self, pod)
            full = "queue" in str(getattr(found, "message", ""))
            return replace(found, for_own_claims=True) if full else found

        return decide

    patch.wrap(f"{_SCHEDULER}._decide", wrapped)


@mutant("queue-change-starts-no-attempt", rule="KAI-302b")
def _(patch: Patch) -> None:
    """Waiting pods are not tried again when a queue changes."""
    patch.replace(f"{_SCHEDULER}._queue_changed", lambda self, change: None)


@mutant("queue-limit-of-the-parent-is-ignored", rule="KAI-303")
def _(patch: Patch) -> None:
    """Only the queue of the PodGroup counts."""

    def wrapped(original: Any) -> Any:
        def with_parents(self: Any, queue: str) -> list[str] | str:
            found = original(self, queue)
            return found if isinstance(found, str) else found[:1]

        return with_parents

    patch.wrap(f"{_QUEUES}._with_parents", wrapped)


@mutant("queue-limit-two-levels-above-is-ignored", rule="KAI-303")
def _(patch: Patch) -> None:
    """The queue of the PodGroup and the one above it count."""

    def wrapped(original: Any) -> Any:
        def with_parents(self: Any, queue: str) -> list[str] | str:
            found = original(self, queue)
            return found if isinstance(found, str) else found[:2]

        return with_parents

    patch.wrap(f"{_QUEUES}._with_parents", wrapped)


@mutant("queue-quota-of-the-parent-is-ignored", rule="KAI-493")
def _(patch: Patch) -> None:
    """Only the quota of the queue of the PodGroup counts; the limits of all queues do."""

    def wrapped(original: Any) -> Any:
        def allowed(queue: Obj) -> Any:
            found = original(queue)
            below = (queue.get("spec") or {}).get("parentQueue")
            return found if below else replace(found, quota=dict.fromkeys(found.quota, float("inf")))

        return allowed

    patch.wrap(f"{_MODULE}:_allowed", wrapped)


@mutant("queue-counts-portions-of-several-gpus-once", rule="KAI-311")
def _(patch: Patch) -> None:
    """A pod with a portion of each of several GPUs counts as if it had one."""

    def wrapped(original: Any) -> Any:
        def requested(pod: Obj) -> Any:
            share = original(pod)
            return replace(share, devices=1) if share is not None else None

        return requested

    patch.wrap(f"{_MODULE}:requested_share", wrapped)


@mutant("queue-limit-of-0-is-none", rule="KAI-304")
def _(patch: Patch) -> None:
    """A limit of 0 is taken for no limit."""

    def wrapped(original: Any) -> Any:
        return lambda resource, value: original(resource, value or -1)

    patch.wrap(f"{_MODULE}:_thousandths", wrapped)


@mutant("queue-limit-of-minus-1-is-one", rule="KAI-304")
def _(patch: Patch) -> None:
    """A limit of -1 is taken for a limit below everything."""
    patch.replace(f"{_MODULE}:_thousandths", lambda resource, value: value if resource == "cpu" else value * 1000)


@mutant("full-queue-accepts-no-pod", rule="KAI-305")
def _(patch: Patch) -> None:
    """A resource that a pod does not request is compared as well, one that is used up refuses all."""

    def exceeded(allowed: dict[str, float], wanted: Counter[str], used: Counter[str]) -> str:
        return next((name for name in allowed if used[name] + max(wanted[name], 1) > allowed[name]), "")

    patch.replace(f"{_MODULE}:_exceeded", exceeded)


@mutant("queue-quota-is-ignored", rule="KAI-306")
def _(patch: Patch) -> None:
    """Pods that cannot be preempted are placed up to the limit."""

    def wrapped(original: Any) -> Any:
        def allowed(queue: Obj) -> Any:
            found = original(queue)
            return replace(found, quota=dict.fromkeys(found.quota, float("inf")))

        return allowed

    patch.wrap(f"{_MODULE}:_allowed", wrapped)


@mutant("queue-quota-counts-all-pods", rule="KAI-306")
def _(patch: Patch) -> None:
    """Pods that can be preempted count for the quota."""

    def wrapped(original: Any) -> Any:
        def used(self: Any, queue: str, *, preemptible: bool = True) -> Counter[str]:
            found: Counter[str] = original(self, queue)
            return found

        return used

    patch.wrap(f"{_QUEUES}._used", wrapped)


@mutant("queue-quota-is-a-limit", rule="KAI-307")
def _(patch: Patch) -> None:
    """No pod is placed above the quota."""

    def wrapped(original: Any) -> Any:
        def allowed(queue: Obj) -> Any:
            found = original(queue)
            return replace(found, limit={name: found.quota[name] or found.limit[name] for name in found.limit})

        return allowed

    patch.wrap(f"{_MODULE}:_allowed", wrapped)


@mutant("queue-memory-in-binary-megabytes", rule="KAI-310")
def _(patch: Patch) -> None:
    """A megabyte is 1,048,576 bytes."""
    patch.replace(f"{_MODULE}:_BYTES", 1 << 20)


@mutant("queue-cpu-in-cores", rule="KAI-310")
def _(patch: Patch) -> None:
    """The CPU of a queue is taken for whole ones."""
    patch.replace(f"{_MODULE}:_thousandths", lambda resource, value: float("inf") if value == -1 else value * 1000)


@mutant("queue-counts-a-portion-as-a-gpu", rule="KAI-311")
def _(patch: Patch) -> None:
    """Each share takes whole GPUs of the queue."""

    def change(pod: Obj, needs: Counter[str]) -> None:
        needs["gpu"] = -(-needs["gpu"] // 1000) * 1000

    _needs(patch, change)


@mutant("queue-counts-no-portions", rule="KAI-311")
def _(patch: Patch) -> None:
    """Shares take nothing of the queue."""

    def change(pod: Obj, needs: Counter[str]) -> None:
        needs["gpu"] -= needs["gpu"] % 1000

    _needs(patch, change)


@mutant("queue-counts-bound-pods-only", rule="KAI-314")
def _(patch: Patch) -> None:
    """A BindRequest of a pod that is not bound yet does not count in the queue after a restart."""

    def placed(self: ClusterView) -> list[Obj]:
        found = [self.pods[key] for key in self._placed if key in self.pods]
        return [pod for pod in found if pod["spec"].get("nodeName") or self.is_assumed(key_of(pod))]

    patch.replace("reference_impl.scheduler.cluster_view:ClusterView.placed_pods", placed)


@mutant("queue-that-is-missing-has-no-limit", rule="KAI-300")
def _(patch: Patch) -> None:
    """A pod of a queue that does not exist is placed."""

    def wrapped(original: Any) -> Any:
        def with_parents(self: Any, queue: str) -> list[str] | str:
            return original(self, queue) if queue in self._queues else []

        return with_parents

    patch.wrap(f"{_QUEUES}._with_parents", wrapped)


@mutant("queue-looks-one-level-up", rule="KAI-301")
def _(patch: Patch) -> None:
    """Only the queue and the one above it must exist."""

    def with_parents(self: Any, queue: str) -> list[str] | str:
        found: list[str] = []
        for _ in range(2):
            if not queue:
                break
            if queue not in self._queues:
                return queue
            found.append(queue)
            queue = self._queues[queue]["spec"].get("parentQueue") or ""
        return found

    patch.replace(f"{_QUEUES}._with_parents", with_parents)


@mutant("queue-ignores-claims", rule="KAI-059")
def _(patch: Patch) -> None:
    """Devices of claims do not count."""
    patch.replace(f"{_QUEUES}._devices", lambda self, pod: iter(()))


@mutant("queue-counts-the-first-claim", rule="KAI-059")
def _(patch: Patch) -> None:
    """Devices of one claim of a pod count."""

    def wrapped(original: Any) -> Any:
        return lambda self, pod: islice(original(self, pod), 1)

    patch.wrap(f"{_QUEUES}._devices", wrapped)


@mutant("queue-counts-all-classes", rule="KAI-059")
def _(patch: Patch) -> None:
    """Devices of all classes count as GPUs."""

    def wrapped(original: Any) -> Any:
        def devices(self: Any, pod: Obj) -> Any:
            return iter([1] * len(pod["spec"].get("resourceClaims") or ()) or original(self, pod))

        return devices

    patch.wrap(f"{_QUEUES}._devices", wrapped)


@mutant("queue-quota-ignores-claims", rule="KAI-060")
def _(patch: Patch) -> None:
    """Devices of claims count for the limit only."""

    def wrapped(original: Any) -> Any:
        def used(self: Any, queue: str, *, preemptible: bool = True) -> Counter[str]:
            found: Counter[str] = original(self, queue, preemptible=preemptible)
            if not preemptible:
                found["gpu"] = 0
            return found

        return used

    patch.wrap(f"{_QUEUES}._used", wrapped)
