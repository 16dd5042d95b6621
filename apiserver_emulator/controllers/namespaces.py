"""The namespace and service account controllers, and the deletion of custom resources with their definition.

Source: pkg/controller/namespace/deletion, pkg/controller/serviceaccount, k8s.io/apiextensions-apiserver
pkg/controller/finalizer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver_emulator.controllers.writes import ControllerWrites
from apiserver_emulator.core import Core
from apiserver_emulator.store import Key, TypeKey
from dra_api.status import StatusError

Obj = dict[str, Any]

NAMESPACES: TypeKey = ("", "namespaces")
SERVICE_ACCOUNTS: TypeKey = ("", "serviceaccounts")
CRDS: TypeKey = ("apiextensions.k8s.io", "customresourcedefinitions")
CRD_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


class ServiceAccountController:
    """Creates the service account `default` of each namespace."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._writes = ControllerWrites(core, account="service-account-controller", agent="service-account-controller")

    def create_default(self, namespace: str) -> None:
        """Create the account unless it exists."""
        if self._core.store.get(SERVICE_ACCOUNTS, (namespace, "default")) is None:
            account: Obj = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
            self._writes.create(SERVICE_ACCOUNTS, (namespace, "default"), account)


class DefinitionController:
    """Deletes the objects of a CustomResourceDefinition before the definition."""

    def __init__(self, core: Core) -> None:
        self._core = core
        # A real API server does this itself; the account that collects garbage has the same permissions.
        self._writes = ControllerWrites(core, account="generic-garbage-collector", agent="generic-garbage-collector")

    def empty(self, key: Key) -> None:
        """Delete all objects of a definition in deletion, and remove its finalizer when none is left."""
        record = self._core.store.get(CRDS, key)
        if record is None or CRD_FINALIZER not in record.obj["metadata"].get("finalizers", ()):
            return
        spec = record.obj["spec"]
        kind: TypeKey = (spec["group"], spec["names"]["plural"])
        for found in self._core.store.snapshot(kind)[0]:
            meta = found.obj["metadata"]
            if "deletionTimestamp" not in meta:
                self._writes.delete_record(kind, (meta.get("namespace", ""), meta["name"]), found, "Background")
        # Read again: finalizers may have kept some of them.
        if not self._core.store.snapshot(kind)[0]:
            self._writes.remove_finalizer(CRDS, key, CRD_FINALIZER)


class NamespaceController:
    """Deletes the objects of a namespace before the namespace. `report(kind, key, error)` gets refused deletions."""

    def __init__(self, core: Core, report: Callable[[TypeKey, Key, StatusError], None]) -> None:
        self._core = core
        self._report = report
        self._writes = ControllerWrites(core, account="namespace-controller", agent="namespace-controller")

    def empty(self, name: str) -> None:
        """Delete the objects of a namespace in deletion, and the namespace itself when none is left."""
        record = self._core.store.get(NAMESPACES, ("", name))
        if record is None or "deletionTimestamp" not in record.obj["metadata"]:
            return
        remaining = 0
        for resource in self._core.resources.all():
            # A collection that two resources share is emptied once.
            if not resource.namespaced or resource.stored_with is not None:
                continue
            for found in self._core.store.snapshot(resource.storage_key, name)[0]:
                key = (name, found.obj["metadata"]["name"])
                if "deletionTimestamp" not in found.obj["metadata"]:
                    try:
                        self._writes.delete(resource.storage_key, key, {"propagationPolicy": "Background"})
                    except StatusError as error:  # the other objects are deleted all the same
                        self._report(resource.storage_key, key, error)
                remaining += self._core.store.get(resource.storage_key, key) is not None
        if not remaining:
            self._finish(name)

    def _finish(self, name: str) -> None:
        """Remove the finalizer of spec, as the subresource `finalize` does, and delete the namespace."""
        store = self._core.store
        with store.lock:
            record = store.get(NAMESPACES, ("", name))
            if record is None:
                return
            if record.obj.get("spec") != {}:
                obj = record.copy()
                obj["spec"] = {}
                record = store.update(NAMESPACES, ("", name), obj, record)
            if not record.obj["metadata"].get("finalizers"):
                store.delete(NAMESPACES, ("", name), record)
