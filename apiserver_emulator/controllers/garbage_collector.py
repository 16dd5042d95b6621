"""Garbage collection: dependents of deleted owners, foreground and orphan deletion.

Source: pkg/controller/garbagecollector.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.controllers.writes import ControllerWrites
from apiserver_emulator.core import Core
from apiserver_emulator.registry.delete import FOREGROUND, ORPHAN
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.store import Key, Record, TypeKey

Obj = dict[str, Any]


class GarbageCollector:
    """Deletes objects without owners, and finishes the deletion of owners. Keeps nothing between calls."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._writes = ControllerWrites(core, account="generic-garbage-collector", agent="generic-garbage-collector")

    def owner_deleted(self, uid: str) -> None:
        """Check all dependents of a deleted object."""
        for kind, key in self._core.store.dependents(uid):
            self.check_owners(kind, key)

    def check_owners(self, kind: TypeKey, key: Key) -> None:
        """Delete an object if none of its owners exists; otherwise remove its references to missing ones."""
        record = self._core.store.get(kind, key)
        owners = (record.obj["metadata"].get("ownerReferences") or []) if record is not None else []
        if record is None or not owners:
            return
        if any(self._is_unresolvable(owner, key[0]) for owner in owners):
            return
        present = [owner for owner in owners if self._owner(owner, key[0]) is not None]
        if not present:
            if "deletionTimestamp" not in record.obj["metadata"]:
                self._writes.delete_record(kind, key, record, _policy_of(record))
        elif len(present) < len(owners):
            missing = [owner["uid"] for owner in owners if owner not in present]
            self._writes.remove_owners(kind, key, missing)

    def finish_deletion(self, kind: TypeKey, key: Key) -> None:
        """Process the finalizer of an owner in foreground or orphan deletion."""
        record = self._core.store.get(kind, key)
        if record is None:
            return
        meta = record.obj["metadata"]
        finalizers = meta.get("finalizers") or ()
        dependents = self._core.store.dependents(meta["uid"])
        if ORPHAN in finalizers:
            for dependent_kind, dependent_key in dependents:
                self._writes.remove_owners(dependent_kind, dependent_key, [meta["uid"]])
            self._writes.remove_finalizer(kind, key, ORPHAN)
        elif FOREGROUND in finalizers:
            # All of them, not only up to the first that blocks: each call starts the deletion of a dependent.
            blocked = [self._blocks(each_kind, each_key, meta["uid"]) for each_kind, each_key in dependents]
            if not any(blocked):
                self._writes.remove_finalizer(kind, key, FOREGROUND)

    def _blocks(self, kind: TypeKey, key: Key, owner_uid: str) -> bool:
        """Delete a dependent, or its reference if it has another owner; return whether its owner must wait for it."""
        record = self._core.store.get(kind, key)
        if record is None:
            return False
        owners = record.obj["metadata"].get("ownerReferences") or ()
        if any(owner.get("uid") != owner_uid and self._owner(owner, key[0]) is not None for owner in owners):
            self._writes.remove_owners(kind, key, [owner_uid])
            return False
        if "deletionTimestamp" not in record.obj["metadata"]:
            self._writes.delete_record(kind, key, record, "Foreground")
        # Deleted at once if it had no finalizer: nothing to wait for.
        if self._core.store.get(kind, key) is None:
            return False
        return any(owner.get("blockOwnerDeletion") for owner in owners if owner.get("uid") == owner_uid)

    def _resource_of(self, reference: Obj) -> ResourceType | None:
        group = str(reference.get("apiVersion", "")).rpartition("/")[0]
        return self._core.resources.by_kind(group, reference.get("kind", ""))

    def _is_unresolvable(self, reference: Obj, namespace: str) -> bool:
        """Return whether an owner cannot be looked up: upstream's collector then keeps the object.

        Its kind is not served, or it is namespaced and the object is not.
        """
        resource = self._resource_of(reference)
        return resource is None or (resource.namespaced and not namespace)

    def _owner(self, reference: Obj, namespace: str) -> Record | None:
        resource = self._resource_of(reference)
        if resource is None:
            return None
        key = (namespace if resource.namespaced else "", reference.get("name", ""))
        record = self._core.store.get(resource.storage_key, key)
        # Another uid is a new object of the same name, not the owner.
        if record is None or record.obj["metadata"]["uid"] != reference.get("uid"):
            return None
        return record


def _policy_of(record: Record) -> str:
    finalizers = record.obj["metadata"].get("finalizers") or ()
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"
