"""Faults in how the scheduler places gangs, for bind_requests/gangs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dra_api.client import ApiError
from dra_api.objects import BIND_REQUESTS, Obj, key_of, meta, name_of, namespace_of
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.scheduler.cycle import Decision, Refusal
from reference_impl.scheduler.gangs import Plan, group_of

_GANGS = "reference_impl.scheduler.gangs:Gangs"


def _minimum(patch: Patch, change: Any) -> None:
    """Let the gang have another minimum: `change` gets the Gangs, the PodGroup and its minMember."""

    def wrapped(original: Any) -> Any:
        def plan(self: Any, pod: Obj, changes: int) -> Plan | None:
            group = group_of(pod)
            right = self._minimum.get(group)
            if right is not None:
                self._minimum[group] = change(self, group, right)
            found: Plan | None = original(self, pod, changes)
            if right is not None:
                self._minimum[group] = right
            return found

        return plan

    patch.wrap(f"{_GANGS}.plan", wrapped)


@mutant("gang-is-placed-pod-by-pod", rule="KAI-029")
def _(patch: Patch) -> None:
    """Each pod of a gang is placed as if it were alone, once its PodGroup is whole."""

    def wrapped(original: Any) -> Any:
        def plan(self: Any, pod: Obj, changes: int) -> Plan | None:
            found: Plan | None = original(self, pod, changes)
            if found is None or any("that it needs" in refusal.message for _, refusal in found.refusals):
                return found
            for decision in found.decisions:
                self._view.retract(key_of(decision.pod))
            return None

        return plan

    patch.wrap(f"{_GANGS}.plan", wrapped)


@mutant("gang-keeps-the-pods-that-fit", rule="KAI-029")
def _(patch: Patch) -> None:
    """The pods before the first one without room are placed."""

    def wrapped(original: Any) -> Any:
        def together(self: Any, group: Any, waiting: list[Obj], *args: Any) -> Plan:
            kept: list[Decision] = []
            self.undo = kept.extend
            plan: Plan = original(self, group, waiting, *args)
            return replace(plan, decisions=plan.decisions or tuple(kept))

        return together

    patch.wrap(f"{_GANGS}._together", wrapped)


@mutant("gang-needs-one-pod-less", rule="KAI-029")
def _(patch: Patch) -> None:
    """The minimum is taken for one less."""
    _minimum(patch, lambda gangs, group, right: max(right - 1, 1))


@mutant("gang-forgets-devices-of-its-other-pods", rule="KAI-030")
def _(patch: Patch) -> None:
    """All pods of a gang are judged by the devices that are free before the first of them."""

    def together(self: Any, group: Any, waiting: list[Obj], missing: int, changes: int) -> Plan:
        outcomes = [self._decide(pod) for pod in waiting[:missing]]
        refused = next((one for one in outcomes if isinstance(one, Refusal)), None)
        if refused is not None:
            return Plan(refusals=tuple((pod, refused) for pod in waiting))
        for one in outcomes:
            self._view.assume(one.pod, one.node, one.allocations)
        return Plan(decisions=tuple(outcomes))

    patch.replace(f"{_GANGS}._together", together)


@mutant("gang-is-tried-once", rule="KAI-030")
def _(patch: Patch) -> None:
    """A gang that found no room does not wait for it."""

    def wrapped(original: Any) -> Any:
        def together(self: Any, *args: Any) -> Plan:
            plan: Plan = original(self, *args)
            refusals = tuple((pod, replace(refusal, for_own_claims=True)) for pod, refusal in plan.refusals)
            return replace(plan, refusals=refusals)

        return together

    patch.wrap(f"{_GANGS}._together", wrapped)


@mutant("gang-reports-one-pod", rule="KAI-470")
def _(patch: Patch) -> None:
    """Only one pod of a gang without room gets a condition."""

    def wrapped(original: Any) -> Any:
        def together(self: Any, *args: Any) -> Plan:
            plan: Plan = original(self, *args)
            refusals = tuple(
                (pod, refusal if pod["metadata"]["name"].endswith("1") else replace(refusal, silent=True))
                for pod, refusal in plan.refusals
            )
            return replace(plan, refusals=refusals)

        return together

    patch.wrap(f"{_GANGS}._together", wrapped)


@mutant("gang-needs-its-minimum-anew", rule="KAI-031")
@mutant("failed-gang-needs-its-minimum-anew", rule="KAI-031b")
@mutant("started-gang-needs-its-minimum-anew", rule="KAI-376")
def _(patch: Patch) -> None:
    """Pods that have a BindRequest do not count."""
    patch.replace(f"{_GANGS}.placed", lambda self, members: 0)


@mutant("gang-starts-anew-after-a-refusal", rule="KAI-031")
def _(patch: Patch) -> None:
    """When one BindRequest of a gang cannot be created, those of its other pods are deleted."""

    def wrapped(original: Any) -> Any:
        def rejected(self: Any, key: Any, decision: Decision, error: Exception) -> None:
            for pod in [*self._view.pods.values()]:
                if group_of(pod) is not None and group_of(pod) == group_of(decision.pod):
                    self._pods.retry_later(key_of(pod), pod)
            original(self, key, decision, error)
            for request in self._client.list(BIND_REQUESTS, key[0]).items:
                try:
                    self._client.delete(BIND_REQUESTS, name_of(request), namespace_of(request))
                except ApiError:
                    continue

        return rejected

    patch.wrap("reference_impl.scheduler.binding_queue:BindingQueue._rejected", wrapped)


@mutant("gang-of-all-namespaces", rule="KAI-353")
def _(patch: Patch) -> None:
    """The pods of a PodGroup are found by its bare name, as in KAI 0.12."""
    _more_members(patch, lambda group, other: other[1] == group[1])


@mutant("gang-counts-pods-of-other-groups", rule="KAI-360")
def _(patch: Patch) -> None:
    """All pods of the namespace that name some PodGroup count."""
    _more_members(patch, lambda group, other: other[0] == group[0])


@mutant("gang-keeps-pods-that-name-another-group", rule="KAI-360")
def _(patch: Patch) -> None:
    """A pod that comes to name another PodGroup counts for the former one as well."""

    def wrapped(original: Any) -> Any:
        def on_pod(self: Any, change: Any) -> None:
            former = self._group_of.get(key_of(change.object))
            original(self, change)
            if former is not None and change.type != "DELETED":
                self._members.setdefault(former, set()).add(key_of(change.object))

        return on_pod

    patch.wrap(f"{_GANGS}.on_pod", wrapped)


def _more_members(patch: Patch, also: Any) -> None:
    def wrapped(original: Any) -> Any:
        def members(self: Any, group: Any) -> list[Obj]:
            found: list[Obj] = original(self, group)
            for other in [*self._members]:
                if other != group and also(group, other):
                    found += original(self, other)
            return found

        return members

    patch.wrap(f"{_GANGS}.members", wrapped)


@mutant("minimum-of-another-namespace", rule="KAI-353")
def _(patch: Patch) -> None:
    """The smallest minMember of all PodGroups of one name counts."""
    _minimum(patch, lambda gangs, group, right: min(n for (_, name), n in gangs._minimum.items() if name == group[1]))


@mutant("gang-is-the-pods-that-exist", rule="KAI-360")
def _(patch: Patch) -> None:
    """A gang with fewer pods than minMember is placed when all pods that exist have room."""
    _minimum(patch, lambda gangs, group, right: min(right, len(gangs.members(group))))


@mutant("gang-counts-deleted-pods", rule="KAI-360")
def _(patch: Patch) -> None:
    """The pods that a gang has had count; no pod leaves it."""
    had: dict[Any, int] = {}

    def change(gangs: Any, group: Any, right: int) -> int:
        there = sum(1 for pod in gangs.members(group))
        return max(right - had.get(group, 0), 1) if there else right

    def wrapped(original: Any) -> Any:
        def on_pod(self: Any, event: Any) -> None:
            original(self, event)
            group = group_of(event.object)
            if event.type == "DELETED" and group is not None:
                had[group] = had.get(group, 0) + 1

        return on_pod

    patch.wrap(f"{_GANGS}.on_pod", wrapped)
    _minimum(patch, change)


@mutant("gang-counts-terminating-pods", rule="KAI-360")
def _(patch: Patch) -> None:
    """A pod that is being deleted counts for its gang."""
    _minimum(
        patch,
        lambda gangs, group, right: max(
            right - sum("deletionTimestamp" in meta(pod) for pod in gangs.members(group)), 1
        ),
    )


@mutant("gang-counts-pods-that-ended", rule="KAI-360")
def _(patch: Patch) -> None:
    """A pod that has failed counts for its gang, because it has a node."""
    _counted(patch, lambda pod: bool(pod["spec"].get("nodeName")), right=True)


@mutant("gang-counts-no-bound-pods", rule="KAI-376")
def _(patch: Patch) -> None:
    """A pod with a node and without a BindRequest does not count."""
    _counted(patch, lambda pod: bool(pod["spec"].get("nodeName")), right=False)


def _counted(patch: Patch, which: Any, *, right: bool) -> None:
    """Count some pods as placed, or as not placed."""

    def wrapped(original: Any) -> Any:
        def is_placed(self: Any, pod: Obj) -> bool:
            return right if which(pod) else bool(original(self, pod))

        return is_placed

    patch.wrap(f"{_GANGS}._is_placed", wrapped)


@mutant("gang-counts-gated-pods", rule="KAI-361")
def _(patch: Patch) -> None:
    """A pod with scheduling gates counts for its gang."""
    _minimum(
        patch,
        lambda gangs, group, right: max(
            right - sum(bool(pod["spec"].get("schedulingGates")) for pod in gangs.members(group)), 1
        ),
    )


@mutant("pods-without-their-group-are-placed", rule="KAI-360b")
def _(patch: Patch) -> None:
    """A pod whose PodGroup does not exist is placed alone."""
    patch.wrap(
        f"{_GANGS}.plan",
        lambda original: (
            lambda self, pod, changes: None if group_of(pod) not in self._minimum else original(self, pod, changes)
        ),
    )


@mutant("pods-are-not-woken-by-their-group", rule="KAI-360b")
def _(patch: Patch) -> None:
    """A PodGroup that appears is stored, and its pods go on waiting."""

    def wrapped(original: Any) -> Any:
        def on_group(self: Any, change: Any) -> None:
            wake, self._wake = self._wake, lambda pod: None
            original(self, change)
            self._wake = wake

        return on_group

    patch.wrap(f"{_GANGS}.on_group", wrapped)


@mutant("gang-keeps-its-trial", rule="KAI-363")
def _(patch: Patch) -> None:
    """The devices of a plan that failed stay taken."""
    patch.replace(f"{_GANGS}.undo", lambda self, decisions: None)


@mutant("gang-needs-all-of-its-pods", rule="KAI-365")
def _(patch: Patch) -> None:
    """All pods of a PodGroup that exist are placed together or not at all."""
    _minimum(patch, lambda gangs, group, right: max(right, len(gangs.members(group))))


@mutant("gang-ends-at-its-minimum", rule="KAI-365")
def _(patch: Patch) -> None:
    """No pod above minMember is placed."""

    def wrapped(original: Any) -> Any:
        def plan(self: Any, pod: Obj, changes: int) -> Plan | None:
            group = group_of(pod)
            if group in self._minimum and self.placed(self.members(group)) >= self._minimum[group]:
                return Plan(refusals=((pod, Refusal("the gang is whole")),))
            found: Plan | None = original(self, pod, changes)
            return found

        return plan

    patch.wrap(f"{_GANGS}.plan", wrapped)


@mutant("gang-refused-at-the-first-pod-without-room", rule="KAI-365b")
def _(patch: Patch) -> None:
    """A gang is refused as soon as one of its waiting pods has no room."""

    def wrapped(original: Any) -> Any:
        def together(self: Any, group: Any, waiting: list[Obj], missing: int, changes: int) -> Any:
            return original(self, group, waiting[:missing], missing, changes)

        return together

    patch.wrap(f"{_GANGS}._together", wrapped)


@mutant("gang-of-a-domain-needs-one-pod-less", rule="NV-461")
def _(patch: Patch) -> None:
    """The minimum is taken for one less, so that the ComputeDomain gets its first nodes without the last worker."""
    _minimum(patch, lambda gangs, group, right: max(right - 1, 1))


@mutant("gang-waits-until-its-domain-is-ready", rule="NV-461")
def _(patch: Patch) -> None:
    """Workers are placed once a ComputeDomain is Ready, which needs workers first."""

    def wrapped(original: Any) -> Any:
        def plan(self: Any, pod: Obj, changes: int) -> Plan | None:
            found: Plan | None = original(self, pod, changes)
            for decision in found.decisions if found else ():
                self._view.retract(key_of(decision.pod))
            return replace(found, decisions=()) if found else None

        return plan

    patch.wrap(f"{_GANGS}.plan", wrapped)
