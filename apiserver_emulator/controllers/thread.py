"""The thread of all controllers of one server, and the queue that commits fill.

A task that raises anything unexpected is recorded as a failure of the emulator, and the thread goes on with the next
one. Controllers of Kubernetes repeat a write that an admission webhook refuses, in growing intervals; here the task is
done again when the configurations of webhooks change. Started and stopped by the server.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from apiserver_emulator.controllers.garbage_collector import GarbageCollector
from apiserver_emulator.controllers.namespaces import (
    CRDS,
    NAMESPACES,
    DefinitionController,
    NamespaceController,
    ServiceAccountController,
)
from apiserver_emulator.controllers.pod_groups import POD_GROUPS, PodGroupProtection
from apiserver_emulator.controllers.pool_statuses import REQUESTS, PoolStatusController
from apiserver_emulator.controllers.quotas import QuotaController
from apiserver_emulator.controllers.root_ca import CONFIG_MAPS, ROOT_CA, RootCaPublisher
from apiserver_emulator.core import Core
from apiserver_emulator.failures import Failures
from apiserver_emulator.quotas.admission import QUOTAS
from apiserver_emulator.registry.delete import FOREGROUND, ORPHAN
from apiserver_emulator.store import Event, Key, TypeKey
from apiserver_emulator.webhooks import CONFIGURATIONS
from dra_api.status import StatusError
from dra_api.threads import started

Obj = dict[str, Any]

# Answers that a controller expects: another writer was faster (its commit queued what is left to do), or the namespace
# that needs a service account is being deleted.
_EXPECTED = frozenset({"NotFound", "Conflict", "AlreadyExists"})
_TERMINATING = "NamespaceTerminating"


@dataclass(frozen=True, slots=True)
class Task:
    """One task.

    `name` is `deleted`, `owners`, `finalizer`, `namespace`, `crd`, `account`, `quota`, `pod-group`, `pool-status`
    or `root-ca`.
    """

    name: str
    kind: TypeKey
    key: Key
    uid: str = ""

    def __str__(self) -> str:
        kind, key = "/".join(filter(None, self.kind)), "/".join(filter(None, self.key))
        return f"controller task {self.name!r} for {kind} {key}"


class Controllers:
    """All controllers of one server, in one thread."""

    def __init__(self, core: Core, failures: Failures) -> None:
        self._core = core
        self._failures = failures
        self._garbage = GarbageCollector(core)
        self._namespaces = NamespaceController(core, self._report_refusal)
        self._definitions = DefinitionController(core)
        self._accounts = ServiceAccountController(core)
        self._quotas = QuotaController(core)
        self._groups = PodGroupProtection(core)
        self.pool_statuses = PoolStatusController(core)
        self.root_ca = RootCaPublisher(core)
        self._condition = threading.Condition()
        self._work: deque[Task] = deque()
        self._refused: list[Task] = []
        self._busy = False
        self._stopping = False
        self._webhooks = False
        """Whether the API server had webhooks when the current task began."""
        self._thread: threading.Thread | None = None
        core.store.on_commit(self._enqueue)

    def start(self) -> None:
        """Start the thread. Idempotent."""
        if self._thread is None:
            self._stopping = False
            self._thread = started(self._run, name="apiserver-controllers")

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
        if kind == CONFIGURATIONS:
            self._retry_refused()
        if kind == CONFIG_MAPS and event.key[1] == ROOT_CA and event.type != "ADDED":
            self._push(Task("root-ca", kind, event.key))
        if kind == NAMESPACES and event.type != "DELETED":
            self._push(Task("root-ca", kind, (event.key[1], ROOT_CA)))
        for quota in self._quotas.affected(kind, event):
            self._push(Task("quota", QUOTAS, quota))
        for request in self.pool_statuses.affected(kind, event):
            self._push(Task("pool-status", REQUESTS, request))
        if (group := self._groups.affected(kind, event)) is not None:
            self._push(Task("pod-group", POD_GROUPS, group))
        if event.type == "DELETED":
            self._enqueue_deleted(kind, event)
        elif task := _task_of_deletion(kind, meta):
            self._push(Task(task, kind, event.key))
        elif kind == NAMESPACES and event.type == "ADDED":
            self._push(Task("account", kind, event.key))
        elif _owners_changed(event):
            self._push(Task("owners", kind, event.key))

    def _enqueue_deleted(self, kind: TypeKey, event: Event) -> None:
        """Queue the dependents of a deleted object, and whatever may have waited for its deletion."""
        meta = event.record.obj["metadata"]
        definition = ("", f"{kind[1]}.{kind[0]}")
        if self._in_deletion(CRDS, definition):
            self._push(Task("crd", CRDS, definition))
        namespace = event.key[0]
        if kind != NAMESPACES and namespace and self._in_deletion(NAMESPACES, ("", namespace)):
            self._push(Task("namespace", NAMESPACES, ("", namespace)))
        self._push(Task("deleted", kind, event.key, meta.get("uid", "")))
        self._push_owners(meta.get("ownerReferences") or (), namespace)

    def _push_owners(self, owners: Iterable[Obj], namespace: str) -> None:
        """Queue the owners of a deleted object: one in foreground deletion may have waited for it."""
        for owner in owners:
            group = str(owner.get("apiVersion", "")).rpartition("/")[0]
            resource = self._core.resources.by_kind(group, owner.get("kind", ""))
            if resource is not None:
                key = (namespace if resource.namespaced else "", owner.get("name", ""))
                self._push(Task("finalizer", resource.storage_key, key))

    def _in_deletion(self, kind: TypeKey, key: Key) -> bool:
        record = self._core.store.get(kind, key)
        return record is not None and "deletionTimestamp" in record.obj["metadata"]

    def _retry_refused(self) -> None:
        with self._condition:
            self._work += self._refused
            self._refused.clear()
            self._condition.notify_all()

    def _push(self, task: Task) -> None:
        with self._condition:
            self._work.append(task)
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
                    return  # tasks left in the queue are dropped: the server ends
                task = self._work.popleft()
                self._busy = True
            # Outside the condition: a task commits, and commits take the condition while they hold the store lock.
            try:
                self._webhooks = self._have_webhooks()
                self._perform(task)
            except Exception as error:  # a dead thread would leave garbage for the rest of the run
                self._report(task, error)

    def _perform(self, task: Task) -> None:
        match task.name:
            case "deleted":
                self._garbage.owner_deleted(task.uid)
            case "account":
                self._accounts.create_default(task.key[1])
            case "root-ca":
                self.root_ca.publish(task.key[0])
            case "quota":
                self._quotas.calculate(task.key)
            case "pool-status":
                self.pool_statuses.calculate(task.key)
            case "pod-group":
                self._groups.release(task.key)
            case "namespace":
                self._namespaces.empty(task.key[1])
            case "crd":
                self._definitions.empty(task.key)
            case "finalizer":
                self._garbage.finish_deletion(task.kind, task.key)
            case _:
                self._garbage.check_owners(task.kind, task.key)

    def _report_refusal(self, kind: TypeKey, key: Key, error: StatusError) -> None:
        self._report(Task("namespace", kind, key), error)

    def _report(self, task: Task, error: Exception) -> None:
        """Record an unexpected error, unless a webhook may be its reason."""
        if isinstance(error, StatusError):
            if error.reason in _EXPECTED or _namespace_terminates(error):
                return
            now = self._have_webhooks()
            if now or self._webhooks:
                with self._condition:
                    self._refused.append(task)
                # Configurations that were deleted meanwhile bring no further change.
                if not (now and self._have_webhooks()):
                    self._retry_refused()
                return
        self._failures.record(str(task), error)

    def _have_webhooks(self) -> bool:
        return bool(self._core.store.snapshot(CONFIGURATIONS)[0])


def _task_of_deletion(kind: TypeKey, meta: Obj) -> str:
    """Return the task for an object in deletion; empty if it is not in deletion or no controller waits for it."""
    if "deletionTimestamp" not in meta:
        return ""
    if kind == NAMESPACES:
        return "namespace"
    if kind == CRDS:
        return "crd"
    finalizers = meta.get("finalizers", ())
    return "finalizer" if FOREGROUND in finalizers or ORPHAN in finalizers else ""


def _owners_changed(event: Event) -> bool:
    owners = event.record.obj["metadata"].get("ownerReferences")
    before = event.old.obj["metadata"].get("ownerReferences") if event.old is not None else None
    return bool(owners) and owners != before


def _namespace_terminates(error: StatusError) -> bool:
    causes = (error.details or {}).get("causes") or ()
    return any(cause.get("reason") == _TERMINATING for cause in causes)
