"""Taint eviction: deletes pods whose devices got a NoExecute taint that their claims do not tolerate.

Data comes from the API server: pods, claims, ResourceSlices, and DeviceTaintRules if they are served. A pod's eviction
is computed from these at each change, so a restart loses only the number of pods that each rule has evicted.

Differences from kube-controller-manager v1.36:

- Claims for extended resources count too (upstream #141290: 1.36 overlooks `extendedResourceClaimStatus`).
- A pod without a node is left alone even if a claim is reserved for it: it does not run yet.
- A rule's first status is written before its pods are deleted, so that PodsPendingEviction can be seen (DRA-229).

Source: kube-controller-manager v1.36 pkg/controller/devicetainteviction; rules DRA-213 to DRA-229.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from dra_api.allocations import results_of
from dra_api.client import KubeClient
from dra_api.clock import Clock, timestamp
from dra_api.informer import Change, Informer
from dra_api.objects import (
    DEVICE_TAINT_RULES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    TAINT_RULE_VERSIONS,
    Obj,
    Resource,
    controller_of,
    meta,
    name_of,
    namespace_of,
    uid_of,
)
from reference_impl.claim_controller import pod_state
from reference_impl.errors import require_served
from reference_impl.loop import Loop
from reference_impl.pod_groups import group_name, is_group, is_group_owner, is_reserved_for_group
from reference_impl.recorder import EventRecorder
from reference_impl.taint_eviction import rule_status, taints
from reference_impl.taint_eviction.rate import EvictionRate
from reference_impl.taint_eviction.rule_status import RuleFacts
from reference_impl.taint_eviction.taints import DeviceId, FoundTaint

EVENT_REASON = "DeviceTaintManagerEviction"
CONDITION_TYPE = "DisruptionTarget"
CONDITION_REASON = "DeletionByDeviceTaintManager"
CONDITION_MESSAGE = "Device Taint manager: deleting due to NoExecute taint"

_REMEMBERED = 500
"""Evicted pods whose uids are kept, as in kube-controller-manager (maxUIDCacheEntries)."""


class Key(NamedTuple):
    """A key of the work queue: a pod, a PodGroup, a pool (`namespace` is its driver), the status of a rule, or a rule
    that was created, changed or deleted.
    """

    kind: Literal["pod", "group", "pool", "rule", "changed rule"]
    namespace: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class TaintEvictionOptions:
    """Settings of the taint eviction.

    `workers`: pods worked on at the same time. `device_taint_rules`: whether rules count if the API server serves them.
    `rule_status_period`: seconds between two status updates of one rule. `eviction_rate`: pods evicted in a second, 0
    for no limit, after a first `eviction_burst` at once.
    """

    workers: int = 2
    device_taint_rules: bool = True
    rule_status_period: float = 10.0
    eviction_rate: float = 0.0
    eviction_burst: int = 1


@dataclass(frozen=True, slots=True)
class Eviction:
    """The time of an eviction, and the names of the rules that cause it."""

    at: datetime
    rules: frozenset[str]


class TaintEviction:
    """Evicts pods from tainted devices.

    `client` reaches the API server and stays the caller's. Threads run between `start` and `stop`.
    """

    name = "taint-eviction"

    def __init__(self, client: KubeClient, *, clock: Clock, options: TaintEvictionOptions | None = None) -> None:
        self.options = options or TaintEvictionOptions()
        self._client = client
        self._clock = clock
        require_served(client, RESOURCE_CLAIMS)
        self.pods = Informer(client, PODS, clock=clock)
        self.pods.add_index("group", lambda pod: [f"{namespace_of(pod)}/{name}"] if (name := group_name(pod)) else [])
        self.claims = Informer(client, RESOURCE_CLAIMS, clock=clock)
        self.claims.add_index("pool", _pools_of_claim)
        self.slices = Informer(client, RESOURCE_SLICES, clock=clock)
        self.slices.add_index("pool", _pool_of_slice)
        informers = [self.pods, self.claims, self.slices]
        rule_resource = self._rule_resource()
        self.rules = Informer(client, rule_resource or DEVICE_TAINT_RULES, clock=clock)
        if rule_resource is not None:
            informers.append(self.rules)
        self.recorder = EventRecorder(client, component="device-taint-eviction", clock=clock)
        self.loop: Loop[Key] = Loop(
            self.name,
            self.reconcile,
            informers=informers,
            clock=clock,
            recorder=self.recorder,
            workers=self.options.workers,
        )
        self._rate = EvictionRate(clock, per_second=self.options.eviction_rate, burst=self.options.eviction_burst)
        self._lock = threading.Lock()
        self._pending: dict[str, Eviction] = {}
        self._announced: set[str] = set()  # rules whose first status was written (or tried)
        self._evicted: Counter[str] = Counter()  # pods by the rule that has evicted them
        # A pod that is evicted twice, because the watch has not delivered its deletion yet, counts once.
        self._last_evicted: OrderedDict[str, None] = OrderedDict()
        self.pods.on_change(self._on_pod)
        self.claims.on_change(self._on_claim)
        self.slices.on_change(self._on_slice)
        self.rules.on_change(self._on_rule)

    def start(self) -> None:
        """Begin to evict; returns when the informers are filled. Raises TimeoutError when they cannot be."""
        self.loop.start()

    def stop(self) -> None:
        """End all work. Idempotent."""
        self.loop.stop()

    # -- keys (handlers run under their informer's lock and read no other) --------------------

    def _on_pod(self, change: Change) -> None:
        if change.type == "DELETED":
            self._rate.forget(uid_of(change.object))
            with self._lock:
                pending = self._pending.pop(uid_of(change.object), None)
            self._rules_changed(pending.rules if pending else ())
            return
        if any(pod_state.claim_names(change.object)):
            self.loop.queue.add(Key("pod", namespace_of(change.object), name_of(change.object)))

    def _on_claim(self, change: Change) -> None:
        # The old version too: a pod that is no longer a consumer may have an eviction to cancel.
        self._add_consumers(filter(None, (change.object, change.old)))

    def _on_slice(self, change: Change) -> None:
        # Driver and pool of a slice cannot change.
        self.loop.queue.add(Key("pool", *_driver_and_pool(change.object)))

    def _on_rule(self, change: Change) -> None:
        if change.type == "DELETED":
            with self._lock:
                self._announced.discard(uid_of(change.object))
                self._evicted.pop(name_of(change.object), None)
        # Spec changes only: our own status writes must not start another round.
        elif change.old is not None and change.old["spec"] == change.object["spec"]:
            return
        self.loop.queue.add(Key("changed rule", name=name_of(change.object)))

    def reconcile(self, key: Key) -> None:
        """Work out one pod's eviction or one rule's status, or find the pods that a change concerns."""
        match key.kind:
            case "pod":
                if (pod := self.pods.get(key.name, key.namespace)) is not None:
                    self.sync_pod(pod)
            case "group":
                for pod in self.pods.by_index("group", f"{key.namespace}/{key.name}"):
                    self.loop.queue.add(Key("pod", key.namespace, name_of(pod)))
            case "pool":
                self._add_consumers(self.claims.by_index("pool", f"{key.namespace}/{key.name}"))
            case "rule":
                if (rule := self.rules.get(key.name)) is not None:
                    self.sync_rule(rule)
            case "changed rule":
                rule = self.rules.get(key.name)
                try:
                    if rule is not None:
                        self.sync_rule(rule)
                # Even if the status cannot be written, the pods have to be evicted.
                finally:
                    with self._lock:
                        self._announced.update([uid_of(rule)] if rule is not None else ())
                    self._add_consumers(self.claims.list())

    def _add_consumers(self, claims: Iterable[Obj]) -> None:
        for claim in claims:
            for entry in (claim.get("status") or {}).get("reservedFor") or ():
                # An entry of any other kind is taken for a pod: `claims_of` compares the uid.
                kind: Literal["group", "pod"] = "group" if is_group(entry) else "pod"
                self.loop.queue.add(Key(kind, namespace_of(claim), str(entry.get("name"))))

    # -- a pod -------------------------------------------------------------------------------------------------------

    def sync_pod(self, pod: Obj) -> None:
        """Evict the pod, plan to, or cancel the plan."""
        uid = uid_of(pod)
        plan = self.plan(pod)
        with self._lock:
            before = self._pending.pop(uid, None)
            if plan is not None:
                self._pending[uid] = plan
        if plan is None:
            self._rate.forget(uid)
            if before is not None:
                # A pod that has ended, or is being deleted anyway, gets no cancellation event.
                if self.can_be_evicted(pod):
                    self.record_event(pod, "Cancelling deletion")
                self._rules_changed(before.rules)
            return
        wait = (plan.at - self._clock.now()).total_seconds()
        if wait <= 0:
            wait = self._rate.wait(uid)
        if wait > 0:
            self.loop.queue.add_after(Key("pod", namespace_of(pod), name_of(pod)), wait)
            if before is None or before.rules != plan.rules:
                self._rules_changed(plan.rules)
            return
        self.evict(pod)
        with self._lock:
            self._pending.pop(uid, None)
            is_first = self._remember_evicted(uid)
            for rule in plan.rules:
                self._evicted[rule] += is_first
        self._rules_changed(plan.rules)

    def _remember_evicted(self, uid: str) -> bool:
        """Remember an evicted pod; return whether it is not remembered yet. The lock is held."""
        if uid in self._last_evicted:
            return False
        self._last_evicted[uid] = None
        if len(self._last_evicted) > _REMEMBERED:
            self._last_evicted.popitem(last=False)
        return True

    def _rules_changed(self, names: Iterable[str]) -> None:
        """Update the status of rules once the period is over: one update then covers all changes of that time."""
        for name in names:
            self.loop.queue.add_after(Key("rule", name=name), self.options.rule_status_period)

    def can_be_evicted(self, pod: Obj) -> bool:
        """Return whether the pod has a node and is not being deleted."""
        return pod_state.is_scheduled(pod) and not meta(pod).get("deletionTimestamp")

    def plan(self, pod: Obj) -> Eviction | None:
        """Return when to evict the pod: the earliest time of all taints on all its devices (DRA-214)."""
        if not self.can_be_evicted(pod):
            return None
        times: list[datetime] = []
        rules: set[str] = set()
        for claim in self.claims_of(pod):
            for found, at in self.claim_evictions(claim):
                times.append(at)
                if found.rule:
                    rules.add(found.rule)
        return Eviction(min(times), frozenset(rules)) if times else None

    def claims_of(self, pod: Obj) -> Iterator[Obj]:
        """Return the claims that are reserved for the pod or its PodGroup, extended resource claims included.

        A generated claim of others does not count, whatever the pod's status says (DRA-862).
        """
        for name, generated in pod_state.named_claims(pod):
            claim = self.claims.get(name, namespace_of(pod))
            if claim is None or (generated and not is_owned_by(claim, pod)):
                continue
            if pod_state.is_reserved_for(claim, pod) or is_reserved_for_group(claim, pod):
                yield claim

    def claim_evictions(self, claim: Obj) -> Iterator[tuple[FoundTaint, datetime]]:
        """Return each taint on the claim's devices that is not tolerated for good, and when it takes effect."""
        for result in results_of(claim):
            for found in self.taints_of(taints.device_of(result)):
                at = self.eviction_time(found, result)
                if at is not None:
                    yield found, at

    def taints_of(self, device: DeviceId) -> Iterator[FoundTaint]:
        """Return the NoExecute taints on a device: its slice's and those of matching rules."""
        yield from taints.slice_taints(self.slices.by_index("pool", f"{device.driver}/{device.pool}"), device)
        with self._lock:
            announced = set(self._announced)
        yield from taints.rule_taints((rule for rule in self.rules.list() if uid_of(rule) in announced), device)

    def eviction_time(self, found: FoundTaint, result: Obj) -> datetime | None:
        """Return when users of this allocation result are evicted; None if the taint is tolerated."""
        return taints.eviction_time(found.taint, result.get("tolerations") or (), now=self._clock.now())

    def evict(self, pod: Obj) -> None:
        """Write event and condition, then delete the pod (DRA-225). Idempotent.

        Raises API errors, also if the pod is gone or was replaced; the watch delivers that before the next attempt.
        """
        conditions = pod.get("status", {}).get("conditions") or ()
        marked = any(c.get("type") == CONDITION_TYPE and c.get("reason") == CONDITION_REASON for c in conditions)
        if not marked:
            self.record_event(pod, "Marking for deletion")
            self.set_condition(pod)
        self._client.delete(PODS, name_of(pod), namespace_of(pod), uid=uid_of(pod))

    def set_condition(self, pod: Obj) -> None:
        """Set the condition DisruptionTarget=True on the pod of this uid."""
        condition = {
            "type": CONDITION_TYPE,
            "status": "True",
            "reason": CONDITION_REASON,
            "message": CONDITION_MESSAGE,
            "lastTransitionTime": timestamp(self._clock.now()),
        }
        patch = {"metadata": {"uid": uid_of(pod)}, "status": {"conditions": [condition]}}
        self._client.patch(PODS, name_of(pod), patch, namespace_of(pod), kind="strategic", subresource="status")

    def record_event(self, pod: Obj, message: str) -> None:
        """Record an event on the pod."""
        self.recorder.event(pod, "Normal", EVENT_REASON, message)

    # -- a rule ------------------------------------------------------------------------------------------------------

    def sync_rule(self, rule: Obj) -> None:
        """Bring the rule's condition up to date (DRA-228, DRA-229)."""
        wanted = rule_status.condition_for(self.facts(rule))
        if not rule_status.is_current(rule, wanted):
            changed = rule_status.with_condition(rule, wanted, now=self._clock.now())
            self._client.update_status(self.rules.resource, changed)

    def facts(self, rule: Obj) -> RuleFacts:
        """Return the devices and pods that the rule matches, as if its effect were NoExecute."""
        taint = {**rule["spec"]["taint"], "effect": taints.NO_EXECUTE}
        selected = [
            item
            for claim in self.claims.list()
            for item in results_of(claim)
            if taints.selects(rule, taints.device_of(item))
        ]
        published = [device for device in taints.devices_in(self._newest_slices()) if taints.selects(rule, device[0])]
        pods = [pod for pod in self.pods.list() if self.can_be_evicted(pod) and self.is_concerned(pod, rule, taint)]
        with self._lock:
            evicted = self._evicted[name_of(rule)]
        return RuleFacts(
            effect=rule["spec"]["taint"]["effect"],
            pods=len(pods),
            namespaces=len({namespace_of(pod) for pod in pods}),
            evicted=evicted,
            published_devices=len(published),
            allocated_devices=len(selected),
        )

    def is_concerned(self, pod: Obj, rule: Obj, taint: Obj) -> bool:
        """Return whether the pod uses a device that the rule selects, and does not tolerate the taint for good."""
        return any(
            taints.selects(rule, taints.device_of(item)) and self.eviction_time(FoundTaint(taint), item) is not None
            for claim in self.claims_of(pod)
            for item in results_of(claim)
        )

    def _newest_slices(self) -> Iterator[Obj]:
        pools: dict[tuple[str, str], list[Obj]] = {}
        for item in self.slices.list():
            pools.setdefault(_driver_and_pool(item), []).append(item)
        for items in pools.values():
            yield from taints.newest(items)

    # -- set up ------------------------------------------------------------------------------------------------------

    def _rule_resource(self) -> Resource | None:
        wanted = self.options.device_taint_rules
        return self._client.first_served(DEVICE_TAINT_RULES, TAINT_RULE_VERSIONS) if wanted else None


def is_owned_by(claim: Obj, pod: Obj) -> bool:
    """Return whether the controller owner of a claim is this very pod, or its PodGroup."""
    owner = controller_of(claim)
    return pod_state.is_owned_by(claim, pod) or (owner is not None and is_group_owner(owner, pod))


def _driver_and_pool(item: Obj) -> tuple[str, str]:
    spec = item.get("spec") or {}
    return str(spec.get("driver")), str((spec.get("pool") or {}).get("name"))


def _pool_of_slice(item: Obj) -> list[str]:
    return ["/".join(_driver_and_pool(item))]


def _pools_of_claim(claim: Obj) -> set[str]:
    return {f"{item.get('driver')}/{item.get('pool')}" for item in results_of(claim)}
