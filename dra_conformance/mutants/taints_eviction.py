"""Faults of the taint eviction that only show with two devices, claims, pods, taints, rules or slices; for taints."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from dra_api.allocations import results_of
from dra_api.objects import PODS, Obj, name_of, uid_of
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.pod_group_gates import ON
from dra_conformance.mutants.taints import STATUS, change_condition
from reference_impl.claim_controller import pod_state
from reference_impl.taint_eviction import rule_status, taints
from reference_impl.taint_eviction.controller import Key

EVICTION = "reference_impl.taint_eviction.taints"
MODULE = "reference_impl.taint_eviction.controller"
CONTROLLER = f"{MODULE}:TaintEviction"


def _compare_only(patch: Patch, *fields: str) -> None:
    """Let the eviction find a device in any slice by these fields alone."""

    def taints_of(self: Any, device: Any) -> Any:
        for found, definition in taints.devices_in(self._newest_slices()):
            if all(getattr(found, field) == getattr(device, field) for field in fields):
                for taint in definition.get("taints") or ():
                    if taints.evicts(taint):
                        yield taints.FoundTaint(taint)

    patch.replace(f"{CONTROLLER}.taints_of", taints_of)


@mutant("eviction-ignores-the-pool", rule="DRA-214")
def _(patch: Patch) -> None:
    """A taint evicts the pods of every device of this name, whatever its pool."""
    _compare_only(patch, "driver", "device")


@mutant("eviction-ignores-the-driver", rule="DRA-214")
def _(patch: Patch) -> None:
    """A taint evicts the pods of another driver's device of the same name in a pool of the same name."""
    _compare_only(patch, "pool", "device")


@mutant("eviction-of-the-first-device", rule="DRA-214")
def _(patch: Patch) -> None:
    """Only the first device of a claim is looked at."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda claim: original(claim)[:1]

    patch.wrap("reference_impl.taint_eviction.controller:results_of", make)


@mutant("eviction-of-the-first-claim", rule="DRA-214")
def _(patch: Patch) -> None:
    """Only the first claim of a pod is looked at."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, pod: itertools.islice(original(self, pod), 1)

    patch.wrap(f"{CONTROLLER}.claims_of", make)


@mutant("eviction-without-a-look-at-the-owner", rule="DRA-862")
def _(patch: Patch) -> None:
    """A claim that is reserved for a pod evicts it, although the claim is not the pod's."""
    patch.replace(f"{MODULE}:is_owned_by", lambda claim, pod: True)


@mutant("eviction-by-any-owned-claim", rule="DRA-862")
def _(patch: Patch) -> None:
    """A claim without an owner is that of no pod; one of another pod is used all the same."""
    patch.replace(f"{MODULE}:is_owned_by", lambda claim, pod: bool(claim["metadata"].get("ownerReferences")))


@mutant(
    "eviction-by-the-claim-of-others-for-extended-resources",
    rule="DRA-862",
    scenario="taints/eviction#a-pod-is-not-evicted-because-of-a-claim-for-extended-resources-that-it-does-not-own",
)
def _(patch: Patch) -> None:
    """The owner of a claim for extended resources is not compared."""
    field = "resource.kubernetes.io/extended-resource-claim"

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        return lambda claim, pod: field in (claim["metadata"].get("annotations") or {}) or original(claim, pod)

    patch.wrap(f"{MODULE}:is_owned_by", make)


@mutant("eviction-of-the-last-claim", rule="DRA-214")
def _(patch: Patch) -> None:
    """Only the last claim of a pod is looked at."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, pod: deque(original(self, pod), maxlen=1)

    patch.wrap(f"{CONTROLLER}.claims_of", make)


@mutant("eviction-of-the-first-consumer", rule="DRA-214")
def _(patch: Patch) -> None:
    """Only the first consumer of a claim is evicted."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def claims_of(self: Any, pod: Obj) -> Any:
            for claim in original(self, pod):
                if claim["status"]["reservedFor"][0]["uid"] == pod["metadata"]["uid"]:
                    yield claim

        return claims_of

    patch.wrap(f"{CONTROLLER}.claims_of", make)


@mutant("eviction-by-name-of-the-consumer", rule="DRA-214")
def _(patch: Patch) -> None:
    """A pod counts as a consumer if it has the consumer's name, whatever its uid."""

    def claims_of(self: Any, pod: Obj) -> Any:
        for name in dict.fromkeys(pod_state.claim_names(pod)):
            claim = self.claims.get(name, pod["metadata"]["namespace"])
            consumers = ((claim or {}).get("status") or {}).get("reservedFor") or ()
            if any(consumer["name"] == pod["metadata"]["name"] for consumer in consumers):
                yield claim

    patch.replace(f"{CONTROLLER}.claims_of", claims_of)


@mutant("eviction-deletes-by-name", rule="DRA-214")
def _(patch: Patch) -> None:
    """The deletion lacks the uid, so it meets a pod that has replaced the evicted one."""

    def evict(self: Any, pod: Obj) -> None:
        self.record_event(pod, "Marking for deletion")
        self.set_condition(pod)
        self._client.delete(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"])

    patch.replace(f"{CONTROLLER}.evict", evict)


@mutant("eviction-by-older-generations", rule="DRA-214")
def _(patch: Patch) -> None:
    """Taints of all generations of a pool count."""
    patch.replace(f"{EVICTION}:newest", list)


@mutant("eviction-of-one-taint", rule="DRA-214")
def _(patch: Patch) -> None:
    """Only the first taint of a device is looked at."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, device: itertools.islice(original(self, device), 1)

    patch.wrap(f"{CONTROLLER}.taints_of", make)


@mutant("eviction-of-the-last-taint", rule="DRA-214")
def _(patch: Patch) -> None:
    """Only the last taint of a device is looked at."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, device: list(original(self, device))[-1:]

    patch.wrap(f"{CONTROLLER}.taints_of", make)


def _tolerate(patch: Patch, change: Callable[[Obj], Obj]) -> None:
    """Let the eviction read another toleration than that of the allocation result."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        return lambda toleration, taint: original(change(toleration), taint)

    patch.wrap(f"{EVICTION}:tolerates", make)


@mutant("eviction-ignores-the-value", rule="DRA-214")
def _(patch: Patch) -> None:
    """A toleration of another value keeps the pod from eviction."""
    _tolerate(patch, lambda toleration: {**toleration, "operator": "Exists"})


@mutant("eviction-ignores-the-effect", rule="DRA-214")
def _(patch: Patch) -> None:
    """A toleration of NoSchedule keeps the pod from eviction."""
    _tolerate(patch, lambda toleration: {**toleration, "effect": "NoExecute"})


@mutant("eviction-spares-negative-seconds", rule="DRA-214")
def _(patch: Patch) -> None:
    """A negative tolerationSeconds counts as unlimited."""

    def change(toleration: Obj) -> Obj:
        limited = (toleration.get("tolerationSeconds") or 0) >= 0
        return toleration if limited else {k: v for k, v in toleration.items() if k != "tolerationSeconds"}

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def eviction_time(taint: Any, tolerations: Any, *, now: Any) -> Any:
            return original(taint, [change(item) for item in tolerations], now=now)

        return eviction_time

    patch.wrap(f"{EVICTION}:eviction_time", make)


def _share_tolerations(patch: Patch, choose: Callable[[list[Obj]], list[Obj]]) -> None:
    """Let every result of a claim have the tolerations that `choose` takes from all its results."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def results_of(claim: Any) -> Any:
            found = original(claim)
            return [{**result, "tolerations": choose(found)} for result in found]

        return results_of

    patch.wrap("reference_impl.taint_eviction.controller:results_of", make)


@mutant("one-toleration-protects-the-claim", rule="DRA-214")
def _(patch: Patch) -> None:
    """The tolerations of one request protect the devices of all requests of the claim."""
    _share_tolerations(patch, lambda results: [one for result in results for one in result.get("tolerations") or ()])


@mutant("every-request-has-to-tolerate", rule="DRA-222")
def _(patch: Patch) -> None:
    """A toleration counts only if every request of the claim has one."""

    def choose(results: list[Obj]) -> list[Obj]:
        held = [result.get("tolerations") or () for result in results]
        return [one for tolerations in held for one in tolerations] if all(held) else []

    _share_tolerations(patch, choose)


@mutant("limited-toleration-beats-an-unlimited-one", rule="DRA-222")
def _(patch: Patch) -> None:
    """A pod that tolerates a taint for good and for a time is evicted after that time."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def eviction_time(taint: Any, tolerations: Any, *, now: Any) -> Any:
            held = list(tolerations)
            limited = [item for item in held if item.get("tolerationSeconds") is not None]
            return original(taint, limited or held, now=now)

        return eviction_time

    patch.wrap(f"{EVICTION}:eviction_time", make)


@mutant("toleration-counts-from-its-notice", rule="DRA-221")
def _(patch: Patch) -> None:
    """tolerationSeconds count from when the controller noticed the taint; a restart begins them anew."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def eviction_time(self: Any, found: Any, result: Any) -> Any:
            timeless = {key: value for key, value in found.taint.items() if key != "timeAdded"}
            return original(self, replace(found, taint=timeless), result)

        return eviction_time

    patch.wrap(f"{CONTROLLER}.eviction_time", make)


@mutant("planned-eviction-not-moved-forward", rule="DRA-221")
def _(patch: Patch) -> None:
    """A planned eviction keeps its time if a taint with a shorter toleration is added."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def plan(self: Any, pod: Obj) -> Any:
            found, before = original(self, pod), self._pending.get(uid_of(pod))
            return before if found and before and found.at < before.at else found

        return plan

    patch.wrap(f"{CONTROLLER}.plan", make)


@mutant("eviction-time-of-the-last-claim", rule="DRA-221")
def _(patch: Patch) -> None:
    """A pod with several claims is evicted at the time of the last one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def plan(self: Any, pod: Any) -> Any:
            found = original(self, pod)
            times = [[at for _, at in self.claim_evictions(claim)] for claim in self.claims_of(pod)]
            return replace(found, at=min(times[-1])) if found and times and times[-1] else found

        return plan

    patch.wrap(f"{CONTROLLER}.plan", make)


@mutant("last-of-several-evictions-counts", rule="DRA-221")
def _(patch: Patch) -> None:
    """Of the eviction times of several taints the last one counts."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def plan(self: Any, pod: Any) -> Any:
            found = original(self, pod)
            times = [at for claim in self.claims_of(pod) for _, at in self.claim_evictions(claim)]
            return replace(found, at=max(times)) if found and times else found

        return plan

    patch.wrap(f"{CONTROLLER}.plan", make)


@mutant("cancelling-one-cancels-all", rule="DRA-224")
def _(patch: Patch) -> None:
    """Once an eviction was cancelled, no later one of a limited toleration takes place."""
    cancelled: list[bool] = []

    def noticing(original: Callable[..., Any]) -> Callable[..., Any]:
        def record_event(self: Any, pod: Any, message: str) -> None:
            if "Cancelling" in message:
                cancelled.append(True)
            original(self, pod, message)

        return record_event

    def late(original: Callable[..., Any]) -> Callable[..., Any]:
        def plan(self: Any, pod: Any) -> Any:
            found = original(self, pod)
            return replace(found, at=found.at + timedelta(days=1)) if found and cancelled else found

        return plan

    patch.wrap(f"{CONTROLLER}.record_event", noticing)
    patch.wrap(f"{CONTROLLER}.plan", late)


# DeviceTaintRules are on by default since Kubernetes 1.37.


def _select_without(patch: Patch, field: str) -> None:
    """Let rules select devices without comparing one field."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def selects(rule: Any, device: Any) -> bool:
            selector = rule["spec"].get("deviceSelector")
            if selector is None:
                return False
            rest = {key: value for key, value in selector.items() if key != field}
            return bool(original({**rule, "spec": {**rule["spec"], "deviceSelector": rest}}, device))

        return selects

    patch.wrap(f"{EVICTION}:selects", make)


@mutant("rule-ignores-its-driver", rule="DRA-226", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The driver of a rule's selector is not compared."""
    _select_without(patch, "driver")


@mutant("rule-ignores-its-pool", rule="DRA-226", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The pool of a rule's selector is not compared."""
    _select_without(patch, "pool")


@mutant("rule-ignores-its-device", rule="DRA-226", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The device of a rule's selector is not compared."""
    _select_without(patch, "device")


def _need(patch: Patch, *fields: str) -> None:
    """Let a rule select nothing unless its selector has these fields."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def selects(rule: Any, device: Any) -> bool:
            selector = rule["spec"].get("deviceSelector") or {}
            return all(field in selector for field in fields) and bool(original(rule, device))

        return selects

    patch.wrap(f"{EVICTION}:selects", make)


@mutant("rule-needs-a-device", rule="DRA-226", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A rule without a device selects nothing."""
    _need(patch, "device")


@mutant("rule-needs-a-pool", rule="DRA-226", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A rule with a device and no pool selects nothing."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def selects(rule: Any, device: Any) -> bool:
            selector = rule["spec"].get("deviceSelector") or {}
            return ("device" not in selector or "pool" in selector) and bool(original(rule, device))

        return selects

    patch.wrap(f"{EVICTION}:selects", make)


@mutant("empty-selector-selects-nothing", rule="DRA-226", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A rule with an empty selector concerns no device."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda rule, device: bool(rule["spec"].get("deviceSelector")) and original(rule, device)

    patch.wrap(f"{EVICTION}:selects", make)


@mutant("rule-overrides-tolerations", rule="DRA-226", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """Tolerations do not count against the taint of a rule."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def eviction_time(self: Any, found: Any, result: Any) -> Any:
            return original(self, found, {**result, "tolerations": []} if found.rule else result)

        return eviction_time

    patch.wrap(f"{CONTROLLER}.eviction_time", make)


def _facts(patch: Patch, change: Callable[[Any, Any, Any], dict[str, Any]]) -> None:
    """Let the status of a rule report other facts: `change(controller, rule, facts)` returns the wrong ones."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def facts(self: Any, rule: Any) -> Any:
            found = original(self, rule)
            return replace(found, **change(self, rule, found))

        return facts

    patch.wrap(f"{CONTROLLER}.facts", make)


def _claims(controller: Any, rule: Any) -> list[tuple[str, str]]:
    """Return the names of the claims with a selected device, each with the name of each consumer."""
    return [
        (claim["metadata"]["name"], consumer["name"])
        for claim in controller.claims.list()
        if any(taints.selects(rule, taints.device_of(result)) for result in results_of(claim))
        for consumer in claim["status"].get("reservedFor") or ()
    ]


def _consumers(controller: Any, rule: Any) -> list[str]:
    return [consumer for _, consumer in _claims(controller, rule)]


@mutant("trial-rule-counts-consumers", rule="DRA-228", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A rule with effect None counts a pod once for each of its claims."""
    _facts(patch, lambda controller, rule, facts: {"pods": len(_consumers(controller, rule))})


@mutant("trial-rule-counts-tolerant-pods", rule="DRA-228", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A rule with effect None counts pods that tolerate its taint or have no node."""
    _facts(patch, lambda controller, rule, facts: {"pods": len(set(_consumers(controller, rule)))})


@mutant("trial-rule-counts-claims", rule="DRA-228", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A rule with effect None counts claims in place of pods."""
    _facts(patch, lambda controller, rule, facts: {"pods": len({name for name, _ in _claims(controller, rule)})})


@mutant("rules-wait-for-each-other", rule="DRA-229", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A rule is not done before the evictions of all rules are."""

    def change(controller: Any, rule: Any, facts: Any) -> dict[str, Any]:
        return {"pods": max(facts.pods, sum(bool(plan.rules) for plan in controller._pending.values()))}

    _facts(patch, change)


@mutant("rules-are-done-together", rule="DRA-229", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A rule is done as soon as any rule is."""

    def change(controller: Any, rule: Any, facts: Any) -> dict[str, Any]:
        done = sum(controller._evicted.values())
        return {"pods": 0, "evicted": done} if done else {}

    _facts(patch, change)


@mutant("deleted-rule-still-evicts", rule="DRA-224", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The deletion of a rule is ignored."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def on_rule(self: Any, change: Any) -> None:
            if change.type != "DELETED":
                original(self, change)

        return on_rule

    patch.wrap(f"{CONTROLLER}._on_rule", make)


@mutant("eviction-ignores-extended-resources", rule="DRA-214c", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """Claims for extended resources do not count, as in kube-controller-manager 1.36."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def claims_of(self: Any, pod: Obj) -> Any:
            special = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
            return (claim for claim in original(self, pod) if name_of(claim) != special.get("resourceClaimName"))

        return claims_of

    patch.wrap(f"{CONTROLLER}.claims_of", make)


@mutant("eviction-ignores-extended-resources-beside-claims", rule="DRA-214c", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A claim for extended resources counts only if the pod has no claim from a template."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def claims_of(self: Any, pod: Obj) -> Any:
            status = pod.get("status") or {}
            special = (status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName")
            for claim in original(self, pod):
                if name_of(claim) != special or not status.get("resourceClaimStatuses"):
                    yield claim

        return claims_of

    patch.wrap(f"{CONTROLLER}.claims_of", make)


@mutant("late-claim-for-extended-resources-ignored", rule="DRA-460", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A pod is looked at again only if its node or its resourceClaimStatuses change."""

    def relevant(pod: Obj) -> tuple[Any, Any]:
        return pod["spec"].get("nodeName"), (pod.get("status") or {}).get("resourceClaimStatuses")

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def on_pod(self: Any, change: Any) -> None:
            if change.type != "MODIFIED" or relevant(change.old or {"spec": {}}) != relevant(change.object):
                original(self, change)

        return on_pod

    patch.wrap(f"{CONTROLLER}._on_pod", make)


@mutant("eviction-ignores-generated-claims", rule="DRA-214")
def _(patch: Patch) -> None:
    """Only claims that the pod names itself count."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def claims_of(self: Any, pod: Obj) -> Any:
            named = {entry.get("resourceClaimName") for entry in pod["spec"].get("resourceClaims") or ()}
            return (claim for claim in original(self, pod) if name_of(claim) in named)

        return claims_of

    patch.wrap(f"{CONTROLLER}.claims_of", make)


@mutant("eviction-before-the-binding", rule="DRA-214")
def _(patch: Patch) -> None:
    """A pod for which a claim is reserved is deleted before it has a node."""
    patch.replace(f"{CONTROLLER}.can_be_evicted", lambda self, pod: "deletionTimestamp" not in pod["metadata"])


@mutant("eviction-keeps-a-former-condition", rule="DRA-225")
def _(patch: Patch) -> None:
    """A pod that has the condition for another reason keeps that reason."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def set_condition(self: Any, pod: Obj) -> None:
            if all(one["type"] != "DisruptionTarget" for one in pod["status"].get("conditions") or ()):
                original(self, pod)

        return set_condition

    patch.wrap(f"{CONTROLLER}.set_condition", make)


@mutant("release-does-not-cancel", rule="DRA-224")
def _(patch: Patch) -> None:
    """An eviction takes place although the claim is no longer reserved for the pod."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, change: original(self, replace(change, old=None))

    patch.wrap(f"{CONTROLLER}._on_claim", make)


@mutant("trial-rule-counts-older-generations", rule="DRA-228b", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A rule with effect None counts the devices of all generations of a pool."""
    patch.replace(f"{CONTROLLER}._newest_slices", lambda self: self.slices.list())


@mutant("trial-rule-counts-free-devices", rule="DRA-228b", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A rule with effect None reports its published devices as allocated."""
    _facts(patch, lambda controller, rule, facts: {"allocated_devices": facts.published_devices})


@mutant("rule-counts-all-evictions", rule="DRA-229b", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The status of each rule counts the pods that any rule has evicted."""
    _facts(patch, lambda controller, rule, facts: {"evicted": sum(controller._evicted.values())})


@mutant("rule-without-evictions-is-completed", rule="DRA-229c", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A rule without pods to evict is reported as completed."""
    change_condition(patch, "NotStarted", reason="Completed")


@mutant("other-effects-are-in-progress", rule="DRA-229c", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A rule with effect NoSchedule has the condition True."""
    change_condition(patch, "OtherEffect", status="True")


@mutant("changed-rule-waits-for-its-period", rule="DRA-229d", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The status of a changed rule is not updated before the period is over."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def sync_rule(self: Any, rule: Any) -> None:
            if (rule.get("status") or {}).get("conditions"):
                self.loop.queue.add_after(Key("rule", name=name_of(rule)), 10.0)
            else:
                original(self, rule)

        return sync_rule

    patch.wrap(f"{CONTROLLER}.sync_rule", make)


@mutant("rule-loses-other-conditions", rule="DRA-229d", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The conditions of other writers are removed."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def with_condition(rule: Obj, wanted: Any, *, now: Any) -> Obj:
            return dict(original({**rule, "status": {}}, wanted, now=now))

        return with_condition

    patch.wrap(f"{STATUS}:with_condition", make)


@mutant("deleted-pods-stay-pending", rule="DRA-229e", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The status does not change when a pod ends before its eviction, as in kube-controller-manager 1.36."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def rules_changed(self: Any, names: Any) -> None:
            if any(set(names) & plan.rules for plan in self._pending.values()):
                original(self, names)

        return rules_changed

    patch.wrap(f"{CONTROLLER}._rules_changed", make)


@mutant("rule-keeps-its-first-numbers", rule="DRA-229b", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """The message of a rule is not written again while its reason stays the same."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def is_current(rule: Obj, wanted: Any) -> Any:
            return original(rule, wanted) or rule_status.held(rule).get("reason") == wanted.reason

        return is_current

    patch.wrap(f"{STATUS}:is_current", make)


@mutant("eviction-ignores-pod-groups", rule="DRA-214d", **ON)
def _(patch: Patch) -> None:
    """Pods whose PodGroup has reserved the claim are not evicted."""
    patch.replace(f"{MODULE}:is_reserved_for_group", lambda claim, pod: False)


@mutant("eviction-does-not-look-at-pod-groups", rule="DRA-214d", **ON)
def _(patch: Patch) -> None:
    """A taint that appears is not compared with claims that PodGroups have reserved."""
    patch.replace(f"{MODULE}:is_group", lambda entry: False)


@mutant("eviction-of-one-pod-of-a-group", rule="DRA-214d", **ON)
def _(patch: Patch) -> None:
    """Of the pods of a PodGroup only the first is evicted."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        first: dict[str, str] = {}

        def is_reserved(claim: Obj, pod: Obj) -> bool:
            return original(claim, pod) and first.setdefault(uid_of(claim), uid_of(pod)) == uid_of(pod)

        return is_reserved

    patch.wrap(f"{MODULE}:is_reserved_for_group", make)
