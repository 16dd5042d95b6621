"""The node controllers: taints by the conditions of a Node, and the TTL annotation.

They run after the request that changed the node and before its response is sent: a client that has the response can
rely on the taints, and watchers see both changes. Heartbeats are not emulated, and neither are the NoExecute taints and
evictions that follow from their loss.

Source: plugin/pkg/admission/nodetaint (a new node's taint); pkg/controller/nodelifecycle (doNoScheduleTaintingPass)
and pkg/controller/ttl, release 1.36; observed on kube-apiserver and kube-controller-manager 1.36.2.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from apiserver_emulator.auth import ADMIN
from apiserver_emulator.core import Core
from apiserver_emulator.registry.update import update_object
from apiserver_emulator.store import Event, Key, Record, TypeKey
from dra_api.clock import timestamp
from dra_api.request import Request, RequestInfo, User
from dra_api.status import StatusError

Obj = dict[str, Any]

NODES: TypeKey = ("", "nodes")
AGENT = "kube-controller-manager/node-lifecycle-controller"
# In system:masters: RBAC never refuses a write of a controller.
USER = User("system:serviceaccount:kube-system:node-controller", groups=ADMIN.groups)
NOT_READY = "node.kubernetes.io/not-ready"
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_BY_CONDITION = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): "node.kubernetes.io/unreachable",
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
_MANAGED = frozenset({*_BY_CONDITION.values(), _UNSCHEDULABLE})
_TTL = "node.alpha.kubernetes.io/ttl"


def taint_new(node: Obj) -> None:
    """Add the taint that admission gives to a new node until it is ready."""
    taints = node.setdefault("spec", {}).setdefault("taints", [])
    if not any(taint.get("key") == NOT_READY and taint.get("effect") == "NoSchedule" for taint in taints):
        taints.append({"key": NOT_READY, "effect": "NoSchedule"})


class _Changed(threading.local):
    """The nodes that the current thread has changed and not reconciled yet."""

    def __init__(self) -> None:
        self.keys: deque[Key] = deque()


class NodeLifecycle:
    """The controllers of one server's nodes. They have no thread: `settle` runs on the thread of the request."""

    def __init__(self, core: Core) -> None:
        self._core = core
        # For each thread: a request that took the node of another would let that one answer before the taints are set.
        self._changed = _Changed()
        core.store.on_commit(self._enqueue)

    def settle(self) -> None:
        """Reconcile the nodes that this thread changed since its last call."""
        changed = self._changed.keys
        while changed:
            key = changed.popleft()
            record = self._core.store.get(NODES, key)
            # Checked again: another request may have reconciled the node since.
            if record is not None and _reconciled(record.obj, "") is not None:
                self._write(key)

    def _enqueue(self, kind: TypeKey, event: Event) -> None:
        # The controllers' own writes end here: a reconciled node is not queued again.
        if kind == NODES and event.type != "DELETED" and _reconciled(event.record.obj, "") is not None:
            self._changed.keys.append(event.key)

    def _write(self, key: Key) -> None:
        resource = self._core.resources.find(*NODES)
        if resource is None:
            return
        info = RequestInfo("patch", "", "", "v1", "", "nodes", key[1])
        request = Request("PATCH", "", headers={"user-agent": AGENT}, user=USER)
        now = timestamp(self._core.clock.now())

        def produce(old: Record) -> Obj:
            return _reconciled(old.obj, now) or old.copy()

        try:
            update_object(
                self._core,
                resource,
                info,
                self._core.context(request, info),
                produce,
                manager=AGENT.partition("/")[0],
            )
        except StatusError as error:
            if error.reason not in ("NotFound", "Conflict"):
                raise


def _reconciled(node: Obj, now: str) -> Obj | None:
    """Return the node with the taints and annotation that its controllers set; None if it has them already."""
    spec, meta = node.get("spec") or {}, node["metadata"]
    conditions = (node.get("status") or {}).get("conditions") or ()
    wanted = {key for each in conditions if (key := _BY_CONDITION.get((each.get("type", ""), each.get("status", ""))))}
    if spec.get("unschedulable"):
        wanted.add(_UNSCHEDULABLE)
    taints = spec.get("taints") or []
    present = {taint["key"] for taint in taints if taint.get("effect") == "NoSchedule" and taint["key"] in _MANAGED}
    if present == wanted and _TTL in (meta.get("annotations") or ()):
        return None
    left = [
        taint
        for taint in taints
        if not (taint.get("effect") == "NoSchedule" and taint["key"] in _MANAGED and taint["key"] not in wanted)
    ]
    left += [{"key": key, "effect": "NoSchedule", "timeAdded": now} for key in sorted(wanted - present)]
    found = {
        **node,
        "metadata": {**meta, "annotations": {_TTL: "0", **(meta.get("annotations") or {})}},
        "spec": {**spec, "taints": left},
    }
    if not left:
        del found["spec"]["taints"]
    return found
