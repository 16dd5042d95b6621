"""Faults in how the scheduler and the eviction controller handle taints and tolerations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from dra_api.objects import uid_of
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.scheduler.allocator.taints import tolerated
from reference_impl.taint_eviction.taints import devices_in

ALLOCATOR = "reference_impl.scheduler.allocator.taints"
EVICTION = "reference_impl.taint_eviction.taints"
CONTROLLER = "reference_impl.taint_eviction.controller:TaintEviction"


@mutant("no-schedule-ignored", rule="DRA-213")
def _(patch: Patch) -> None:
    """The scheduler ignores NoSchedule taints."""
    patch.replace(f"{ALLOCATOR}:BLOCKING_EFFECTS", frozenset({"NoExecute"}))


@mutant("no-schedule-evicts", rule="DRA-213")
def _(patch: Patch) -> None:
    """NoSchedule deletes running pods."""
    patch.replace(f"{EVICTION}:evicts", lambda taint: taint.get("effect") in ("NoSchedule", "NoExecute"))


@mutant("no-execute-ignored-by-scheduler", rule="DRA-214")
def _(patch: Patch) -> None:
    """The scheduler ignores NoExecute taints."""
    patch.replace(f"{ALLOCATOR}:BLOCKING_EFFECTS", frozenset({"NoSchedule"}))


@mutant("no-execute-does-not-evict", rule="DRA-214")
def _(patch: Patch) -> None:
    """NoExecute affects new pods only."""
    patch.replace(f"{EVICTION}:evicts", lambda taint: False)


@mutant("taint-evicts-the-pool", rule="DRA-214")
def _(patch: Patch) -> None:
    """A taint on one device evicts the pods of all devices of its pool."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def slice_taints(slices: Any, device: Any) -> Any:
            # A list, because the slices are read several times.
            held = list(slices)
            for other, _ in list(devices_in(held)):
                yield from original(held, other)

        return slice_taints

    patch.wrap(f"{EVICTION}:slice_taints", make)


@mutant("effect-none-prevents-scheduling", rule="DRA-215")
def _(patch: Patch) -> None:
    """Every taint counts as NoSchedule."""
    patch.replace(f"{ALLOCATOR}:blocks_allocation", lambda taint: True)


@mutant("effect-none-evicts", rule="DRA-215")
def _(patch: Patch) -> None:
    """A taint that only informs deletes pods."""
    patch.replace(f"{EVICTION}:evicts", lambda taint: taint.get("effect") in ("None", "NoExecute"))


@mutant("one-tolerated-taint-is-enough", rule="DRA-216")
def _(patch: Patch) -> None:
    """A device is allocated if any of its taints is tolerated."""

    def untolerated(device: Any, request: Any) -> Any:
        if any(tolerated(request.tolerations, taint) for taint in device.taints):
            return None
        return device.taints[0] if device.taints else None

    patch.replace(f"{ALLOCATOR}:untolerated", untolerated)


@mutant("tolerations-ignored", rule="DRA-216")
def _(patch: Patch) -> None:
    """Tolerations are ignored."""
    patch.replace(f"{ALLOCATOR}:tolerated", lambda tolerations, taint: False)


@mutant("empty-key-tolerates-nothing", rule="DRA-217")
def _(patch: Patch) -> None:
    """A toleration must name a key."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda toleration, taint: bool(toleration.get("key")) and original(toleration, taint)

    patch.wrap(f"{ALLOCATOR}:tolerates", make)


@mutant("equal-ignores-the-value", rule="DRA-218")
def _(patch: Patch) -> None:
    """Operator Equal compares keys only."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda toleration, taint: original({**toleration, "operator": "Exists"}, taint)

    patch.wrap(f"{ALLOCATOR}:tolerates", make)


@mutant("admin-access-bypasses-taints", rule="DRA-219")
def _(patch: Patch) -> None:
    """Administrators get tainted devices."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda device, request: None if request.admin_access else original(device, request)

    patch.wrap(f"{ALLOCATOR}:untolerated", make)


@mutant("results-lack-tolerations", rule="DRA-220")
def _(patch: Patch) -> None:
    """Allocation results lack the tolerations of the request."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def device_result(*args: Any, **options: Any) -> Any:
            return {key: value for key, value in original(*args, **options).items() if key != "tolerations"}

        return device_result

    patch.wrap("reference_impl.scheduler.allocator.results:device_result", make)


@mutant("toleration-seconds-ignored", rule="DRA-221")
def _(patch: Patch) -> None:
    """tolerationSeconds is treated as zero, so that pods are evicted at once."""
    patch.wrap(f"{EVICTION}:tolerates", _only_unlimited)


def _only_unlimited(original: Callable[..., bool]) -> Callable[..., bool]:
    return lambda toleration, taint: toleration.get("tolerationSeconds") is None and original(toleration, taint)


@mutant("toleration-seconds-unlimited", rule="DRA-221")
def _(patch: Patch) -> None:
    """A limited toleration is unlimited."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def eviction_time(taint: Any, tolerations: Any, *, now: Any) -> Any:
            found = list(tolerations)
            endless = [{k: v for k, v in item.items() if k != "tolerationSeconds"} for item in found]
            return original(taint, endless, now=now)

        return eviction_time

    patch.wrap(f"{EVICTION}:eviction_time", make)


@mutant("longest-toleration-counts", rule="DRA-221")
def _(patch: Patch) -> None:
    """Of two limited tolerations the longer one counts."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def eviction_time(taint: Any, tolerations: Any, *, now: Any) -> Any:
            each = [original(taint, [item], now=now) for item in tolerations]
            # An unlimited toleration still has no end.
            if None in each or not each:
                return original(taint, tolerations, now=now)
            return max(each)

        return eviction_time

    patch.wrap(f"{EVICTION}:eviction_time", make)


@mutant("unlimited-toleration-ends", rule="DRA-222")
def _(patch: Patch) -> None:
    """No tolerationSeconds means zero seconds."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def eviction_time(taint: Any, tolerations: Any, *, now: Any) -> Any:
            limited = [{"tolerationSeconds": 0, **item} for item in tolerations]
            return original(taint, limited, now=now)

        return eviction_time

    patch.wrap(f"{EVICTION}:eviction_time", make)


@mutant("empty-effect-tolerates-eviction", rule="DRA-223")
def _(patch: Patch) -> None:
    """A toleration without an effect covers NoExecute."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        return lambda toleration, taint: original(
            toleration if toleration.get("effect") else {**toleration, "effect": "NoExecute"}, taint
        )

    patch.wrap(f"{EVICTION}:tolerates", make)


@mutant("eviction-continues-without-its-taint", rule="DRA-224")
def _(patch: Patch) -> None:
    """A planned eviction is not cancelled when the taint is removed."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        # By pod UID, the last eviction that was planned.
        plans: dict[str, Any] = {}

        def plan(self: Any, pod: Any) -> Any:
            found = original(self, pod) or plans.get(uid_of(pod))
            if found is not None:
                plans[uid_of(pod)] = found
            return found

        return plan

    patch.wrap(f"{CONTROLLER}.plan", make)


@mutant("cancelled-eviction-is-silent", rule="DRA-224")
def _(patch: Patch) -> None:
    """There is no event for a cancelled eviction."""
    patch.wrap(f"{CONTROLLER}.record_event", _silent_about("Cancelling"))


@mutant("eviction-is-silent", rule="DRA-225")
def _(patch: Patch) -> None:
    """An evicted pod gets no event."""
    patch.wrap(f"{CONTROLLER}.record_event", _silent_about("Marking"))


def _silent_about(word: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def tell(self: Any, pod: Any, message: str) -> None:
            if word not in message:
                original(self, pod, message)

        return tell

    return make


@mutant("eviction-event-without-uid", rule="DRA-225")
def _(patch: Patch) -> None:
    """The event is about a pod of that name: `kubectl describe` does not show it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def event(self: Any, pod: Any, *about: Any, **more: Any) -> None:
            metadata = {key: value for key, value in pod["metadata"].items() if key != "uid"}
            original(self, {**pod, "metadata": metadata}, *about, **more)

        return event

    patch.wrap("reference_impl.recorder:EventRecorder.event", make)


@mutant("eviction-event-without-reporter", rule="DRA-225")
def _(patch: Patch) -> None:
    """The event does not name the component that wrote it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def write(self: Any, event: Any) -> None:
            self.component = ""
            original(self, event)

        return write

    patch.wrap("reference_impl.recorder:EventRecorder._write", make)


@mutant("eviction-event-without-time", rule="DRA-225")
def _(patch: Patch) -> None:
    """The event has no time."""
    patch.replace("reference_impl.recorder:timestamp", lambda moment: None)


@mutant("eviction-without-condition", rule="DRA-225")
def _(patch: Patch) -> None:
    """An evicted pod has no condition DisruptionTarget."""
    patch.replace(f"{CONTROLLER}.set_condition", lambda self, pod: None)


@mutant("eviction-an-hour-late", rule="DRA-214")
def _(patch: Patch) -> None:
    """Pods are evicted an hour after the taint was added."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def eviction_time(taint: Any, tolerations: Any, *, now: Any) -> Any:
            at = original(taint, tolerations, now=now)
            return at + timedelta(hours=1) if at is not None else None

        return eviction_time

    patch.wrap(f"{EVICTION}:eviction_time", make)


# DeviceTaintRules are on by default since Kubernetes 1.37.


@mutant("rule-evicts-from-every-device", rule="DRA-226", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A DeviceTaintRule applies to all devices, whatever it selects."""
    patch.replace(f"{EVICTION}:selects", lambda rule, device: True)


@mutant("absent-selector-selects-all", rule="DRA-226", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A DeviceTaintRule without a selector applies to all devices."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda rule, device: "deviceSelector" not in rule["spec"] or original(rule, device)

    patch.wrap(f"{EVICTION}:selects", make)


@mutant("scheduler-ignores-rules", rule="DRA-226b", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The scheduler sees the taints of slices only."""
    patch.replace("reference_impl.scheduler.allocator.taint_rules:apply", lambda piece, rules: piece)


@mutant("scheduler-keeps-one-taint-of-several-rules", rule="DRA-226b", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """Of several rules that select a device, the first one adds its taint."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def with_taints(device: Any, rules: Any) -> Any:
            found = original(device, rules)
            return replace(found, taints=found.taints[: len(device.taints) + 1])

        return with_taints

    patch.wrap("reference_impl.scheduler.allocator.taint_rules:with_taints", make)


@mutant("absent-selector-taints-all", rule="DRA-226d", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The scheduler reads an absent selector as an empty one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def selects(rule: Any, device: Any) -> bool:
            return bool(original(replace(rule, selective=True), device))

        return selects

    patch.wrap("reference_impl.scheduler.allocator.taint_rules:selects", make)


@mutant("rule-stops-the-scheduler", rule="DRA-226c", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The scheduler crashes if a slice changes while a DeviceTaintRule exists."""

    def broken(piece: Any, rules: Any) -> Any:
        raise TypeError("DeviceTaintRule of another version")

    patch.replace("reference_impl.scheduler.allocator.taint_rules:apply", broken)


@mutant("changed-effect-keeps-time-added", rule="DRA-227", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The timeAdded of a rule's taint never changes."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def prepare_update(self: Any, new: Any, old: Any, ctx: Any) -> None:
            original(self, new, old, ctx)
            new["spec"]["taint"]["timeAdded"] = old["spec"]["taint"]["timeAdded"]

        return prepare_update

    module = "apiserver_emulator.dra.device_taint_rule"
    patch.wrap(f"{module}:DeviceTaintRuleStrategy.prepare_update", make)


STATUS = "reference_impl.taint_eviction.rule_status"


def change_condition(patch: Patch, of_reason: str, **changes: str) -> None:
    """Change fields of the condition of a rule if its reason is `of_reason`."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def condition_for(facts: Any) -> Any:
            found = original(facts)
            return replace(found, **changes) if found.reason == of_reason else found

        return condition_for

    patch.wrap(f"{STATUS}:condition_for", make)


@mutant("no-effect-reason-missing", rule="DRA-228", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The status of a rule with effect None lacks the reason NoEffect."""
    change_condition(patch, "NoEffect", reason="OtherEffect")


@mutant("no-effect-pod-count-missing", rule="DRA-228", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The status of a rule with effect None lacks the number of pods."""
    patch.replace(f"{STATUS}:_simulation", lambda facts: "This rule has no effect.")


@mutant("pending-evictions-not-reported", rule="DRA-229", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A rule does not report pending evictions."""
    change_condition(patch, "PodsPendingEviction", reason="NotStarted")


@mutant("completed-evictions-not-reported", rule="DRA-229", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A rule does not report completed evictions."""
    change_condition(patch, "Completed", reason="PodsPendingEviction")


@mutant("rule-status-written-again", rule="DRA-229f", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The condition of a rule is written again although nothing has changed."""
    patch.replace(f"{STATUS}:is_current", lambda rule, wanted: False)


@mutant("rule-with-unknown-effect", rule="DRA-230", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The API stores rules with unknown effects."""
    module = "apiserver_emulator.dra.taints"
    patch.replace(f"{module}:EFFECTS", ("None", "NoSchedule", "NoExecute", "PreferNoSchedule"))
