"""Gangs: pods of a PodGroup are placed together, as many as the group requires, or not at all.

PodGroups are those of KAI-Scheduler or of scheduling.k8s.io (`Kind`). As long as fewer pods than the minimum have a
place, `plan` decides about all that are missing: each decision is assumed before the next, so that no device is given
twice, and all are retracted if one pod has no room. Pods above the minimum are scheduled alone. A plan that failed is
not tried again before something in the cluster has changed, however many of its pods are woken.

All methods need the view's lock, except the two handlers, which take it.

Source: KAI-Scheduler 0.12 docs/batch/README.md, docs/elastic/README.md, pkg/scheduler/api/podgroup_info; rules KAI-029
to KAI-031, KAI-353, KAI-360 to KAI-376; kube-scheduler 1.37 gangscheduling plugin, rule DRA-552c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dra_api.informer import Change
from dra_api.objects import Obj, key_of, meta, namespace_of
from reference_impl.pod_groups import group_name
from reference_impl.scheduler import bind_requests
from reference_impl.scheduler.cluster_view import ClusterView, PodKey, is_terminal
from reference_impl.scheduler.cycle import Decision, Refusal

ANNOTATION = "pod-group-name"
GroupKey: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Plan:
    """The outcome for a pod or a gang: decisions that are assumed already, or why each pod waits.

    `next` are pods that may be placed now that the gang has its minimum.
    """

    decisions: tuple[Decision, ...] = ()
    refusals: tuple[tuple[Obj, Refusal], ...] = ()
    next: tuple[PodKey, ...] = ()


@dataclass(frozen=True, slots=True)
class _Failure:
    """A plan that failed: the changes that were known before it, and the pods that it was about."""

    changes: int
    pods: frozenset[PodKey]
    refusal: Refusal


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of PodGroup: how a pod names its group, and how many pods a group places together."""

    group_of: Callable[[Obj], GroupKey | None]
    minimum_of: Callable[[Obj], int]


def group_of(pod: Obj) -> GroupKey | None:
    """Return the PodGroup of KAI-Scheduler that a pod names, by namespace and name (KAI-353)."""
    name = (meta(pod).get("annotations") or {}).get(ANNOTATION)
    return (str(meta(pod).get("namespace") or ""), str(name)) if name else None


def _scheduling_group_of(pod: Obj) -> GroupKey | None:
    """Return the PodGroup of scheduling.k8s.io that a pod names, by namespace and name."""
    name = group_name(pod)
    return (namespace_of(pod), name) if name else None


def _min_member(group: Obj) -> int:
    return int((group.get("spec") or {}).get("minMember") or 1)


def _min_count(group: Obj) -> int:
    """Return minCount of the gang policy; pods of a group with the basic policy are placed one by one."""
    policy = (group.get("spec") or {}).get("schedulingPolicy") or {}
    return int((policy.get("gang") or {}).get("minCount") or 1)


KAI = Kind(group_of, _min_member)
WORKLOAD = Kind(_scheduling_group_of, _min_count)


class Gangs:
    """PodGroups of one kind and their pods.

    `decide` decides about one pod; `may_place` returns whether a pod is to be placed now; `wake` queues a pod.
    """

    def __init__(
        self,
        view: ClusterView,
        *,
        decide: Callable[[Obj], Decision | Refusal],
        may_place: Callable[[Obj], bool],
        wake: Callable[[PodKey], None],
        kind: Kind = KAI,
    ) -> None:
        self._view = view
        self._kind = kind
        self._decide = decide
        self._may_place = may_place
        self._wake = wake
        self._minimum: dict[GroupKey, int] = {}
        self._members: dict[GroupKey, set[PodKey]] = {}
        self._group_of: dict[PodKey, GroupKey] = {}
        self._failed: dict[GroupKey, _Failure] = {}

    # -- changes from the API server -----------------------------------------------------------------------------------

    def on_group(self, change: Change) -> None:
        """Handle a change of a PodGroup: its waiting pods are looked at again."""
        key = key_of(change.object)
        with self._view.lock:
            if change.type == "DELETED":
                self._minimum.pop(key, None)
            else:
                self._minimum[key] = self._kind.minimum_of(change.object)
            self._failed.pop(key, None)
            waiting = [*self._members.get(key, ())]
        for pod in waiting:
            self._wake(pod)

    def on_pod(self, change: Change) -> None:
        """Handle a change of a Pod, before the view does."""
        pod = key_of(change.object)
        with self._view.lock:
            group = None if change.type == "DELETED" else self._kind.group_of(change.object)
            before = self._group_of.pop(pod, None)
            if before is not None and before != group:
                self._leave(pod, before)
            if group is not None:
                self._group_of[pod] = group
                self._members.setdefault(group, set()).add(pod)

    def _leave(self, pod: PodKey, group: GroupKey) -> None:
        members = self._members[group]
        members.discard(pod)
        if not members:
            del self._members[group]
            self._failed.pop(group, None)

    def has_placed(self, group: GroupKey) -> bool:
        """Return whether a pod of a PodGroup has a place, which it also has while it is terminating."""
        return any(map(self._has_place, self.members(group)))

    # -- decisions -----------------------------------------------------------------------------------------------------

    def plan(self, pod: Obj, changes: int) -> Plan | None:
        """Return what becomes of the gang of a pod that is to be placed; None if the pod is placed alone.

        `changes` counts the changes of the cluster that are known.
        """
        group = self._kind.group_of(pod)
        if group is None:
            return None
        minimum = self._minimum.get(group)
        if minimum is None:
            return self._alone(pod, f"pod group {group[1]} not found")
        if minimum == 1:
            return None
        members = self.members(group)
        missing = minimum - self.placed(members)
        if missing <= 0:
            return None
        waiting = [one for one in members if self._is_waiting(one)]
        if len(waiting) < missing:
            there = minimum - missing + len(waiting)
            return self._alone(pod, f"pod group {group[1]} has {there} of the {minimum} pods that it needs")
        failure = self._failed.get(group)
        same = failure is not None and failure.pods == frozenset(map(key_of, waiting))
        if failure is not None and same and failure.changes == changes:
            return Plan(refusals=((pod, failure.refusal),))
        return self._together(group, waiting, missing, changes)

    def members(self, group: GroupKey) -> list[Obj]:
        """Return the pods of a PodGroup, the oldest first."""
        found = [self._view.pods[key] for key in self._members.get(group, ()) if key in self._view.pods]
        return sorted(found, key=lambda pod: (str(meta(pod).get("creationTimestamp") or ""), key_of(pod)))

    def placed(self, members: list[Obj]) -> int:
        """Return how many pods have a place: bound, or by a BindRequest or a decision of ours."""
        return sum(self._is_placed(pod) for pod in members)

    def _is_placed(self, pod: Obj) -> bool:
        return not meta(pod).get("deletionTimestamp") and self._has_place(pod)

    def _has_place(self, pod: Obj) -> bool:
        if is_terminal(pod):
            return False
        key = key_of(pod)
        return (
            bool((pod.get("spec") or {}).get("nodeName"))
            or self._view.is_assumed(key)
            or any(
                bind_requests.alive(request) and bind_requests.selected_node(request) in self._view.nodes
                for request in self._view.bind_requests_of(key)
            )
        )

    def _is_waiting(self, pod: Obj) -> bool:
        key = key_of(pod)
        # A stale BindRequest is deleted first, and a decision on its way is in `placed`.
        return not self._view.is_assumed(key) and not self._view.bind_requests_of(key) and self._may_place(pod)

    def _together(self, group: GroupKey, waiting: list[Obj], missing: int, changes: int) -> Plan:
        """Decide about as many pods as are missing; keep all decisions or none."""
        decisions: list[Decision] = []
        refusals: list[Refusal] = []
        for pod in waiting:
            outcome = self._decide(pod)
            if isinstance(outcome, Refusal):
                refusals.append(outcome)
                if len(refusals) > len(waiting) - missing:
                    break
                continue
            self._view.assume(pod, outcome.node, outcome.allocations, share=outcome.share, uses=outcome.uses)
            decisions.append(outcome)
            if len(decisions) == missing:
                self._failed.pop(group, None)
                placed = {key_of(one.pod) for one in decisions}
                return Plan(tuple(decisions), next=tuple(key for one in waiting if (key := key_of(one)) not in placed))
        self.undo(decisions)
        # That of a pod which lacks room; a claim that is not ready yet is reported by nobody.
        first = next((one for one in refusals if not one.silent), refusals[0])
        message = f"pod group {group[1]} has room for {len(decisions)} of {missing} pods: {first.message}"
        stranded = dict.fromkeys(key for one in refusals for key in one.stranded)
        refusal = Refusal(message, reason=first.reason, silent=first.silent, stranded=tuple(stranded))
        self._failed[group] = _Failure(changes, frozenset(map(key_of, waiting)), refusal)
        return Plan(refusals=tuple((pod, refusal) for pod in waiting))

    def undo(self, decisions: list[Decision]) -> None:
        """Take back what a plan that failed has assumed (KAI-363)."""
        for decision in decisions:
            self._view.retract(key_of(decision.pod))

    @staticmethod
    def _alone(pod: Obj, message: str) -> Plan:
        """Refuse one pod; a pod that joins the gang, or a change of its PodGroup, looks at the gang again."""
        return Plan(refusals=((pod, Refusal(message, for_own_claims=True)),))
