"""Writes of controllers: the operations of `registry` as a service account of kube-controller-manager."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from apiserver_emulator.auth import ADMIN
from apiserver_emulator.core import Core
from apiserver_emulator.registry.create import create_object
from apiserver_emulator.registry.delete import delete_object
from apiserver_emulator.registry.update import update_object
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.store import Key, Record, TypeKey
from apiserver_emulator.strategy import RequestContext
from dra_api.request import Request, RequestInfo, User

Obj = dict[str, Any]

_MANAGER = "kube-controller-manager"


class ControllerWrites:
    """The writes of one controller; `account` is its service account in kube-system, `agent` its user agent."""

    def __init__(self, core: Core, *, account: str, agent: str) -> None:
        self._core = core
        # In system:masters: RBAC never refuses a write of a controller.
        self._user = User(f"system:serviceaccount:kube-system:{account}", groups=ADMIN.groups)
        self._agent = f"{_MANAGER}/{agent}"

    def create(self, kind: TypeKey, key: Key, obj: Obj) -> None:
        """Create an object unless its resource is not served. Raises StatusError."""
        resource = self._core.resources.find(*kind)
        if resource is not None:
            info = RequestInfo("create", "", resource.group, resource.storage_version, key[0], resource.plural)
            create_object(self._core, resource, info, self._context("POST", info), obj, manager=_MANAGER)

    def delete(self, kind: TypeKey, key: Key, options: Obj) -> None:
        """Delete an object. Raises StatusError."""
        resource = self._core.resources.find(*kind)
        if resource is not None:
            info = request_info(resource, key, "delete")
            delete_object(self._core, resource, info, self._context("DELETE", info), options)

    def delete_record(self, kind: TypeKey, key: Key, record: Record, policy: str) -> None:
        """Delete the object of a record, and no newer one of the same name. Raises StatusError."""
        preconditions = {"uid": record.obj["metadata"]["uid"]}
        self.delete(kind, key, {"preconditions": preconditions, "propagationPolicy": policy})

    def remove_owners(self, kind: TypeKey, key: Key, uids: list[str]) -> None:
        """Remove the owner references to these uids. Raises StatusError."""
        self._filter(kind, key, "ownerReferences", lambda owner: owner.get("uid") not in uids)

    def remove_finalizer(self, kind: TypeKey, key: Key, finalizer: str) -> None:
        """Remove a finalizer, which deletes the object if it was the last one. Raises StatusError."""
        self._filter(kind, key, "finalizers", lambda found: found != finalizer)

    def _context(self, method: str, info: RequestInfo) -> RequestContext:
        request = Request(method, "", headers={"user-agent": self._agent}, user=self._user)
        return self._core.context(request, info)

    def replace(self, kind: TypeKey, key: Key, field: str, value: Any) -> None:
        """Set a field at the top of an object. Raises StatusError."""

        def produce(old: Record) -> Obj:
            return {**old.copy(), field: value}

        self._update(kind, key, produce)

    def replace_status(self, kind: TypeKey, key: Key, status_of: Callable[[Record], Obj]) -> None:
        """Set the status that `status_of` returns for the stored object. Raises StatusError."""

        def produce(old: Record) -> Obj:
            return {**old.copy(), "status": status_of(old)}

        self._update(kind, key, produce, subresource="status")

    def _filter(self, kind: TypeKey, key: Key, field: str, keep: Callable[[Any], bool]) -> None:
        def produce(old: Record) -> Obj:
            obj = old.copy()
            left = [item for item in obj["metadata"].get(field) or () if keep(item)]
            if left:
                obj["metadata"][field] = left
            else:
                obj["metadata"].pop(field, None)
            return obj

        self._update(kind, key, produce)

    def _update(self, kind: TypeKey, key: Key, produce: Callable[[Record], Obj], *, subresource: str = "") -> None:
        resource = self._core.resources.find(*kind)
        if resource is not None:
            info = replace(request_info(resource, key, "patch"), subresource=subresource)
            update_object(self._core, resource, info, self._context("PATCH", info), produce, manager=_MANAGER)


def request_info(resource: ResourceType, key: Key, verb: str) -> RequestInfo:
    """Return the attributes of a request for one object in the storage version."""
    return RequestInfo(verb, "", resource.group, resource.storage_version, key[0], resource.plural, key[1])
