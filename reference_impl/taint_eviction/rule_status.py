"""The condition EvictionInProgress of a DeviceTaintRule and its messages.

Pure functions. Source: kube-controller-manager v1.36 (devicetainteviction), texts as observed on 1.36.2; DRA-228,
DRA-229.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from dra_api.clock import timestamp
from dra_api.objects import Obj, meta

EVICTION_IN_PROGRESS = "EvictionInProgress"


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """Devices and pods that a rule matches. `pods` are (namespace, name) of those that it evicts, or would evict."""

    effect: str
    pods: Collection[tuple[str, str]]
    evicted: int
    published_devices: int
    allocated_devices: int


@dataclass(frozen=True, slots=True)
class ConditionText:
    """Status, reason and message of the condition."""

    status: str
    reason: str
    message: str


def condition_for(facts: RuleFacts) -> ConditionText:
    """Return the condition for these facts."""
    if facts.effect == "None":
        return ConditionText("False", "NoEffect", _simulation(facts))
    if facts.effect != "NoExecute":
        return ConditionText("False", "OtherEffect", "Eviction only happens for the NoExecute effect.")
    done = f"{_count(facts.evicted, 'pod')} evicted since starting the controller." if facts.evicted else ""
    if facts.pods:
        need = "needs" if len(facts.pods) == 1 else "need"
        pending = f"{_count(len(facts.pods), 'pod')} {need} to be evicted in {_namespaces(facts)}."
        return ConditionText("True", "PodsPendingEviction", f"{pending} {done}".strip())
    return ConditionText("False", "Completed" if facts.evicted else "NotStarted", done)


def _simulation(facts: RuleFacts) -> str:
    return (
        f"{_count(facts.published_devices, 'published device')} selected. "
        f"{_count(facts.allocated_devices, 'allocated device')} selected. "
        f"{_count(len(facts.pods), 'pod')} would be evicted in {_namespaces(facts)} if the effect was NoExecute. "
        "This information will not be updated again. Recreate the DeviceTaintRule to trigger an update."
    )


def _namespaces(facts: RuleFacts) -> str:
    return _count(len({namespace for namespace, _ in facts.pods}), "namespace")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def held(rule: Obj) -> Obj:
    """Return the rule's present condition; an empty dict if it has none."""
    for condition in (rule.get("status") or {}).get("conditions") or ():
        if condition.get("type") == EVICTION_IN_PROGRESS:
            return dict(condition)
    return {}


def is_current(rule: Obj, wanted: ConditionText) -> bool:
    """Return whether the rule has this condition already, for its current generation."""
    now = held(rule)
    return (now.get("status"), now.get("reason"), now.get("message") or "", now.get("observedGeneration")) == (
        wanted.status,
        wanted.reason,
        wanted.message,
        meta(rule).get("generation"),
    )


def with_condition(rule: Obj, wanted: ConditionText, *, now: datetime) -> Obj:
    """Return the rule with its condition brought up to date."""
    before = held(rule)
    condition: Obj = {
        "type": EVICTION_IN_PROGRESS,
        "status": wanted.status,
        "reason": wanted.reason,
        "message": wanted.message,
        # Only a change of the status is a transition (metav1.Condition).
        "lastTransitionTime": before["lastTransitionTime"]
        if before.get("status") == wanted.status and before.get("lastTransitionTime")
        else timestamp(now),
    }
    if generation := meta(rule).get("generation"):
        condition["observedGeneration"] = generation
    status = dict(rule.get("status") or {})
    others = [item for item in status.get("conditions") or () if item.get("type") != EVICTION_IN_PROGRESS]
    return {**rule, "status": {**status, "conditions": [*others, condition]}}
