"""Queues: what the pods of a queue may take in all, and whether one more pod is within it.

A pod belongs to the queue of its PodGroup; a pod without a PodGroup belongs to none and has no limit. A queue limits
itself and all queues below it. Fair shares, reclaim and preemption are not implemented: a pod that would exceed a limit
waits until other pods of the queue are gone, and no pod is evicted for it.

Amounts are in thousandths: of a CPU, of a megabyte (10^6 bytes), of a GPU. A GPU is one of a device plugin, a portion
of one, or (release 0.17) a device of a claim whose class has `gpu` in its name.

Both handlers take the view's lock; `refusal` needs it.

Source: KAI-Scheduler 0.12.0 docs/queues/README.md, docs/priority/README.md, pkg/apis/scheduling/v2/queue_types.go,
v2alpha2/podgroup_types.go, and 0.17 pkg/scheduler/api/pod_info; rules KAI-059, KAI-063, KAI-300 to KAI-315.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dra_api.informer import Change
from dra_api.objects import Obj, key_of, name_of
from reference_impl.gpu_groups import GPU
from reference_impl.scheduler import pod_claims, pod_resources
from reference_impl.scheduler.cluster_view import ClusterView
from reference_impl.scheduler.gpu_shares import WHOLE, requested_share

DEFAULT_QUEUE = "default-queue"
"""The queue that KAI's chart creates: it has no limits. It need not exist here."""

_RESOURCES = ("cpu", "memory", "gpu")
_UNLIMITED = -1
_BYTES = 1_000_000  # of a megabyte
GroupKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Group:
    queue: str
    preemptible: bool


@dataclass(frozen=True, slots=True)
class _Amounts:
    """What a queue allows of each resource; a resource that is missing is not limited."""

    limit: dict[str, float]
    quota: dict[str, float]


class Queues:
    """The Queues, the PodGroups in them, and what their pods take.

    `group_of` returns the PodGroup that a pod names. `counts_claims`: devices of claims count as GPUs.
    """

    def __init__(
        self, view: ClusterView, *, group_of: Callable[[Obj], GroupKey | None], counts_claims: bool = False
    ) -> None:
        self._view = view
        self._group_of = group_of
        self._counts_claims = counts_claims
        self._queues: dict[str, Obj] = {}
        self._groups: dict[GroupKey, _Group] = {}

    # -- changes from the API server ---------------------------------------------------------------------------------

    def on_queue(self, change: Change) -> None:
        """Handle a change of a Queue."""
        with self._view.lock:
            if change.type == "DELETED":
                self._queues.pop(name_of(change.object), None)
            else:
                self._queues[name_of(change.object)] = change.object

    def on_group(self, change: Change) -> None:
        """Handle a change of a PodGroup."""
        with self._view.lock:
            if change.type == "DELETED":
                self._groups.pop(key_of(change.object), None)
                return
            spec = change.object.get("spec") or {}
            # A PodGroup without preemptibility has that of its PriorityClass; here it can be preempted.
            preemptible = spec.get("preemptibility") != "non-preemptible"
            self._groups[key_of(change.object)] = _Group(str(spec.get("queue") or ""), preemptible)

    # -- decisions -----------------------------------------------------------------------------------------------------

    def refusal(self, pod: Obj) -> str:
        """Return why a pod must wait for room in its queue, or an empty string."""
        group = self._groups.get(self._group_of(pod) or ("", ""))
        if group is None or not group.queue:
            return ""
        above = self._with_parents(group.queue)
        if isinstance(above, str):
            return f"queue {above} not found"
        wanted = self._needs(pod)
        for name in above:
            allowed = _allowed(self._queues[name])
            if over := _exceeded(allowed.limit, wanted, self._used(name)):
                return f"queue {name} has reached its limit of {over}"
            if group.preemptible:
                continue
            if over := _exceeded(allowed.quota, wanted, self._used(name, preemptible=False)):
                return f"queue {name} has no quota of {over} for pods that cannot be preempted"
        return ""

    def _with_parents(self, queue: str) -> list[str] | str:
        """Return a queue and all above it that exist, or the name of one that is missing (KAI-300, KAI-301)."""
        found: list[str] = []
        while queue:
            if queue not in self._queues:
                return [] if queue == DEFAULT_QUEUE and not found else queue
            if queue in found:
                return queue  # a queue above itself: no top-level queue has it
            found.append(queue)
            queue = str((self._queues[queue].get("spec") or {}).get("parentQueue") or "")
        return found

    def _used(self, queue: str, *, preemptible: bool = True) -> Counter[str]:
        """Return what the placed pods of a queue and of those below it take; optionally of those that stay."""
        total: Counter[str] = Counter()
        for pod in self._view.placed_pods():
            group = self._groups.get(self._group_of(pod) or ("", ""))
            if group is None or (group.preemptible and not preemptible):
                continue
            above = self._with_parents(group.queue)
            if not isinstance(above, str) and queue in above:  # a text is the name of a queue that is missing
                total.update(self._needs(pod))
        return total

    def _needs(self, pod: Obj) -> Counter[str]:
        """Return what a pod takes of its queue."""
        requests = pod_resources.pod_requests(pod)
        share = requested_share(pod)
        gpus = requests.get(GPU, 0)
        if share is not None:
            # The portion of an amount of memory depends on the node; it counts as a whole GPU.
            gpus = round(share.devices * (share.portion or 1) * WHOLE)
        if self._counts_claims:
            gpus += sum(self._devices(pod)) * WHOLE
        return Counter(cpu=requests.get("cpu", 0), memory=requests.get("memory", 0) // _BYTES, gpu=gpus)

    def _devices(self, pod: Obj) -> Iterator[int]:
        """Yield the number of GPUs in each request of a pod's claims; all devices count as one (KAI-063)."""
        try:
            claims = pod_claims.resolve(pod, self._view.find_claim)
        except pod_claims.NotReady:
            return
        for entry in claims:
            for request in ((entry.claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
                exactly = request.get("exactly") or {}
                if "gpu" not in str(exactly.get("deviceClassName") or "").lower():
                    continue
                yield 1 if exactly.get("allocationMode") == "All" else int(exactly.get("count") or 1)


def _allowed(queue: Obj) -> _Amounts:
    """Return limit and quota of a queue in thousandths; a value that is not set allows nothing (KAI-304)."""
    resources = (queue.get("spec") or {}).get("resources") or {}
    limit, quota = (
        {name: (resources.get(name) or {}).get(kind) or 0 for name in _RESOURCES} for kind in ("limit", "quota")
    )
    return _Amounts(*({name: _thousandths(name, value) for name, value in of.items()} for of in (limit, quota)))


def _thousandths(resource: str, value: float) -> float:
    """Return an amount as this module counts it; CPU is in thousandths already (KAI-310)."""
    if value == _UNLIMITED:
        return float("inf")
    return value if resource == "cpu" else value * WHOLE


def _exceeded(allowed: dict[str, float], wanted: Counter[str], used: Counter[str]) -> str:
    """Return the first resource of which a pod would take more than is left; one that it does not request is fine."""
    for name, amount in wanted.items():
        if amount and used[name] + amount > allowed[name]:
            return name
    return ""
