"""A simulated Deployment controller for one node: one pod for each Deployment whose pods name the node.

The emulated control plane stores Deployments and does not act on them. A GPU driver starts its MPS control daemon as a
Deployment with `nodeName`, waits until it is ready, and deletes it with the claim. There are no ReplicaSets and no
rollouts. Garbage collection, which the control plane has, deletes the pods of a deleted Deployment.
"""

from __future__ import annotations

import threading

from dra_api.client import AlreadyExists, KubeClient, NotFound
from dra_api.clock import Clock
from dra_api.informer import Change, Informer
from dra_api.objects import (
    DEPLOYMENTS,
    PODS,
    Obj,
    controller_of,
    is_ready,
    key_of,
    meta,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from dra_api.threads import started
from dra_api.workqueue import WorkQueue
from dra_conformance.components.reconcile import reconcile

AGENT = "simulated-deployments"
"""The user agent of the controller's requests."""


class Deployments:
    """The controller. `start` starts two informers and a thread; `stop` ends them and leaves all objects."""

    name = AGENT

    def __init__(self, client: KubeClient, *, clock: Clock, namespace: str, node: str) -> None:
        self._client = client.as_agent(AGENT)
        self._node = node
        self._queue: WorkQueue[tuple[str, str]] = WorkQueue(clock)
        self._deployments = Informer(self._client, DEPLOYMENTS, clock=clock, namespace=namespace)
        self._pods = Informer(self._client, PODS, clock=clock, namespace=namespace)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start watching. Deployments that exist are handled too."""
        self._deployments.on_change(lambda change: self._queue.add(key_of(change.object)))
        self._pods.on_change(self._on_pod)
        self._deployments.start()
        self._pods.start()
        self._thread = started(self._work, name=f"{AGENT}-{self._node}")

    def stop(self) -> None:
        """Stop watching. Idempotent."""
        self._deployments.stop()
        self._pods.stop()
        self._queue.shut_down()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _on_pod(self, change: Change) -> None:
        owner = controller_of(change.object)
        if owner is not None and owner["kind"] == DEPLOYMENTS.kind:
            self._queue.add((namespace_of(change.object), owner["name"]))

    def _work(self) -> None:
        reconcile(self._queue, lambda key: self._sync(*key))

    def _sync(self, namespace: str, name: str) -> None:
        # Read, not cached: a Deployment may have been replaced by one of its name.
        deployment = self._client.find(DEPLOYMENTS, name, namespace)
        if deployment is None or meta(deployment).get("deletionTimestamp"):
            return
        template = deployment["spec"]["template"]
        if (template.get("spec") or {}).get("nodeName") != self._node:
            return
        pod = self._client.find(PODS, _pod_name(deployment), namespace)
        if pod is None:
            self._create(deployment)
            return
        ready = int(is_ready(pod))
        wanted = {"replicas": 1, "updatedReplicas": 1, "readyReplicas": ready, "availableReplicas": ready}
        if any((deployment.get("status") or {}).get(key, 0) != value for key, value in wanted.items()):
            try:
                self._client.patch(DEPLOYMENTS, name, {"status": wanted}, namespace, subresource="status")
            except NotFound:
                return

    def _create(self, deployment: Obj) -> None:
        template = deployment["spec"]["template"]
        owner = {"apiVersion": DEPLOYMENTS.api_version, "kind": DEPLOYMENTS.kind, **deployment}
        pod: Obj = {
            "apiVersion": PODS.api_version,
            "kind": PODS.kind,
            "metadata": {
                **(template.get("metadata") or {}),
                "name": _pod_name(deployment),
                "namespace": namespace_of(deployment),
                "ownerReferences": [owner_reference(owner, controller=True, block_owner_deletion=True)],
            },
            "spec": template["spec"],
        }
        try:
            self._client.create(PODS, pod)
        except AlreadyExists:
            return


def _pod_name(deployment: Obj) -> str:
    return f"{name_of(deployment)}-{uid_of(deployment)[:5]}"
