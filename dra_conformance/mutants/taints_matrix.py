"""Faults that show in cells of the taint matrix: tolerations without key, effect or time, and taints of two sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from dra_api.objects import Obj
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.pod_group_gates import ON
from reference_impl.pod_groups import is_group
from reference_impl.taint_eviction import taints

_SCHEDULER = "reference_impl.scheduler.allocator.taints"
_RULES = "reference_impl.scheduler.allocator.taint_rules"
_EVICTION = "reference_impl.taint_eviction.taints"
_CONTROLLER = "reference_impl.taint_eviction.controller:TaintEviction"
_FEATURE = "taints/scheduler_and_eviction#"
_SLICES = f"{_FEATURE}taints-of-slices"
_POOLS = f"{_FEATURE}taints-of-rules-for-drivers-and-pools"
_GROUPS = f"{_FEATURE}taints-of-devices-that-the-pods-of-a-podgroup-share"


def _tolerates(patch: Patch, module: str, condition: Callable[[Obj], bool]) -> None:
    """Let tolerations count only if they fulfil a condition."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        return lambda toleration, taint: condition(toleration) and original(toleration, taint)

    patch.wrap(f"{module}:tolerates", make)


@mutant("eviction-requires-a-key", rule="DRA-222", scenario=_SLICES)
def _(patch: Patch) -> None:
    """A toleration without a key does not keep a pod from eviction."""
    _tolerates(patch, _EVICTION, lambda toleration: bool(toleration.get("key")))


@mutant("scheduler-requires-an-effect", rule="DRA-217", scenario=_SLICES)
def _(patch: Patch) -> None:
    """A toleration without an effect does not let a pod be scheduled."""
    _tolerates(patch, _SCHEDULER, lambda toleration: bool(toleration.get("effect")))


@mutant("scheduler-ignores-the-effect-of-tolerations", rule="DRA-214", scenario=_SLICES)
def _(patch: Patch) -> None:
    """A toleration of NoSchedule lets a pod be scheduled onto a device with a NoExecute taint."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        return lambda toleration, taint: original({**toleration, "effect": ""}, taint)

    patch.wrap(f"{_SCHEDULER}:tolerates", make)


@mutant("scheduler-ignores-limited-tolerations", rule="DRA-217", scenario=_POOLS)
def _(patch: Patch) -> None:
    """A toleration with tolerationSeconds does not let a pod be scheduled."""
    _tolerates(patch, _SCHEDULER, lambda toleration: toleration.get("tolerationSeconds") is None)


@mutant("any-value-without-a-key", rule="DRA-214", scenario=_SLICES)
def _(patch: Patch) -> None:
    """A toleration without a key tolerates every taint, whatever its operator and value."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def covers(toleration: Obj, *, key: str, value: str, effect: str) -> bool:
            changed = toleration if toleration.get("key") else {**toleration, "operator": "Exists"}
            return original(changed, key=key, value=value, effect=effect)

        return covers

    patch.wrap("reference_impl.tolerations:covers", make)


@mutant("zero-seconds-are-unlimited", rule="DRA-214", scenario=f"{_FEATURE}taints-of-rules-for-devices")
def _(patch: Patch) -> None:
    """tolerationSeconds of 0 or less count as none, so that the pod is never evicted."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def eviction_time(taint: Any, held: Any, *, now: Any) -> Any:
            limited = [
                one if (one.get("tolerationSeconds") or 0) > 0 else {**one, "tolerationSeconds": None} for one in held
            ]
            return original(taint, limited, now=now)

        return eviction_time

    patch.wrap(f"{_EVICTION}:eviction_time", make)


@mutant("scheduler-counts-taints-of-the-slice", rule="DRA-217", scenario=_POOLS)
def _(patch: Patch) -> None:
    """A device has the taints of all devices of its slice."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def apply(item: Any, rules: Any) -> Any:
            found = original(item, rules)
            everything = tuple(taint for device in found.devices for taint in device.taints)
            return replace(found, devices=tuple(replace(device, taints=everything) for device in found.devices))

        return apply

    patch.wrap(f"{_RULES}:apply", make)


@mutant("rule-hides-taints-of-the-slice-from-the-scheduler", rule="DRA-216", scenario=_POOLS)
def _(patch: Patch) -> None:
    """A device that a rule taints has no other taints for the scheduler."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def with_taints(device: Any, rules: Any) -> Any:
            found = original(device, rules)
            of_rules = found.taints[len(device.taints) :]
            return replace(found, taints=of_rules) if of_rules else found

        return with_taints

    patch.wrap(f"{_RULES}:with_taints", make)


@mutant("rule-hides-taints-of-the-slice-from-eviction", rule="DRA-214", scenario=_POOLS)
def _(patch: Patch) -> None:
    """The taints of a device's slice do not evict pods if a rule taints the device, whatever its effect."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def taints_of(self: Any, device: Any) -> Any:
            ruled = any(taints.selects(rule, device) for rule in self.rules.list())
            return [one for one in original(self, device) if one.rule or not ruled]

        return taints_of

    patch.wrap(f"{_CONTROLLER}.taints_of", make)


@mutant("time-of-a-rule-ignored", rule="DRA-221", scenario=_POOLS)
def _(patch: Patch) -> None:
    """A taint evicts tolerationSeconds after it is noticed if its timeAdded is years ago."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def eviction_time(taint: Any, held: Any, *, now: Any) -> Any:
            fresh = {key: value for key, value in taint.items() if key != "timeAdded"}
            return original(fresh if str(taint.get("timeAdded")).startswith("2020") else taint, held, now=now)

        return eviction_time

    patch.wrap(f"{_EVICTION}:eviction_time", make)


def _evictions_from_groups(patch: Patch, changed: Callable[[Any, Any, datetime], datetime | None]) -> None:
    """Change when the taints on claims that PodGroups have reserved take effect; None: never."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def evictions(self: Any, claim: Obj) -> Iterator[Any]:
            grouped = any(is_group(entry) for entry in claim["status"].get("reservedFor") or ())
            for found, at in original(self, claim):
                then = changed(self, found, at) if grouped else at
                if then is not None:
                    yield found, then

        return evictions

    patch.wrap(f"{_CONTROLLER}.claim_evictions", make)


@mutant("rules-evict-no-pod-groups", rule="DRA-214d", scenario=_GROUPS, **ON)
def _(patch: Patch) -> None:
    """Taints of rules do not evict the pods of a PodGroup; those of slices do."""
    _evictions_from_groups(patch, lambda self, found, at: None if found.rule else at)


@mutant("pod-groups-evicted-at-once", rule="DRA-221", scenario=_GROUPS, **ON)
def _(patch: Patch) -> None:
    """tolerationSeconds do not delay the eviction of the pods of a PodGroup."""
    _evictions_from_groups(patch, lambda self, found, at: self._clock.now())
