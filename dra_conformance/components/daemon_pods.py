"""The daemon pods of ComputeDomains: what a cluster's DaemonSet controller and kubelets do for them.

As the DaemonSet controller, which is simulated, `DaemonPods` creates a pod from the template for every DaemonSet of a
ComputeDomain and every node that its selector matches. As the kubelets it runs the container of each pod as the spec of
the pod says: command, variables, probes and grace period (dra_conformance.kubelet.container_process and probes), and
writes the pod's Ready condition. If the pod is to end, the container gets SIGTERM before the pod's object is deleted.
The container has the CDI edits that a kubelet plugin gives to a daemon claim: the node's clique, by its label
`nvidia.com/gpu.clique`, and the ComputeDomain. Simulated are: the daemon's claim, its devices, the pod network (each
pod has an address of the loopback network) and nvidia-imex (fake_nvml.imex), which is the only one in PATH.

The command in the template of another controller is that of its own image, which is not here: the words `run` and
`check` of every daemon take its place.

`DaemonPods` owns informers, one thread, and the containers; each container owns a thread.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from dra_api.client import AlreadyExists, ApiError, KubeClient, NotFound
from dra_api.informer import Change, Informer
from dra_api.objects import (
    COMPUTE_DOMAIN_CLIQUES,
    COMPUTE_DOMAINS,
    DAEMON_SETS,
    NODES,
    PODS,
    Obj,
    Resource,
    is_ready,
    meta,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from dra_api.threads import report_exception, started
from dra_api.transport import TransportError
from dra_api.workqueue import WorkQueue
from dra_conformance.components.context import ScenarioContext
from dra_conformance.components.daemon_containers import DaemonContainer
from dra_conformance.components.daemon_programs import DAEMON, ExternalProgram
from dra_conformance.components.reconcile import reconcile
from fake_nvml import imex

AGENT = "simulated-daemon-pods"
"""The user agent of the requests of DaemonSet controller and kubelets."""
SIMULATED = "resource.nvidia.com/simulated"

_CHECK: Obj = {"exec": {"command": [DAEMON, "check"]}, "timeoutSeconds": 10}
CONTRACT: Obj = {
    "command": [DAEMON, "run"],
    "args": [],
    "startupProbe": {**_CHECK, "periodSeconds": 1, "failureThreshold": 1200},
    "readinessProbe": {**_CHECK, "periodSeconds": 10, "failureThreshold": 1},
    "livenessProbe": {**_CHECK, "periodSeconds": 60, "failureThreshold": 20},
}
"""The words of every daemon, and probes with them, in place of those in the template of another controller."""

_LABEL = "resource.nvidia.com/computeDomain"
_NODE_CLIQUE = "nvidia.com/gpu.clique"


@dataclass(frozen=True, slots=True)
class DaemonEnd:
    """How a daemon ended on SIGTERM: what was left of it then, while its pod still existed.

    `entries`: the entries of its node in cliques of its domain. `imex`: whether its IMEX process still answered.
    """

    seconds: float
    entries: tuple[Obj, ...]
    imex: bool


class DaemonPods:
    """DaemonSet controller and kubelets for the daemon pods of one scenario."""

    def __init__(self, world: ScenarioContext) -> None:
        self._world = world
        self._client = KubeClient(world.run.component_transport("kubelet"), user_agent=AGENT)
        self._queue: WorkQueue[str] = WorkQueue(world.clock, base_delay=0.02, max_delay=2.0)
        self._namespace = world.run.options.compute_domain_namespace
        self._informers = {
            DAEMON_SETS: self._informer(DAEMON_SETS, self._namespace),
            PODS: self._informer(PODS, self._namespace),
            NODES: self._informer(NODES, None),
        }
        self._containers: dict[str, DaemonContainer] = {}
        self._lock = threading.Lock()
        self._ending: dict[str, threading.Thread] = {}
        self._started = 0
        self._thread: threading.Thread | None = None
        self.without: dict[str, frozenset[str]] = {}
        """Programs that are missing in the containers of a node, by its name."""
        self.without_edits: set[str] = set()
        """Nodes whose containers do not get the CDI edits of the daemon's claim."""
        self.ends: dict[tuple[str, str], DaemonEnd] = {}
        """How daemons ended on SIGTERM, by node and uid of the ComputeDomain."""
        in_process = world.run.components.spec(DAEMON).in_process
        self._has_own_words = world.run.components.spec("compute-domain-controller").kind == "reference"
        # Once: containers start at the same time, and each call writes the file again.
        self._connection = {} if in_process else ExternalProgram.connection(world)

    def start(self) -> None:
        """Start to watch. DaemonSets that exist are handled too."""
        for informer in self._informers.values():
            informer.on_change(self._changed)
            informer.start()
        for informer in self._informers.values():
            informer.wait_served(30.0)
        self._queue.add(AGENT)
        self._thread = started(self._work, name=AGENT)

    def stop(self) -> None:
        """Kill all containers. Idempotent."""
        for informer in self._informers.values():
            informer.stop()
        self._queue.shut_down()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        for thread in self._ending.values():
            thread.join()
        for uid in list(self._containers):
            self._end(uid, kill=True)

    def container(self, node: str, domain_uid: str) -> DaemonContainer | None:
        """Return the container that runs for a domain on a node."""
        with self._lock:
            found = list(self._containers.values())
        return next(
            (
                one
                for one in found
                if one.pod["spec"]["nodeName"] == node and (meta(one.pod).get("labels") or {}).get(_LABEL) == domain_uid
            ),
            None,
        )

    def _informer(self, resource: Resource, namespace: str | None) -> Informer:
        return Informer(self._client, resource, namespace=namespace, label_selector=_LABEL, clock=self._world.clock)

    def _changed(self, change: Change) -> None:
        self._queue.add(AGENT)

    def _work(self) -> None:
        reconcile(self._queue, lambda _: self._sync())

    def _sync(self) -> None:
        wanted = {
            f"{name_of(one)}-{name_of(node)}": (one, node)
            for one in self._informers[DAEMON_SETS].list()
            for node in self._informers[NODES].list()
            if not meta(one).get("deletionTimestamp") and _selects(one, node)
        }
        pods = {name_of(pod): pod for pod in self._informers[PODS].list() if _is_own(pod)}
        for uid in set(self._containers) - {uid_of(pod) for pod in pods.values()} - set(self._ending):
            # Deleted without grace: nothing waits for the container.
            self._end(uid, kill=True)
        for name, pod in pods.items():
            if name not in wanted or meta(pod).get("deletionTimestamp"):
                if uid_of(pod) not in self._ending:
                    # Each in a thread: pods that end at the same time do not wait for each other.
                    self._ending[uid_of(pod)] = started(partial(self._finish, pod), name=f"{AGENT}-{name}")
            elif uid_of(pod) not in self._containers and uid_of(pod) not in self._ending:
                self._run(pod, wanted[name][1])
        for name, (daemon_set, node) in wanted.items():
            if name not in pods:
                self._create(name, daemon_set, node)

    def _create(self, name: str, daemon_set: Obj, node: Obj) -> None:
        template = daemon_set["spec"]["template"]
        owner = {"apiVersion": DAEMON_SETS.api_version, "kind": DAEMON_SETS.kind, **daemon_set}
        pod: Obj = {
            "apiVersion": PODS.api_version,
            "kind": PODS.kind,
            "metadata": {
                **(template.get("metadata") or {}),
                "name": name,
                "namespace": self._namespace,
                "annotations": {SIMULATED: "true"},
                "ownerReferences": [owner_reference(owner, controller=True, block_owner_deletion=True)],
            },
            "spec": {**pod_spec(template["spec"], own_words=self._has_own_words), "nodeName": name_of(node)},
        }
        with contextlib.suppress(AlreadyExists):
            self._client.create(PODS, pod)

    def _run(self, pod: Obj, node: Obj) -> None:
        address = self._address()
        container = DaemonContainer(
            self._world,
            self._client,
            pod,
            pod["spec"]["containers"][0],
            ip=address,
            own={**self._connection, "HOSTNAME": name_of(pod), **self._contract(pod, address)},
            edits=self._edits(pod, node),
            without=self.without.get(name_of(node), frozenset()),
            running=lambda: len(self._containers),
        )
        with self._lock:
            self._containers[uid_of(pod)] = container

    def _contract(self, pod: Obj, address: str) -> dict[str, str]:
        """Return variables of every daemon; the template of another controller may have other names for them."""
        return {} if self._has_own_words else {"POD_IP": address, "POD_NAME": name_of(pod)}

    def _edits(self, pod: Obj, node: Obj) -> dict[str, str]:
        """Return the variables that the CDI edits of the daemon's claim add."""
        if name_of(node) in self.without_edits:
            return {}
        domain_uid = str((meta(pod).get("labels") or {}).get(_LABEL))
        domain = next((one for one in self._client.list(COMPUTE_DOMAINS).items if uid_of(one) == domain_uid), {})
        return {
            "COMPUTE_DOMAIN_UUID": domain_uid,
            "COMPUTE_DOMAIN_NAME": str(meta(domain).get("name", "")) if domain else "",
            "COMPUTE_DOMAIN_NAMESPACE": str(meta(domain).get("namespace", "")) if domain else "",
            "CLIQUE_ID": str((meta(node).get("labels") or {}).get(_NODE_CLIQUE) or ""),
        }

    def _address(self) -> str:
        """Return the address of a new pod: each one of its own, also of the processes of other runs."""
        self._started += 1
        process = os.getpid() & 0x3FFF
        return f"127.{64 + (process >> 8)}.{process & 0xFF}.{self._started % 254 + 1}"

    def _end(self, uid: str, *, kill: bool) -> None:
        with self._lock:
            container = self._containers.pop(uid, None)
        if container is not None:
            container.stop(kill=kill, observe=partial(self._observe_end, container))

    def _finish(self, pod: Obj) -> None:
        """End the container of a pod that is to end, then delete the pod."""
        try:
            self._end(uid_of(pod), kill=False)
            with contextlib.suppress(NotFound):
                self._client.delete(PODS, name_of(pod), namespace_of(pod), uid=uid_of(pod), grace_period_seconds=0)
        except (ApiError, TransportError):
            # The pod stays: it belongs to a scenario that has ended.
            return
        except Exception as error:
            report_exception(error)

    def _observe_end(self, container: DaemonContainer, seconds: float) -> None:
        node = str(container.pod["spec"]["nodeName"])
        domain_uid = str((meta(container.pod).get("labels") or {}).get(_LABEL))
        selector = f"{_LABEL}={domain_uid}"
        cliques = self._client.list(COMPUTE_DOMAIN_CLIQUES, self._namespace, label_selector=selector).items
        entries = [entry for clique in cliques for entry in clique.get("daemons") or () if entry["nodeName"] == node]
        try:
            answers = bool(imex.query(container.ip, imex.CONTROL_PORT, timeout=1.0))
        except (OSError, ValueError):
            answers = False
        self.ends[node, domain_uid] = DaemonEnd(seconds, tuple(entries), answers)


def _selects(daemon_set: Obj, node: Obj) -> bool:
    wanted = daemon_set["spec"]["template"]["spec"].get("nodeSelector") or {}
    has = meta(node).get("labels") or {}
    return all(has.get(key) == value for key, value in wanted.items())


def pod_spec(rendered: Obj, *, own_words: bool) -> Obj:
    """Return the spec of a pod: that of the template, without what other components would have to provide.

    `own_words`: the command and the probes of the template are for the program that runs.
    """
    # A claim needs a scheduler and a kubelet plugin, whose edits `DaemonPods` adds. The account and the pull secrets
    # are not installed here; the harness writes the files of the account itself.
    left_out = ("resourceClaims", "serviceAccountName", "imagePullSecrets")
    spec = {key: value for key, value in rendered.items() if key not in left_out}
    words = {} if own_words else CONTRACT
    return {**spec, "containers": [{**_without_claims(one), **words} for one in rendered["containers"]]}


def _without_claims(container: Mapping[str, Any]) -> Obj:
    resources = {key: value for key, value in (container.get("resources") or {}).items() if key != "claims"}
    return {**container, "resources": resources}


def _is_own(pod: Obj) -> bool:
    return (meta(pod).get("annotations") or {}).get(SIMULATED) == "true"


def is_ready_pod(pod: Obj) -> bool:
    """Return whether a pod runs and its Ready condition is true."""
    return (pod.get("status") or {}).get("phase") == "Running" and is_ready(pod)
