"""The create-only subresources: pods/binding, pods/eviction, serviceaccounts/token.

Stateless over the store. Source: pkg/registry/core/pod/storage/{storage,eviction}.go.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from apiserver_emulator.core import Core
from apiserver_emulator.decoding import decode_body
from apiserver_emulator.handlers.options import WriteOptions, with_warnings
from apiserver_emulator.pods.binding import bind
from apiserver_emulator.registry.admission import admit
from apiserver_emulator.registry.delete import delete_object
from apiserver_emulator.registry.update import ATTEMPTS, update_object
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.reviews import Reviews
from apiserver_emulator.selectors import structured_selector
from apiserver_emulator.store import Record, StaleWriteError
from dra_api.clock import timestamp
from dra_api.request import Request, RequestInfo
from dra_api.status import StatusError, bad_request, conflict, method_not_allowed, not_found, too_many_requests
from dra_api.transport import Response

Obj = dict[str, Any]

_BUDGETS = ("policy", "poddisruptionbudgets")


class PodSubresources:
    """Serves POST on create-only subresources."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def subresource(self, resource: ResourceType, request: Request, info: RequestInfo, reviews: Reviews) -> Response:
        """Dispatch by subresource."""
        if info.verb != "create":
            raise method_not_allowed()
        if info.subresource == "binding":
            return self._bind(resource, request, info)
        if info.subresource == "eviction":
            return self._evict(resource, request, info)
        return reviews.token(request, info)

    def legacy_binding(self, request: Request, info: RequestInfo) -> Response:
        """POST to the old /bindings collection: the pod's name is the binding's."""
        resource = self._core.resources.find("", "pods")
        if resource is None:
            raise not_found("", "pods", "")
        body = _object(request, "Binding")
        name = (body.get("metadata") or {}).get("name", "")
        into = RequestInfo("create", info.path, "", "v1", info.namespace, "pods", name, "binding")
        return self._bind(resource, request, into)

    def _bind(self, resource: ResourceType, request: Request, info: RequestInfo) -> Response:
        binding = _object(request, "Binding")
        if (binding.get("metadata") or {}).get("name") != info.name:
            raise bad_request("name in URL does not match name in Binding object")
        options = WriteOptions.of(request)
        ctx = self._core.context(request, info, dry_run=options.dry_run, options=options.sent)
        metadata = {**(binding.get("metadata") or {}), "name": info.name, "namespace": info.namespace}
        shown = {**binding, "apiVersion": "v1", "kind": "Binding", "metadata": metadata}
        # A webhook gets the creation of a Binding, not the update of the pod.
        admit(self._core, replace(resource, kind="Binding"), "CREATE", info, ctx, shown, None)
        now = timestamp(self._core.clock.now())

        revision = (binding.get("metadata") or {}).get("resourceVersion")

        def produce(old: Record) -> Obj:
            if revision and revision != old.obj["metadata"]["resourceVersion"]:
                raise conflict(
                    "",
                    "pods",
                    info.name,
                    f"StorageError: invalid object, Code: 4, Key: /registry/pods/{info.namespace}/{info.name}, "
                    "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ResourceVersion in precondition: "
                    f"{revision}, ResourceVersion in object meta: {old.obj['metadata']['resourceVersion']}",
                )
            return bind(old.copy(), binding, now=now)

        manager = options.manager_for(request)
        update_object(self._core, resource, info, ctx, produce, manager=manager, admitted=True)
        return with_warnings(_created(), ctx.warnings)

    def _evict(self, resource: ResourceType, request: Request, info: RequestInfo) -> Response:
        eviction = _object(request, "Eviction")
        if (eviction.get("metadata") or {}).get("name") != info.name:
            raise bad_request("name in URL does not match name in Eviction object")
        options: Obj = dict(eviction.get("deleteOptions") or {})
        if request.params("dryRun"):
            options["dryRun"] = request.params("dryRun")
        ctx = self._core.context(request, info, dry_run=bool(options.get("dryRun")))
        record = self._core.store.get(resource.storage_key, (info.namespace, info.name))
        if record is not None and not _disruption_is_free(record.obj):
            self._use_budget(record.obj, info, dry_run=ctx.dry_run)
        delete_object(self._core, resource, info, ctx, options)
        return with_warnings(_created(), ctx.warnings)

    def _use_budget(self, pod: Obj, info: RequestInfo, *, dry_run: bool) -> None:
        """Count the disruption of a pod in the budget that selects it. Raises 429 if the budget allows none."""
        for _ in range(ATTEMPTS):
            budget = self._budget_of(pod, info)
            if budget is None or _spares_unready(pod, budget.obj):
                return
            changed = budget.copy()
            status = changed.setdefault("status", {})
            _check_budget(changed)
            status["disruptionsAllowed"] = int(status["disruptionsAllowed"]) - 1
            status.setdefault("disruptedPods", {})[info.name] = timestamp(self._core.clock.now())
            if dry_run:
                return
            key = (info.namespace, changed["metadata"]["name"])
            try:
                self._core.store.update(_BUDGETS, key, changed, budget)
            except StaleWriteError:
                continue  # another eviction was faster
            return
        raise too_many_requests("Cannot evict pod as its disruption budget changes too often.", 10)

    def _budget_of(self, pod: Obj, info: RequestInfo) -> Record | None:
        """Return the budget that selects a pod. Raises 500 for several."""
        labels = pod["metadata"].get("labels") or {}
        budgets = [
            budget
            for budget in self._core.store.snapshot(_BUDGETS, info.namespace)[0]
            if (selector := (budget.obj.get("spec") or {}).get("selector")) is not None
            and structured_selector(selector)(labels)
        ]
        if len(budgets) > 1:
            text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise StatusError(500, "", text)
        return budgets[0] if budgets else None


def _check_budget(budget: Obj) -> None:
    """Raise 429 if a budget allows no disruption, or if its status is not of its latest generation."""
    name, status = budget["metadata"]["name"], budget["status"]
    why = ""
    if int(status.get("observedGeneration", 0)) < int(budget["metadata"].get("generation", 0)):
        why = f"The disruption budget {name} is still being processed by the server."
    elif int(status.get("disruptionsAllowed", 0)) <= 0:
        healthy = f"{status.get('desiredHealthy', 0)} healthy pods and has {status.get('currentHealthy', 0)} currently"
        why = f"The disruption budget {name} needs {healthy}"
    if why:
        refusal = too_many_requests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
        refusal.details["causes"] = [{"reason": "DisruptionBudget", "message": why}]
        raise refusal


def _spares_unready(pod: Obj, budget: Obj) -> bool:
    """Return whether a budget does not count the disruption of a pod that is not ready."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    if any((one.get("type"), one.get("status")) == ("Ready", "True") for one in conditions):
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = int(status.get("desiredHealthy", 0))
    return 0 < desired <= int(status.get("currentHealthy", 0))


def _disruption_is_free(pod: Obj) -> bool:
    """Return whether a disruption budget does not count the pod: it is pending, finished or being deleted."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Pending", "Succeeded", "Failed") or "deletionTimestamp" in pod["metadata"]


def _object(request: Request, kind: str) -> Obj:
    if not request.body:
        raise bad_request("the body of the request was empty")
    found = decode_body(request.body, request.headers.get("content-type", "")).obj
    if found.get("kind") not in (None, "", kind):
        raise bad_request(f"the request wants an object of kind {kind}, not {found.get('kind')}")
    return found


def _created() -> Response:
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return Response(201, {"content-type": "application/json"}, orjson.dumps(body))
