"""Faults in when the scheduler writes and deletes BindRequests, for bind_requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_api.allocations import results_of_allocation
from dra_api.objects import BIND_REQUESTS, Obj, name_of, namespace_of
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.scheduler import bind_requests
from reference_impl.scheduler.cycle import Decision, Refusal
from reference_impl.scheduler.pod_claims import NotReady

_SCHEDULER = "reference_impl.scheduler.scheduler:Scheduler"
_LEDGER = "reference_impl.scheduler.claim_ledger:ClaimLedger"
_NODE_FILTER = "reference_impl.scheduler.node_filter"


@mutant("scheduler-schedules-claims-with-gate-off", rule="KAI-040")
def _(patch: Patch) -> None:
    """With the gate off, claims are ignored and the pod is scheduled."""
    patch.wrap(
        f"{_SCHEDULER}.refusal_without_dra",
        lambda original: lambda self, pod: Decision(pod, next(iter(self.view.nodes))),
    )


@mutant("scheduler-ignores-its-gate", rule="KAI-040b")
def _(patch: Patch) -> None:
    """The feature gate is set from what the API server serves, as in KAI 0.12 and 0.17."""
    patch.replace("reference_impl.scheduler.scheduler:dra_wanted", lambda options: True)


@mutant("scheduler-silent-with-gate-off", rule="KAI-040")
def _(patch: Patch) -> None:
    """With the gate off, a waiting pod with claims has no condition."""
    patch.replace(
        f"{_SCHEDULER}.refusal_without_dra",
        lambda self, pod: Refusal("not now", silent=True),
    )


def resolve_leniently(patch: Patch, phrase: str) -> None:
    """Treat a pod whose claims are not ready, for a reason with this phrase, as one that needs none."""

    def wrapped(original: Any) -> Any:
        def resolve(pod: Obj, find: Any) -> Any:
            try:
                return original(pod, find)
            except NotReady as error:
                if phrase in str(error):
                    return []
                # For other reasons the pod still waits.
                raise

        return resolve

    patch.wrap("reference_impl.scheduler.pod_claims:resolve", wrapped)


@mutant("scheduler-ignores-missing-claim", rule="KAI-042")
def _(patch: Patch) -> None:
    """A pod is scheduled although its claim does not exist."""
    resolve_leniently(patch, "not found")


@mutant("scheduler-ignores-ungenerated-claim", rule="KAI-043")
def _(patch: Patch) -> None:
    """A pod is scheduled although its template's claim does not exist yet."""
    resolve_leniently(patch, "has not been created yet")


@mutant("scheduler-ignores-missing-class", rule="KAI-044")
def _(patch: Patch) -> None:
    """A class that does not exist selects every device."""

    def wrapped(original: Any) -> Any:
        def resolve(pod: Obj, find: Any) -> Any:
            # `nothing` is the scenario's name for the class that it does not create.
            return [one for one in original(pod, find) if "nothing" not in str(one.claim["spec"])]

        return resolve

    patch.wrap("reference_impl.scheduler.pod_claims:resolve", wrapped)


@mutant("scheduler-requires-queue-on-every-claim", rule="KAI-047")
def _(patch: Patch) -> None:
    """Every shared claim needs a queue label."""

    def wrapped(original: Any) -> Any:
        def resolve(pod: Obj, find: Any) -> Any:
            found = original(pod, find)
            for one in found:
                if "kai.scheduler/queue" not in (one.claim["metadata"].get("labels") or {}):
                    raise NotReady("the claim has no queue")
            return found

        return resolve

    patch.wrap("reference_impl.scheduler.pod_claims:resolve", wrapped)


@mutant("scheduler-ignores-consumer-limit", rule="KAI-049")
def _(patch: Patch) -> None:
    """A claim accepts any number of pods."""
    patch.replace("reference_impl.scheduler.pod_claims:consumers_left", lambda claim, pod: True)


@mutant("scheduler-consumer-limit-off-by-one", rule="KAI-049")
def _(patch: Patch) -> None:
    """A claim accepts 255 pods only."""
    patch.replace("reference_impl.scheduler.pod_claims:MAX_RESERVED_FOR", 255)


@mutant("scheduler-ignores-pending-allocations", rule="KAI-050")
def _(patch: Patch) -> None:
    """Devices are free until a claim's status has them."""
    patch.replace("reference_impl.scheduler.claim_ledger:ClaimLedger.assume", lambda self, *args: None)
    patch.replace("reference_impl.scheduler.claim_ledger:ClaimLedger.promise", lambda self, *args: None)


@mutant("scheduler-ignores-allocations-of-other-requests", rule="KAI-052")
def _(patch: Patch) -> None:
    """Allocations in BindRequests that are not bound yet are not counted."""
    patch.replace("reference_impl.scheduler.claim_ledger:ClaimLedger.promise", lambda self, *args: None)


@mutant("scheduler-ended-pods-hold-devices", rule="KAI-053")
def _(patch: Patch) -> None:
    """A pod that has ended keeps the devices of its BindRequest."""
    patch.replace("reference_impl.scheduler.cluster_view:is_terminal", lambda pod: False)


@mutant("scheduler-ignores-allocated-node", rule="KAI-054")
def _(patch: Patch) -> None:
    """An allocated claim can be used anywhere."""
    patch.replace("reference_impl.scheduler.cycle:usable_on", lambda allocation, state: True)


@mutant("scheduler-binds-unsatisfied", rule="KAI-055")
def _(patch: Patch) -> None:
    """A pod whose claim cannot be allocated is bound to some node without it."""

    def wrapped(original: Any) -> Any:
        def decide(self: Any, pod: Obj) -> Any:
            found = original(self, pod)
            if isinstance(found, Refusal) and "cannot allocate" in found.message:
                # Any node: the fault is a binding without the claim.
                return Decision(pod, next(iter(self._view.nodes)))
            return found

        return decide

    patch.wrap("reference_impl.scheduler.cycle:Cycle.decide", wrapped)


FAILED = "reference_impl.scheduler.bind_requests:failed"


@mutant("scheduler-keeps-failed-requests", rule="KAI-070")
def _(patch: Patch) -> None:
    """A Failed BindRequest is never deleted."""
    patch.replace(FAILED, lambda request: False)


@mutant("scheduler-deletes-on-first-failure", rule="KAI-071")
def _(patch: Patch) -> None:
    """backoffLimit is ignored: the first failure is the last."""
    patch.replace(FAILED, lambda request: (request.get("status") or {}).get("phase") == "Failed")


@mutant("scheduler-backoff-off-by-one", rule="KAI-072")
def _(patch: Patch) -> None:
    """A BindRequest gets one attempt more than its backoffLimit."""

    def failed(request: Obj) -> bool:
        status, limit = request.get("status") or {}, request["spec"].get("backoffLimit")
        return status.get("phase") == "Failed" and (limit is None or int(status.get("failedAttempts") or 0) > limit)

    patch.replace(FAILED, failed)


@mutant("scheduler-keeps-requests-to-gone-nodes", rule="KAI-073")
def _(patch: Patch) -> None:
    """A BindRequest to a node that does not exist is kept."""
    patch.replace(f"{_SCHEDULER}._node_is_gone", lambda self, request: False)


@mutant("scheduler-deletes-succeeded", rule="KAI-075")
def _(patch: Patch) -> None:
    """A BindRequest that succeeded is deleted."""
    patch.replace(FAILED, lambda request: (request.get("status") or {}).get("phase") in ("Failed", "Succeeded"))


@mutant("scheduler-counts-bound-pods-only", rule="KAI-076")
def _(patch: Patch) -> None:
    """A pod counts against the node's resources only once it is bound."""

    def node_of(self: Any, key: Any, seen: Any) -> str:
        return str(seen.get("spec", {}).get("nodeName") or "")

    patch.replace("reference_impl.scheduler.cluster_view:ClusterView._node_of", node_of)


@mutant(
    "scheduler-counts-requests-by-name",
    rule="KAI-076",
    scenario="bind_requests/scheduler_cleans#pods-of-one-name-in-two-namespaces-each-count-with-their-own-requests",
)
def _(patch: Patch) -> None:
    """A pod counts with the requests of the first pod of its name."""
    known: dict[str, dict[str, int]] = {}

    def make(original: Callable[..., dict[str, int]]) -> Callable[..., dict[str, int]]:
        return lambda self, pod: known.setdefault(name_of(pod), original(self, pod))

    patch.wrap("reference_impl.scheduler.cluster_view:ClusterView.pod_needs", make)


@mutant("scheduler-uses-bind-request-name-for-pod", rule="KAI-077")
def _(patch: Patch) -> None:
    """A BindRequest is assigned to the pod of its own name."""
    patch.replace(
        "reference_impl.scheduler.bind_requests:pod_key",
        lambda request: (request["metadata"].get("namespace") or "", request["metadata"].get("name") or ""),
    )


@mutant("scheduler-double-allocation", rule="KAI-231")
def _(patch: Patch) -> None:
    """Devices are allocated to every claim."""
    patch.replace("reference_impl.scheduler.claim_ledger:ClaimLedger._recount", lambda self, key, entry: False)


@mutant("scheduler-ignores-failed-requests", rule="KAI-232")
def _(patch: Patch) -> None:
    """A failed BindRequest is ignored."""
    patch.replace(FAILED, lambda request: False)


@mutant("scheduler-never-releases-devices", rule="KAI-233")
def _(patch: Patch) -> None:
    """A device that was allocated once is never free again."""
    patch.replace("reference_impl.scheduler.allocator.taken:Taken.remove", lambda self, results: None)


@mutant("scheduler-stops-on-a-failed-clean-up", rule="KAI-482")
def _(patch: Patch) -> None:
    """While a stale BindRequest cannot be deleted no pod is scheduled, as in KAI 0.12 and 0.17."""
    failing: set[Any] = set()

    def cleaning(original: Any) -> Any:
        def _clean_up(self: Any, key: Any, pod: Obj, stale: list[Obj]) -> None:
            original(self, key, pod, stale)
            left = [self._client.find(BIND_REQUESTS, name_of(request), namespace_of(request)) for request in stale]
            (failing.add if any(left) else failing.discard)(key)

        return _clean_up

    def scheduling(original: Any) -> Any:
        def _schedule(self: Any, key: Any) -> None:
            if failing - {key}:
                self._queue.queue.add_after(key, 1.0)
            else:
                original(self, key)

        return _schedule

    patch.wrap(f"{_SCHEDULER}._clean_up", cleaning)
    patch.wrap(f"{_SCHEDULER}._schedule", scheduling)


@mutant("scheduler-uses-claims-in-deletion", rule="KAI-452")
def _(patch: Patch) -> None:
    """A pod is scheduled although its claim is being deleted."""
    resolve_leniently(patch, "is being deleted")


@mutant("scheduler-uses-claims-of-other-pods", rule="KAI-453")
def _(patch: Patch) -> None:
    """The claim that a pod's status names for a template is used, also if another pod owns it."""
    patch.replace("reference_impl.scheduler.pod_claims:belongs_to", lambda claim, pod: True)


@mutant("scheduler-keeps-a-pod-for-its-lost-node", rule="KAI-457")
def _(patch: Patch) -> None:
    """A pod with claims whose BindRequest was deleted is offered no other node, as in KAI 0.12."""
    stuck: set[Any] = set()

    def cleaning(original: Any) -> Any:
        def _clean_up(self: Any, key: Any, pod: Obj, stale: list[Obj]) -> None:
            original(self, key, pod, stale)
            if pod["spec"].get("resourceClaims"):
                stuck.add(key)

        return _clean_up

    def scheduling(original: Any) -> Any:
        def _schedule(self: Any, key: Any) -> None:
            if key not in stuck:
                original(self, key)

        return _schedule

    patch.wrap(f"{_SCHEDULER}._clean_up", cleaning)
    patch.wrap(f"{_SCHEDULER}._schedule", scheduling)


@mutant(
    "scheduler-misses-a-removed-node",
    rule="KAI-073",
    scenario="bind_requests/scheduler_cleans#a-bindrequest-whose-node-is-removed-is-replaced",
)
def _(patch: Patch) -> None:
    """A BindRequest is compared with the nodes only when its pod is looked at for another reason."""

    def node_deleted(self: Any, name: str) -> None:
        with self.lock:
            self.nodes.pop(name, None)

    patch.replace("reference_impl.scheduler.cluster_view:ClusterView._node_deleted", node_deleted)


@mutant("scheduler-replaces-one-request-to-a-removed-node", rule="KAI-073")
def _(patch: Patch) -> None:
    """Of the BindRequests to a node that is removed, only the first is looked at."""

    def node_deleted(self: Any, name: str) -> None:
        with self.lock:
            self.nodes.pop(name, None)
            self._pools.node_changed(name)
            lost = [request for request in self.requests.values() if bind_requests.selected_node(request) == name]
        for request in lost[:1]:
            self._listener("bind-request", bind_requests.pod_key(request))

    patch.replace("reference_impl.scheduler.cluster_view:ClusterView._node_deleted", node_deleted)


@mutant("scheduler-looks-at-no-condition", rule="KAI-317")
def _(patch: Patch) -> None:
    """Conditions of nodes are ignored, as in kube-scheduler."""
    patch.replace(f"{_NODE_FILTER}:unhealthy", lambda node: "")


@mutant("scheduler-looks-at-ready-only", rule="KAI-317")
def _(patch: Patch) -> None:
    """A node under pressure gets pods."""
    patch.replace(f"{_NODE_FILTER}:_HEALTHY", {"Ready": "True"})


@mutant("scheduler-takes-unknown-for-healthy", rule="KAI-317")
def _(patch: Patch) -> None:
    """A condition whose status is Unknown keeps no pods away."""

    def wrapped(original: Any) -> Any:
        def unhealthy(node: Obj) -> str:
            status = node.get("status") or {}
            known = [one for one in status.get("conditions") or () if one.get("status") != "Unknown"]
            found: str = original({**node, "status": {**status, "conditions": known}})
            return found

        return unhealthy

    patch.wrap(f"{_NODE_FILTER}:unhealthy", wrapped)


@mutant("scheduler-misses-a-healed-node", rule="KAI-317")
def _(patch: Patch) -> None:
    """Waiting pods are not tried again when a condition of a node changes."""
    compare = "reference_impl.scheduler.cluster_view:_same_for_pods"
    patch.wrap(
        compare,
        lambda original: (
            lambda before, after: original(
                {**before, "status": {**before["status"], "conditions": []}},
                {**after, "status": {**after["status"], "conditions": []}},
            )
        ),
    )


@mutant("scheduler-never-frees-what-others-promised", rule="KAI-455")
def _(patch: Patch) -> None:
    """A device of a BindRequest that this process did not write is marked for ever, as in KAI 0.12."""

    def wrapped(original: Any) -> Any:
        def promise(self: Any, source: str, key: Any, allocation: Obj) -> None:
            if key not in self._entries:
                self.taken.add(results_of_allocation(allocation))
            original(self, source, key, allocation)

        return promise

    patch.wrap(f"{_LEDGER}.promise", wrapped)


@mutant("scheduler-forgets-promises-of-changed-claims", rule="KAI-458")
def _(patch: Patch) -> None:
    """Each update of a claim without an allocation makes its devices free."""

    def forget(_ledger: Any, entry: Any) -> None:
        entry.pending.clear()
        entry.assumed.clear()

    _before_updates_without_allocation(patch, forget)


@mutant("scheduler-never-frees-changed-claims", rule="KAI-458")
def _(patch: Patch) -> None:
    """The devices that a BindRequest promised a claim are marked for ever when the claim changes before the binding."""

    def mark(ledger: Any, entry: Any) -> None:
        for promised in entry.pending.values():
            ledger.taken.add(results_of_allocation(promised))

    _before_updates_without_allocation(patch, mark)


def _before_updates_without_allocation(patch: Patch, act: Callable[[Any, Any], None]) -> None:
    """Call `act(ledger, entry)` for the entry of a claim before an update of the claim without an allocation counts."""

    def wrapped(original: Any) -> Any:
        def set_status(self: Any, key: Any, allocation: Obj | None) -> Any:
            entry = self._entries.get(key)
            if entry is not None and allocation is None:
                act(self, entry)
            return original(self, key, allocation)

        return set_status

    patch.wrap(f"{_LEDGER}.set_status", wrapped)


@mutant("scheduler-forgets-all-requests-of-a-claim", rule="KAI-052")
def _(patch: Patch) -> None:
    """When a BindRequest is gone, the devices of its claims are free, although another BindRequest has them too."""

    def wrapped(original: Any) -> Any:
        def withdraw(self: Any, source: str, keys: Any, **named: Any) -> Any:
            for key in keys:
                entry = self._entries.get(key)
                if entry is not None and source in entry.pending:
                    entry.pending = {source: entry.pending[source]}
            return original(self, source, keys, **named)

        return withdraw

    patch.wrap(f"{_LEDGER}.withdraw", wrapped)


@mutant("scheduler-prefers-requests-to-node-names", rule="KAI-076b")
def _(patch: Patch) -> None:
    """A bound pod counts on the node of its BindRequest."""

    def wrapped(original: Any) -> Any:
        def _node_of(self: Any, pod: Any, seen: Obj) -> str:
            found: str = original(self, pod, seen)
            promised = [request["spec"]["selectedNode"] for request in self.bind_requests_of(pod)]
            return promised[0] if found and promised else found

        return _node_of

    patch.wrap("reference_impl.scheduler.cluster_view:ClusterView._node_of", wrapped)


@mutant("scheduler-takes-any-request-of-the-name", rule="KAI-028")
def _(patch: Patch) -> None:
    """After a creation without a response, any BindRequest of the name is taken for the own one."""
    patch.replace("reference_impl.scheduler.bind_requests:same_decision", lambda one, other: True)
