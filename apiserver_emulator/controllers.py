"""The controllers that the emulator runs itself: garbage collection, namespace and CRD deletion, service accounts.

One thread works off a queue that commits fill. It writes as the service accounts of kube-controller-manager, through
the same pipeline as requests. A task that raises anything unexpected is recorded as a failure of the emulator, and
the thread goes on with the next one. Started and stopped by the server.

Source: pkg/controller/garbagecollector (background, foreground, orphan), pkg/controller/namespace/deletion.
"""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Iterable
from typing import Any

from apiserver_emulator.auth import ADMIN
from apiserver_emulator.core import Core
from apiserver_emulator.failures import Failures
from apiserver_emulator.registry.create import create_object
from apiserver_emulator.registry.delete import FOREGROUND, ORPHAN, delete_object
from apiserver_emulator.registry.update import update_object
from apiserver_emulator.resource_types import ResourceType
from apiserver_emulator.store import Event, Key, Record, TypeKey
from dra_api.request import Request, RequestInfo, User
from dra_api.status import StatusError

Obj = dict[str, Any]

NAMESPACES: TypeKey = ("", "namespaces")
CRDS: TypeKey = ("apiextensions.k8s.io", "customresourcedefinitions")
CRD_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
GC_AGENT = "kube-controller-manager/generic-garbage-collector"
GC_USER = User(
    "system:serviceaccount:kube-system:generic-garbage-collector",
    groups=("system:serviceaccounts", "system:serviceaccounts:kube-system", *ADMIN.groups),
)
NAMESPACE_AGENT = "kube-controller-manager/namespace-controller"
NAMESPACE_USER = User(
    "system:serviceaccount:kube-system:namespace-controller",
    groups=("system:serviceaccounts", "system:serviceaccounts:kube-system", *ADMIN.groups),
)

ACCOUNT_AGENT = "kube-controller-manager/service-account-controller"
ACCOUNT_USER = User(
    "system:serviceaccount:kube-system:service-account-controller",
    groups=("system:serviceaccounts", "system:serviceaccounts:kube-system", *ADMIN.groups),
)


# Answers that a controller expects: another writer was faster (its commit queued what is left to do), or the namespace
# that needs a service account is being deleted.
_EXPECTED = frozenset({"NotFound", "Conflict", "AlreadyExists"})
_TERMINATING = "NamespaceTerminating"


class Controllers:
    """All controllers of one server, in one thread."""

    def __init__(self, core: Core, failures: Failures) -> None:
        self._core = core
        self._failures = failures
        self._condition = threading.Condition()
        self._work: deque[tuple[str, TypeKey, Key, str]] = deque()
        self._busy = False
        self._stopping = False
        self._thread: threading.Thread | None = None
        core.store.on_commit(self._enqueue)

    @staticmethod
    def new_uid() -> str:
        """Return a UID for an object that exists from the start."""
        return str(uuid.uuid4())

    def start(self) -> None:
        """Start the thread. Idempotent."""
        if self._thread is None:
            self._stopping = False
            self._thread = threading.Thread(target=self._run, name="apiserver-controllers", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread. Idempotent."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def is_idle(self) -> bool:
        """Return whether the queue is empty and no task runs."""
        with self._condition:
            return not self._work and not self._busy

    def wait_idle(self, timeout_s: float) -> bool:
        """Wait until the queue is empty and no task runs (for tests); return whether it was in time."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._work and not self._busy, timeout_s)

    # --- queue -----------------------------------------------------------------------------------------------

    def _enqueue(self, kind: TypeKey, event: Event) -> None:
        meta = event.record.obj["metadata"]
        task = ""
        if event.type == "DELETED":
            task = "deleted"
            definition = ("", f"{kind[1]}.{kind[0]}")
            held = self._core.store.get(CRDS, definition)
            if held is not None and "deletionTimestamp" in held.obj["metadata"]:
                self._push("crd", CRDS, definition, "")
            if kind != NAMESPACES and event.key[0] and self._terminating(event.key[0]):
                self._push("namespace", NAMESPACES, ("", event.key[0]), "")
        elif "deletionTimestamp" in meta:
            if kind == NAMESPACES:
                task = "namespace"
            elif kind == CRDS:
                task = "crd"
            elif FOREGROUND in meta.get("finalizers", ()) or ORPHAN in meta.get("finalizers", ()):
                task = "finalizer"
        elif kind == NAMESPACES and event.type == "ADDED":
            task = "account"
        if (
            not task
            and meta.get("ownerReferences")
            and (event.old is None or event.old.obj["metadata"].get("ownerReferences") != meta["ownerReferences"])
        ):
            task = "owners"
        if task:
            self._push(task, kind, event.key, meta.get("uid", ""))
        if event.type == "DELETED":
            self._retry_owners(meta.get("ownerReferences") or (), event.key[0])

    def _retry_owners(self, owners: Iterable[Obj], namespace: str) -> None:
        """Queue the owners of a deleted object: one in foreground deletion may have waited for it."""
        for owner in owners:
            group = str(owner.get("apiVersion", "")).rpartition("/")[0]
            resource = self._core.resources.by_kind(group, owner.get("kind", ""))
            if resource is not None:
                where = namespace if resource.namespaced else ""
                self._push("finalizer", resource.storage_key, (where, owner.get("name", "")), "")

    def _terminating(self, namespace: str) -> bool:
        record = self._core.store.get(NAMESPACES, ("", namespace))
        return record is not None and "deletionTimestamp" in record.obj["metadata"]

    def _push(self, task: str, kind: TypeKey, key: Key, uid: str) -> None:
        with self._condition:
            self._work.append((task, kind, key, uid))
            self._condition.notify_all()

    # --- the thread --------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._condition:
                self._busy = False
                self._condition.notify_all()
                while not self._work and not self._stopping:
                    self._condition.wait()
                if self._stopping:
                    return
                task, kind, key, uid = self._work.popleft()
                self._busy = True
            try:
                self._perform(task, kind, key, uid)
            except Exception as error:  # a dead thread would leave garbage for the rest of the run
                self._report(task, kind, key, error)

    def _perform(self, task: str, kind: TypeKey, key: Key, uid: str) -> None:
        if task == "deleted":
            self._owner_gone(kind, key, uid)
        elif task == "account":
            self._default_account(key[1])
        elif task == "namespace":
            self._empty_namespace(key[1])
        elif task == "crd":
            self._empty_crd(key)
        elif task == "finalizer":
            self._finalize(kind, key)
        else:
            self._check_owners(kind, key)

    def _report(self, task: str, kind: TypeKey, key: Key, error: Exception) -> None:
        """Record an unexpected error. No task is retried, so a refusal leaves its work undone for good."""
        if isinstance(error, StatusError) and (error.reason in _EXPECTED or _namespace_terminates(error)):
            return
        self._failures.record(
            f"controller task {task!r} for {'/'.join(filter(None, kind))} {'/'.join(filter(None, key))}", error
        )

    # --- garbage -----------------------------------------------------------------------------------------------

    def _owner_gone(self, kind: TypeKey, key: Key, uid: str) -> None:
        for dependent_kind, dependent_key in self._core.store.dependents(uid):
            self._check_owners(dependent_kind, dependent_key)

    def _check_owners(self, kind: TypeKey, key: Key) -> None:
        """Delete an object whose owners are all gone; drop the dangling references of one that keeps an owner."""
        record = self._core.store.get(kind, key)
        if record is None:
            return
        owners = record.obj["metadata"].get("ownerReferences") or []
        if not owners:
            return
        present = [owner for owner in owners if self._owner(owner, key[0]) is not None]
        if not present:
            if "deletionTimestamp" not in record.obj["metadata"]:
                policy = self._policy_of(record)
                self._delete(kind, key, record, policy)
            return
        if len(present) < len(owners):
            gone = [owner["uid"] for owner in owners if owner not in present]
            self._strip_owners(kind, key, gone)

    @staticmethod
    def _policy_of(record: Record) -> str:
        finalizers = record.obj["metadata"].get("finalizers") or ()
        if ORPHAN in finalizers:
            return "Orphan"
        return "Foreground" if FOREGROUND in finalizers else "Background"

    def _owner(self, reference: Obj, namespace: str) -> Record | None:
        group = str(reference.get("apiVersion", "")).rpartition("/")[0]
        resource = self._core.resources.by_kind(group, reference.get("kind", ""))
        if resource is None:
            return None
        where = namespace if resource.namespaced else ""
        record = self._core.store.get(resource.storage_key, (where, reference.get("name", "")))
        if record is None or record.obj["metadata"]["uid"] != reference.get("uid"):
            return None
        return record

    def _finalize(self, kind: TypeKey, key: Key) -> None:
        """Foreground and orphan deletion of an owner that waits for it."""
        record = self._core.store.get(kind, key)
        if record is None:
            return
        meta = record.obj["metadata"]
        finalizers = meta.get("finalizers") or ()
        dependents = self._core.store.dependents(meta["uid"])
        if ORPHAN in finalizers:
            for dependent_kind, dependent_key in dependents:
                self._strip_owners(dependent_kind, dependent_key, [meta["uid"]])
            self._drop_finalizer(kind, key, ORPHAN)
        elif FOREGROUND in finalizers:
            blocked = False
            for dependent_kind, dependent_key in dependents:
                dependent = self._core.store.get(dependent_kind, dependent_key)
                if dependent is None:
                    continue
                others = [
                    owner
                    for owner in dependent.obj["metadata"].get("ownerReferences") or ()
                    if owner.get("uid") != meta["uid"] and self._owner(owner, dependent_key[0]) is not None
                ]
                if others:
                    self._strip_owners(dependent_kind, dependent_key, [meta["uid"]])
                    continue
                mine = [
                    owner
                    for owner in dependent.obj["metadata"].get("ownerReferences") or ()
                    if owner.get("uid") == meta["uid"]
                ]
                if "deletionTimestamp" not in dependent.obj["metadata"]:
                    self._delete(dependent_kind, dependent_key, dependent, "Foreground")
                still = self._core.store.get(dependent_kind, dependent_key)
                if still is not None and any(owner.get("blockOwnerDeletion") for owner in mine):
                    blocked = True
            if not blocked:
                self._drop_finalizer(kind, key, FOREGROUND)

    # --- writes ------------------------------------------------------------------------------------------------

    def _resource(self, kind: TypeKey) -> ResourceType | None:
        return self._core.resources.find(*kind)

    def _info(self, resource: ResourceType, key: Key, verb: str) -> RequestInfo:
        return RequestInfo(verb, "", resource.group, resource.storage_version, key[0], resource.plural, key[1])

    def _delete(self, kind: TypeKey, key: Key, record: Record, policy: str) -> None:
        resource = self._resource(kind)
        if resource is None:
            return
        info = self._info(resource, key, "delete")
        request = Request("DELETE", "", headers={"user-agent": GC_AGENT}, user=GC_USER)
        meta = record.obj["metadata"]
        options: Obj = {"preconditions": {"uid": meta["uid"]}, "propagationPolicy": policy}
        delete_object(self._core, resource, info, self._core.context(request, info), options)

    def _edit(self, kind: TypeKey, key: Key, change: Any, *, user: User = GC_USER, agent: str = GC_AGENT) -> None:
        resource = self._resource(kind)
        if resource is None:
            return
        info = self._info(resource, key, "patch")
        request = Request("PATCH", "", headers={"user-agent": agent}, user=user)

        def produce(old: Record) -> Obj:
            obj = old.copy()
            change(obj["metadata"])
            return obj

        update_object(
            self._core, resource, info, self._core.context(request, info), produce, manager=agent.split("/", 1)[0]
        )

    def _strip_owners(self, kind: TypeKey, key: Key, uids: list[str]) -> None:
        def change(meta: Obj) -> None:
            left = [owner for owner in meta.get("ownerReferences") or () if owner.get("uid") not in uids]
            if left:
                meta["ownerReferences"] = left
            else:
                meta.pop("ownerReferences", None)

        self._edit(kind, key, change)

    def _drop_finalizer(self, kind: TypeKey, key: Key, finalizer: str) -> None:
        def change(meta: Obj) -> None:
            left = [f for f in meta.get("finalizers") or () if f != finalizer]
            if left:
                meta["finalizers"] = left
            else:
                meta.pop("finalizers", None)

        self._edit(kind, key, change)

    # --- custom resources --------------------------------------------------------------------------------------

    def _empty_crd(self, key: Key) -> None:
        """Delete all objects of a definition that is being deleted, then let it go."""
        record = self._core.store.get(CRDS, key)
        if record is None or CRD_FINALIZER not in record.obj["metadata"].get("finalizers", ()):
            return
        spec = record.obj["spec"]
        kind: TypeKey = (spec["group"], spec["names"]["plural"])
        for found in self._core.store.snapshot(kind)[0]:
            meta = found.obj["metadata"]
            if "deletionTimestamp" not in meta:
                self._delete(kind, (meta.get("namespace", ""), meta["name"]), found, "Background")
        if not self._core.store.snapshot(kind)[0]:
            self._drop_finalizer(CRDS, key, CRD_FINALIZER)

    # --- namespaces --------------------------------------------------------------------------------------------

    def _default_account(self, namespace: str) -> None:
        """Every namespace has the service account `default` (the service account controller's work)."""
        resource = self._core.resources.find("", "serviceaccounts")
        if resource is None or self._core.store.get(resource.storage_key, (namespace, "default")) is not None:
            return
        info = RequestInfo("create", "", "", "v1", namespace, "serviceaccounts")
        request = Request("POST", "", headers={"user-agent": ACCOUNT_AGENT}, user=ACCOUNT_USER)
        account: Obj = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        create_object(
            self._core, resource, info, self._core.context(request, info), account, manager="kube-controller-manager"
        )

    def _empty_namespace(self, name: str) -> None:
        record = self._core.store.get(NAMESPACES, ("", name))
        if record is None or "deletionTimestamp" not in record.obj["metadata"]:
            return
        request = Request("DELETE", "", headers={"user-agent": NAMESPACE_AGENT}, user=NAMESPACE_USER)
        remaining = 0
        for resource in self._core.resources.all():
            if not resource.namespaced or resource.stored_with is not None:
                continue
            for found in self._core.store.snapshot(resource.storage_key, name)[0]:
                meta = found.obj["metadata"]
                info = self._info(resource, (name, meta["name"]), "delete")
                if "deletionTimestamp" not in meta:
                    try:
                        delete_object(
                            self._core,
                            resource,
                            info,
                            self._core.context(request, info),
                            {"propagationPolicy": "Background"},
                        )
                    except StatusError as error:
                        self._report("namespace", resource.storage_key, (name, meta["name"]), error)
                if self._core.store.get(resource.storage_key, (name, meta["name"])) is not None:
                    remaining += 1
        if remaining == 0:
            self._finish_namespace(name)

    def _finish_namespace(self, name: str) -> None:
        store = self._core.store
        with store.lock:
            record = store.get(NAMESPACES, ("", name))
            if record is None:
                return
            obj = record.copy()
            obj["spec"] = {}
            resource = self._resource(NAMESPACES)
            if resource is None:
                return
            info = self._info(resource, ("", name), "update")
            request = Request("PUT", "", headers={"user-agent": NAMESPACE_AGENT}, user=NAMESPACE_USER)
            ctx = self._core.context(request, info)
            if record.obj.get("spec") != {}:
                record = store.update(NAMESPACES, ("", name), obj, record)
                self._core.observe("update", resource, record, ctx)
            if not record.obj["metadata"].get("finalizers"):
                final = store.delete(NAMESPACES, ("", name), record)
                self._core.observe("delete", resource, final, ctx)


def _namespace_terminates(error: StatusError) -> bool:
    causes = (error.details or {}).get("causes") or ()
    return any(cause.get("reason") == _TERMINATING for cause in causes)
