"""The condition EvictionInProgress of a DeviceTaintRule and its messages.

Pure functions. Source: kube-controller-manager v1.36 (devicetainteviction), texts as observed on 1.36.2; DRA-228,
DRA-229.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dra_api.clock import timestamp
from dra_api.objects import Obj, meta

EVICTION_IN_PROGRESS = "EvictionInProgress"


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """Numbers of devices and pods that a rule matches; `pods` in `namespaces` are those that it evicts, or would."""

    effect: str
    pods: int
    namespaces: int
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
    done = f"{_count(facts.evicted, 'pod')} evicted since starting the controller." if facts.evicted else ""
    if facts.effect == "None":
        return ConditionText("False", "NoEffect", f"{_simulation(facts)} {done}".strip())
    if facts.effect != "NoExecute":
        text = "Eviction only happens for the NoExecute effect."
        return ConditionText("False", "OtherEffect", f"{text} {done}".strip())
    if facts.pods:
        need = "needs" if facts.pods == 1 else "need"
        pending = f"{_count(facts.pods, 'pod')} {need} to be evicted in {_namespaces(facts)}."
        return ConditionText("True", "PodsPendingEviction", f"{pending} {done}".strip())
    return ConditionText("False", "Completed" if facts.evicted else "NotStarted", done)


def _simulation(facts: RuleFacts) -> str:
    return (
        f"{_count(facts.published_devices, 'published device')} selected. "
        f"{_count(facts.allocated_devices, 'allocated device')} selected. "
        f"{_count(facts.pods, 'pod')} would be evicted in {_namespaces(facts)} if the effect was NoExecute. "
        "This information will not be updated again. Recreate the DeviceTaintRule to trigger an update."
    )


def _namespaces(facts: RuleFacts) -> str:
    return _count(facts.namespaces, "namespace" if facts.namespaces == 1 else "different namespace")


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
    condition: Obj = {
        "type": EVICTION_IN_PROGRESS,
        "status": wanted.status,
        "reason": wanted.reason,
        "message": wanted.message,
        # As upstream: the time of the last change of any field.
        "lastTransitionTime": timestamp(now),
        "observedGeneration": meta(rule)["generation"],
    }
    status = rule.get("status") or {}
    others = [item for item in status.get("conditions") or () if item.get("type") != EVICTION_IN_PROGRESS]
    return {**rule, "status": {**status, "conditions": [*others, condition]}}
