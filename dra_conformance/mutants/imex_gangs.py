"""Faults in the placement of gangs of workers, and in what a ComputeDomain keeps of them, for imex/gangs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_api.objects import Obj, key_of
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.pod_group_gates import ON
from reference_impl.kubelet_plugin.checkpoint import ClaimState
from reference_impl.scheduler.cycle import Refusal
from reference_impl.scheduler.gangs import KAI, WORKLOAD, Kind, Plan, group_of

_GANGS = "reference_impl.scheduler.gangs:Gangs"


def _keep_what_fits(patch: Patch, kind: Kind) -> None:
    """Place the pods of gangs of one kind that have room."""

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        def together(self: Any, group: Any, waiting: list[Obj], missing: int, changes: int) -> Plan:
            decisions = []
            for pod in waiting if self._kind is kind else ():
                outcome = self._decide(pod)
                if isinstance(outcome, Refusal):
                    break
                self._view.assume(pod, outcome.node, outcome.allocations, share=outcome.share, uses=outcome.uses)
                decisions.append(outcome)
            return Plan(tuple(decisions)) if decisions else original(self, group, waiting, missing, changes)

        return together

    patch.wrap(f"{_GANGS}._together", wrapped)


@mutant("workers-of-kai-placed-as-they-fit", rule="NV-461")
def _(patch: Patch) -> None:
    """The workers of a PodGroup of KAI for which there are nodes are placed, the others wait."""
    _keep_what_fits(patch, KAI)


@mutant("workers-of-kai-taken-back-when-one-fails", rule="NV-461")
def _(patch: Patch) -> None:
    """When the BindRequest of a worker has failed, those of its whole gang are deleted."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def clean_up(self: Any, key: Any, pod: Obj, stale: list[Obj]) -> None:
            with self.view.lock:
                pods = self._gangs.members(group_of(pod)) if self._gangs is not None and group_of(pod) else []
                others = [one for member in pods for one in self.view.bind_requests_of(key_of(member))]
            original(self, key, pod, [*stale, *(one for one in others if one not in stale)])

        return clean_up

    patch.wrap("reference_impl.scheduler.scheduler:Scheduler._clean_up", make)


@mutant("workers-of-kubernetes-placed-as-they-fit", rule="NV-461b", **ON)
def _(patch: Patch) -> None:
    """The workers of a PodGroup of Kubernetes for which there are nodes are bound, the others wait."""
    _keep_what_fits(patch, WORKLOAD)


def _keep_label(patch: Patch) -> None:
    """Unprepare takes the node out of the ComputeDomain only for a claim that was prepared."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def leave_domains(self: Any, uid: str, entry: Any) -> None:
            if entry.state is ClaimState.COMPLETED:
                original(self, uid, entry)

        return leave_domains

    patch.wrap("reference_impl.compute_domain.channels:ChannelPreparer.leave_domains", make)


@mutant("label-of-a-worker-that-never-started-stays", rule="NV-473")
def _(patch: Patch) -> None:
    """The node of a worker of KAI's PodGroup that never started keeps its label."""
    _keep_label(patch)


@mutant("label-of-a-waiting-worker-of-kubernetes-stays", rule="NV-473b", **ON)
def _(patch: Patch) -> None:
    """The node of a worker of Kubernetes' PodGroup that never started keeps its label."""
    _keep_label(patch)
