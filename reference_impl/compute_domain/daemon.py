"""Simulated IMEX daemons: the work of a cluster's DaemonSet controller and of nvidia-imex, without NVLink.

For every DaemonSet of a ComputeDomain and every node that its selector matches, this component creates the daemon pod,
sets its phase to Running, and adds the node to the clique as Ready. Only the API objects are real; no IMEX traffic
exists. In a cluster with a DaemonSet controller and the driver's own daemon image this component must not run.

A node's clique is read from its label `nvidia.com/gpu.clique`, which the kubelet plugin sets; a node without it has
no fabric. Pods made here carry the annotation `resource.nvidia.com/simulated: "true"` and end with their node's
label.

Source: cmd/compute-domain-daemon main.go and cdclique.go at 95932046; rules NV-152, NV-173, NV-174.
"""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass

from dra_api.client import KubeClient, NotFound
from dra_api.clock import Clock
from dra_api.informer import Change, Informer
from dra_api.objects import (
    DAEMON_SETS,
    NODES,
    PODS,
    Obj,
    Resource,
    is_ready,
    meta,
    name_of,
    namespace_of,
    uid_of,
)
from reference_impl.compute_domain.cliques import CliqueFullError, CliqueWriter
from reference_impl.compute_domain.objects import (
    CLIQUE_LABEL,
    DOMAIN_LABEL,
    DRIVER_NAMESPACE,
    NODE_CLIQUE_LABEL,
    domain_of,
    is_deleting,
)
from reference_impl.loop import Loop

log = logging.getLogger(__name__)

SIMULATED = "resource.nvidia.com/simulated"
_SYNC = "sync"


@dataclass(frozen=True, slots=True)
class _Daemon:
    """One daemon pod that must exist."""

    daemon_set: Obj
    node: Obj

    @property
    def pod_name(self) -> str:
        return f"{name_of(self.daemon_set)}-{name_of(self.node)}"


class SimulatedImexDaemons:
    """Simulates the daemons of all ComputeDomains. `namespace` is the driver's."""

    def __init__(self, client: KubeClient, *, clock: Clock, namespace: str = DRIVER_NAMESPACE) -> None:
        self.name = "simulated IMEX daemons"
        self._client = client
        self._clock = clock
        self._namespace = namespace
        self._addresses: dict[str, str] = {}
        """The address of each pod by its uid, also of those that have ended: each new pod has one of its own."""
        self._writer = CliqueWriter(self._client, namespace=namespace)
        self._informers = {
            DAEMON_SETS: self._informer(DAEMON_SETS, namespace=namespace),
            PODS: self._informer(PODS, namespace=namespace),
            NODES: self._informer(NODES),
        }
        for informer in self._informers.values():
            informer.on_change(self._changed)
        self._loop: Loop[str] = Loop(
            self.name,
            self.sync,
            informers=list(self._informers.values()),
            clock=clock,
            workers=1,
            base_delay=0.02,
            max_delay=2.0,
        )

    def start(self) -> None:
        """Begin to work; returns when the informers are filled. Raises TimeoutError when they cannot be."""
        self._loop.start()

    def stop(self) -> None:
        """End all work; pods and clique entries stay. Idempotent."""
        self._loop.stop()

    def _informer(self, resource: Resource, *, namespace: str | None = None) -> Informer:
        return Informer(self._client, resource, namespace=namespace, label_selector=DOMAIN_LABEL, clock=self._clock)

    def _changed(self, change: Change) -> None:
        self._loop.queue.add(_SYNC)

    # -- what daemons do -------------------------------------------------------------------------------------------

    def sync(self, key: str) -> None:
        """Create the pods of wanted daemons, add these to their cliques, and end the pods of other daemons."""
        wanted = {daemon.pod_name: daemon for daemon in self.wanted()}
        pods = {name_of(pod): pod for pod in self._informers[PODS].list()}
        for name, pod in pods.items():
            if name not in wanted and self.is_simulated(pod):
                self._end(pod)
        for name, daemon in wanted.items():
            if name in pods:
                self.join(daemon, pods[name])
            else:
                self._create(daemon)  # it joins once the watch delivers it

    def wanted(self) -> list[_Daemon]:
        """Return a daemon for every node that an existing DaemonSet selects."""
        return [
            _Daemon(daemon_set, node)
            for daemon_set in self._informers[DAEMON_SETS].list()
            for node in self._informers[NODES].list()
            if not is_deleting(daemon_set) and self.selects(daemon_set, node)
        ]

    def selects(self, daemon_set: Obj, node: Obj) -> bool:
        """Return whether a DaemonSet's pods belong on a node."""
        wanted = daemon_set["spec"]["template"]["spec"].get("nodeSelector") or {}
        has = meta(node).get("labels") or {}
        return all(has.get(key) == value for key, value in wanted.items())

    def is_simulated(self, pod: Obj) -> bool:
        """Return whether this component created the pod."""
        return (meta(pod).get("annotations") or {}).get(SIMULATED) == "true"

    def join(self, daemon: _Daemon, pod: Obj) -> None:
        """Act as the daemon of one node: become ready, and write that into the clique."""
        if not is_ready(pod):
            self._run(pod)
            return  # it joins once the watch delivers the change
        clique_id = self.clique_of(daemon.node)
        if (meta(pod).get("labels") or {}).get(CLIQUE_LABEL) != clique_id:
            # The plugin found the node's clique after the pod was made.
            patch = {"metadata": {"labels": {CLIQUE_LABEL: clique_id}}}
            pod = self._client.patch(PODS, name_of(pod), patch, namespace_of(pod))
        if not clique_id:
            return  # the pod's empty label reports that to the controller (rule NV-152)
        try:
            self._writer.join(
                domain_of(pod),
                clique_id,
                node=name_of(daemon.node),
                ip=pod["status"]["podIP"],
                ready=is_ready(pod),
                pod=pod,
            )
        except CliqueFullError as error:
            log.warning("node %s cannot join: %s", name_of(daemon.node), error)

    def clique_of(self, node: Obj) -> str:
        """Return the NVLink clique of a node; empty when it has none."""
        return str((meta(node).get("labels") or {}).get(NODE_CLIQUE_LABEL) or "")

    # -- pods ------------------------------------------------------------------------------------------------------

    def _create(self, daemon: _Daemon) -> None:
        template = daemon.daemon_set["spec"]["template"]
        # No owner: this component ends the pod of a DaemonSet that is gone.
        pod = {
            "metadata": {
                "name": daemon.pod_name,
                "namespace": self._namespace,
                "labels": {**template["metadata"]["labels"], CLIQUE_LABEL: self.clique_of(daemon.node)},
                "annotations": {SIMULATED: "true"},
            },
            # No daemon claim: these pods never meet a scheduler, and nothing in them would use the device.
            "spec": {
                "nodeName": name_of(daemon.node),
                "containers": [{"name": one["name"], "image": one["image"]} for one in template["spec"]["containers"]],
                "terminationGracePeriodSeconds": 0,
            },
        }
        self._client.create(PODS, pod)

    def _run(self, pod: Obj) -> None:
        # Addresses for documentation, since nothing connects to them. A pod whose status another component has changed,
        # such as a kubelet that cannot pull its image, keeps its address.
        address = self._addresses.setdefault(uid_of(pod), f"192.0.2.{len(self._addresses) % 254 + 1}")
        status = {"phase": "Running", "podIP": address, "conditions": [{"type": "Ready", "status": "True"}]}
        self._client.patch(PODS, name_of(pod), {"status": status}, namespace_of(pod), subresource="status")

    def _end(self, pod: Obj) -> None:
        clique_id, node = (meta(pod).get("labels") or {}).get(CLIQUE_LABEL), str(pod["spec"]["nodeName"])
        # The daemon of a node that is lost ended with it, and could not remove its entry.
        if clique_id and self._informers[NODES].get(node) is not None:
            self._writer.leave(domain_of(pod), clique_id, {node})
        with contextlib.suppress(NotFound):
            self._client.delete(PODS, name_of(pod), namespace_of(pod), uid=uid_of(pod), grace_period_seconds=0)
