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
from apiserver_emulator.registry.update import update_object
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.reviews import Reviews
from apiserver_emulator.selectors import structured_selector
from apiserver_emulator.store import Record
from dra_api.clock import timestamp
from dra_api.request import Request, RequestInfo
from dra_api.status import StatusError, bad_request, conflict, method_not_allowed, not_found, too_many_requests
from dra_api.transport import Response

Obj = dict[str, Any]


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
        return with_warnings(_created(), ctx)

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
            self._check_budgets(record.obj, info)
        delete_object(self._core, resource, info, ctx, options)
        return with_warnings(_created(), ctx)

    def _check_budgets(self, pod: Obj, info: RequestInfo) -> None:
        labels = pod["metadata"].get("labels") or {}
        budgets = [
            budget
            for budget in self._core.store.snapshot(("policy", "poddisruptionbudgets"), info.namespace)[0]
            if (selector := (budget.obj.get("spec") or {}).get("selector")) is not None
            and structured_selector(selector)(labels)
        ]
        if len(budgets) > 1:
            text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise StatusError(500, "", text)
        for budget in budgets:
            status = budget.obj.get("status") or {}
            if int(status.get("disruptionsAllowed", 0)) > 0:
                continue
            refusal = too_many_requests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
            refusal.details["causes"] = [
                {
                    "reason": "DisruptionBudget",
                    "message": f"The disruption budget {budget.obj['metadata']['name']} needs "
                    f"{status.get('desiredHealthy', 0)} healthy pods and has {status.get('currentHealthy', 0)} "
                    "currently",
                }
            ]
            raise refusal


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
