"""Faults in the scheduling of pods of a PodGroup of scheduling.k8s.io, beta in Kubernetes 1.37."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from dra_api.objects import Obj, key_of
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.pod_group_gates import ON
from reference_impl.pod_groups import group_name
from reference_impl.scheduler.cycle import Decision
from reference_impl.scheduler.gangs import Plan

_GANGS = "reference_impl.scheduler.gangs:Gangs"
_PUBLISHER = "reference_impl.scheduler.publish:DirectPublisher"
_CYCLE = "reference_impl.scheduler.cycle:Cycle"
_SCHEDULER = "reference_impl.scheduler.scheduler:Scheduler"


# -- gangs -------------------------------------------------------------------------------------------------------------


@mutant("workload-gang-one-by-one", rule="DRA-552c", **ON)
def _(patch: Patch) -> None:
    """The gang policy is ignored."""
    patch.wrap(f"{_GANGS}.plan", lambda original: lambda self, pod, changes: None)


@mutant("workload-gang-keeps-what-was-placed", rule="DRA-552c", **ON)
def _(patch: Patch) -> None:
    """The pods of a gang that have room are bound although others have none."""

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def together(self: Any, group: Any, waiting: list[Obj], missing: int, changes: int) -> Any:
            return original(self, group, waiting[:1], 1, changes)

        return together

    patch.wrap(f"{_GANGS}._together", wrapped)


@mutant("workload-gang-tried-once", rule="DRA-552c", **ON)
def _(patch: Patch) -> None:
    """A gang without room is not tried again when there are more devices."""

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def together(self: Any, group: Any, waiting: list[Obj], missing: int, changes: int) -> Any:
            failed = self.__dict__.setdefault("tried", {})
            key = (group, frozenset(map(key_of, waiting)))
            if key not in failed:
                plan = original(self, group, waiting, missing, changes)
                if plan.decisions or any(refusal.silent for _, refusal in plan.refusals):
                    return plan
                failed[key] = plan
            return failed[key]

        return together

    patch.wrap(f"{_GANGS}._together", wrapped)


@mutant("workload-gang-shares-a-device", rule="DRA-552d", **ON)
def _(patch: Patch) -> None:
    """Each pod of a gang is placed as if the others of the gang had no devices yet."""

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def together(self: Any, group: Any, waiting: list[Obj], missing: int, changes: int) -> Any:
            outcomes = [self._decide(pod) for pod in waiting[:missing]]
            decisions = [one for one in outcomes if isinstance(one, Decision)]
            if len(decisions) < missing:
                return original(self, group, waiting, missing, changes)
            for one in decisions:
                self._view.assume(one.pod, one.node, one.allocations, share=one.share)
            return Plan(tuple(decisions))

        return together

    patch.wrap(f"{_GANGS}._together", wrapped)


@mutant("workload-gang-of-pods-that-wait", rule="DRA-552e", **ON)
def _(patch: Patch) -> None:
    """Pods that are bound do not count for the minimum of their gang."""
    patch.replace(f"{_GANGS}.placed", lambda self, members: 0)


# -- claims of groups --------------------------------------------------------------------------------------------------


@mutant("group-claim-usable-on-every-node", rule="DRA-558", **ON)
def _(patch: Patch) -> None:
    """The node of a claim that is allocated is not compared for pods of a group."""

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def _try(self: Any, attempt: Any, state: Any) -> Any:
            if group_name(attempt.pod):
                held = {key: {**allocation, "nodeSelector": None} for key, allocation in attempt.held.items()}
                attempt = dataclasses.replace(attempt, held=held)
            return original(self, attempt, state)

        return _try

    patch.wrap(f"{_CYCLE}._try", wrapped)


@mutant("group-pod-not-bound-is-given-up", rule="DRA-559", **ON)
def _(patch: Patch) -> None:
    """A pod of a group that could not be bound waits for a change of the cluster."""

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def retry_later(self: Any, key: Any, pod: Obj) -> None:
            if not group_name(pod):
                original(self, key, pod)

        return retry_later

    patch.wrap(f"{_SCHEDULER}.retry_later", wrapped)


@mutant("group-loses-its-claim-with-one-pod", rule="DRA-559", **ON)
def _(patch: Patch) -> None:
    """If a pod of a group cannot be bound, the reservation of the group is removed."""

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def give_back(self: Any, decision: Any) -> None:
            for entry, _ in decision.entries:
                self.unreserve(entry.claim, self.user_of(decision.pod, entry.reference))
            original(self, decision)

        return give_back

    patch.wrap(f"{_PUBLISHER}.give_back", wrapped)


@mutant("gang-waits-for-its-own-claim", rule="DRA-560", **ON)
def _(patch: Patch) -> None:
    """A claim that is allocated for one pod of a gang is not ready for the others (kubernetes/kubernetes#137647)."""

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def _try(self: Any, attempt: Any, state: Any) -> Any:
            mine = key_of(attempt.pod)
            others = [key for key in self._view.pods if key != mine and self._view.is_assumed(key)]
            if group_name(attempt.pod) and attempt.held and others:
                attempt.refused[state.facts.name] = "its claim is being allocated"
                return None
            return original(self, attempt, state)

        return _try

    patch.wrap(f"{_CYCLE}._try", wrapped)


@mutant("group-claim-kept-for-the-group", rule="DRA-560", **ON)
def _(patch: Patch) -> None:
    """A claim that no node can use is kept if it is reserved for the group."""

    def wrapped(original: Callable[..., bool]) -> Callable[..., bool]:
        def deallocate(self: Any, claim: Obj, user: Obj) -> bool:
            return not claim["status"].get("reservedFor") and original(self, claim, user)

        return deallocate

    patch.wrap(f"{_PUBLISHER}.deallocate", wrapped)


@mutant("group-claim-kept-unless-reserved", rule="DRA-560", **ON)
def _(patch: Patch) -> None:
    """A claim that no node can use is kept if it is not reserved."""

    def wrapped(original: Callable[..., bool]) -> Callable[..., bool]:
        def deallocate(self: Any, claim: Obj, user: Obj) -> bool:
            return bool(claim["status"].get("reservedFor")) and original(self, claim, user)

        return deallocate

    patch.wrap(f"{_PUBLISHER}.deallocate", wrapped)


@mutant("gang-claim-kept", rule="DRA-560", **ON)
def _(patch: Patch) -> None:
    """The claims of a gang that no node can use are kept."""

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def together(self: Any, *arguments: Any) -> Any:
            plan = original(self, *arguments)
            kept = tuple((pod, dataclasses.replace(refusal, stranded=())) for pod, refusal in plan.refusals)
            return dataclasses.replace(plan, refusals=kept)

        return together

    patch.wrap(f"{_GANGS}._together", wrapped)


@mutant("group-claim-of-others-deallocated", rule="DRA-561", **ON)
def _(patch: Patch) -> None:
    """A claim of a group that no node can use is deallocated although another consumer has reserved it."""

    def wrapped(original: Callable[..., bool]) -> Callable[..., bool]:
        def deallocate(self: Any, claim: Obj, user: Obj) -> bool:
            status = {key: value for key, value in claim["status"].items() if key != "reservedFor"}
            return original(self, {**claim, "status": status}, user)

        return deallocate

    patch.wrap(f"{_PUBLISHER}.deallocate", wrapped)


@mutant("group-claim-in-use-deallocated", rule="DRA-561b", **ON)
def _(patch: Patch) -> None:
    """A claim of a group is deallocated for one of its pods while another one uses it."""
    patch.replace(f"{_GANGS}.has_placed", lambda self, group: False)
