"""The emulated kubelet: one node of a cluster, as far as Dynamic Resource Allocation is concerned.

A `Kubelet` owns the components of this package between `start` and `stop`. Folders below its root, the Node object and
the running containers (`Runtime`) survive a restart. It uses the API server through the given client and drivers
through Unix sockets, as a real kubelet does, so it treats a reference driver like any other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dra_api.client import KubeClient
from dra_api.clock import Clock, timestamp
from dra_api.objects import NODES, RESOURCE_CLAIMS, RESOURCE_SLICES, Obj
from dra_api.rpc.pod_resources import PodResourcesServer
from dra_conformance.core.events import KubeletState
from dra_conformance.core.process import ManagedProcess
from dra_conformance.kubelet.calls import PluginHandle, PluginInstance
from dra_conformance.kubelet.cdi import cdi_folders
from dra_conformance.kubelet.claim_cache import FILE_NAME, ClaimCache, ClaimRecord
from dra_conformance.kubelet.claims import ClaimManager
from dra_conformance.kubelet.container_view import ContainerView
from dra_conformance.kubelet.device_life import DeviceLife
from dra_conformance.kubelet.errors import KubeletError, SettingsRefused
from dra_conformance.kubelet.gates import GATES, Gates, Timing
from dra_conformance.kubelet.health import DeviceKey, HealthWatcher
from dra_conformance.kubelet.plugins import PluginManager
from dra_conformance.kubelet.pod_resources import NodePodResources
from dra_conformance.kubelet.pod_status import HOST_IP, Phase
from dra_conformance.kubelet.pods import PodWorkers
from dra_conformance.kubelet.record import Log, recorder, silent
from dra_conformance.kubelet.runtime import Programs, Runtime
from dra_conformance.kubelet.topology import Topology

READY_MESSAGE = "kubelet harness is ready"
"""The message of the condition Ready that this kubelet writes."""


class Kubelet:
    """One node.

    Args:
        client: client of the API server, as the node's own user if RBAC matters.
        clock: clock of all delays and deadlines.
        node_name: the Node object; it is created if absent.
        root: the node's folder with `plugins_registry`, `plugins`, `cdi` and `state` (the checkpoint), all created with
            mode 0700. Keep it short: a socket path has at most 107 bytes.
        log: receives every registration step, gRPC call and state change; see
        `dra_conformance.core.events.kinds.kubelet`. gates, timing: feature gates and delays.
        cdi_roots: folders with CDI specifications, lowest priority first, if not those of `cdi_folders`.
        registration_dir: if not below `root`.
        wipe_at_start: delete the node's slices at the start (rule DRA-285); False takes over a running node.
        programs: starts programs for some containers; the others are records.
        negotiates_health: handle health services as since 1.37 (rules DRA-573 to DRA-575). False: as a kubelet of 1.36,
            which knows only v1alpha1 and calls it whatever a driver announces.
        labels: additional labels of a Node object that it creates.
        serves: on a node of others, whether it runs the pods of a namespace; all other pods and the node's address stay
            as they are. None: the node is its own.

    `start` raises CheckpointCorrupt if the checkpoint cannot be read, and SettingsRefused for settings of the topology
    manager that do not fit the machine.
    """

    def __init__(
        self,
        client: KubeClient,
        clock: Clock,
        node_name: str,
        root: Path,
        *,
        log: Log = silent,
        gates: Gates | None = None,
        timing: Timing | None = None,
        cdi_roots: Sequence[Path] | None = None,
        registration_dir: Path | None = None,
        wipe_at_start: bool = True,
        programs: Programs | None = None,
        shown_at: Mapping[Path, Path] | None = None,
        negotiates_health: bool = True,
        labels: Mapping[str, str] | None = None,
        serves: Callable[[str], bool] | None = None,
    ) -> None:
        self.name = f"kubelet {node_name}"
        self.node_name = node_name
        self.root = root
        self.registration_dir = registration_dir or root / "plugins_registry"
        self.plugins_dir = root / "plugins"
        self.cdi_roots = tuple(cdi_roots) if cdi_roots is not None else cdi_folders(root)
        self.state_dir = root / "state"
        self.device_plugins_dir: Path | None = None
        """The folder of device plugins; None: the kubelet serves none. Set it before `start`."""
        self.topology = Topology()
        """The settings of the topology manager. Set them before `start`."""
        self.runtime = Runtime(programs)
        self.gates = gates or Gates()
        self.timing = timing or Timing()
        self._client = client
        self._clock = clock
        self._record = recorder(log, node_name)
        self._wipe_at_start = wipe_at_start
        self._shown_at = dict(shown_at or {})
        self._negotiates_health = negotiates_health
        self._labels = dict(labels or {})
        self._serves = serves
        self._life_lock = threading.RLock()
        self._life: _Life | None = None

    def set_gate(self, name: str, on: bool) -> None:
        """Turn one of GATES on or off. Set it before `start`."""
        self.gates = replace(self.gates, **{GATES[name]: on})

    @property
    def claim_checkpoint(self) -> Path:
        """The file with the records of claims."""
        return self.state_dir / FILE_NAME

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Make the node's folders and its Node object, wipe its slices, then serve plugins and pods. Idempotent."""
        with self._life_lock:
            if self._life is not None:
                return
            if problem := self.topology.problem():
                raise SettingsRefused(problem)
            folders = (self.root, self.registration_dir, self.plugins_dir, self.state_dir, *self.cdi_roots)
            served = () if self.device_plugins_dir is None else (self.pod_resources_socket.parent,)
            for folder in (*folders, *served):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._ensure_node()
            life = self._life = _Life(self, self._client, self._clock)
            life.start()
            self._record(KubeletState(step="started", drivers=tuple(life.plugins.drivers())))

    def stop(self) -> None:
        """Stop as a killed kubelet does: drivers are not notified, containers keep running. Idempotent."""
        with self._life_lock:
            life, self._life = self._life, None
            if life is not None:
                life.stop()
                self._record(KubeletState(step="stopped"))

    def restart(self) -> None:
        """Stop and start again with the checkpoint (rule DRA-280)."""
        self.stop()
        self.start()

    def reboot(self) -> None:
        """Restart without the containers, so that every bound pod is prepared and started again (rule DRA-270)."""
        self.stop()
        self.runtime.kill_all()
        self.start()

    def end(self) -> None:
        """Stop for good and end the containers."""
        self.stop()
        self.runtime.kill_all()

    # -- drivers ---------------------------------------------------------------------------------------------------

    def wait_registered(self, driver: str, timeout: float = 10.0, *, instances: int = 1) -> PluginHandle:
        """Wait for a driver. Raises DriverNotRegistered with the contents of the registration folder."""
        self._alive().plugins.wait_registered(driver, timeout, instances=instances)
        return self.plugin(driver)

    def plugin(self, driver: str) -> PluginHandle:
        """A driver to be called directly, without pods; calls raise DriverNotRegistered while there is none."""
        return PluginHandle(lambda: self._alive().plugins.get(driver))

    @property
    def pod_resources_socket(self) -> Path:
        """The socket of the PodResources API, served if the kubelet serves device plugins."""
        return self.root / "pod-resources" / "kubelet.sock"

    @property
    def processes(self) -> Sequence[ManagedProcess]:
        """None: it runs in this process."""
        return ()

    @property
    def plugins(self) -> PluginManager:
        """The registered plugins of this life of the kubelet."""
        return self._alive().plugins

    # -- pods ------------------------------------------------------------------------------------------------------

    def finish_pod(self, namespace: str, name: str, phase: Phase) -> None:
        """Let a pod's containers end by themselves once they run. Raises KubeletError for a pod not on this node."""
        self._alive().pods.finish(namespace, name, phase)

    def wait_running(self, namespace: str, pod: str, timeout: float) -> Mapping[str, ContainerView]:
        """Wait for a pod to run; return the view of each container. Raises KubeletError with the reason."""
        return self._alive().pods.wait_running(namespace, pod, timeout)

    def restart_containers(self, namespace: str, name: str) -> None:
        """Let a pod's containers end and start again. Raises KubeletError for a pod not on this node."""
        self._alive().pods.restart_containers(namespace, name)

    def pod_error(self, namespace: str, pod: str) -> str:
        """Why a pod does not run or does not end; empty when nothing is wrong with it."""
        return self._alive().pods.error(namespace, pod)

    def claims(self) -> list[ClaimRecord]:
        """The kubelet's records of claims, as they are in its checkpoint."""
        return self._alive().cache.all()

    def health_of(self, driver: str) -> set[DeviceKey]:
        """Return the devices (pool, name) that the driver's health stream has reported."""
        return self._alive().health.cache.known(driver)

    def health_times_of(self, driver: str) -> dict[DeviceKey, int]:
        """Return when, as the driver says, it determined the health of each device (pool, name), in Unix seconds."""
        return self._alive().health.cache.determined(driver)

    def reported_health_of(self, driver: str) -> dict[DeviceKey, str]:
        """Return the health of each device (pool, name) in the driver's last report: `Healthy`, and so on."""
        return self._alive().health.cache.reported(driver)

    def outdated_health_of(self, driver: str) -> set[DeviceKey]:
        """Return those of the devices (pool, name) whose last report is older than its timeout."""
        cache = self._alive().health.cache
        return {key for key in cache.known(driver) if cache.holds(driver, *key) is None}

    # -- inside ----------------------------------------------------------------------------------------------------

    def _alive(self) -> _Life:
        life = self._life
        if life is None:
            raise KubeletError(f"the kubelet of node {self.node_name} is not running")
        return life

    def _ensure_node(self) -> None:
        node = self._client.find(NODES, self.node_name)
        if node is None:
            labels = {
                "kubernetes.io/hostname": self.node_name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                **self._labels,
            }
            fresh: Obj = {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": self.node_name, "labels": labels},
                "spec": {},
            }
            node = self._client.create(NODES, fresh)
            self._record(KubeletState(step="node created"))
        now = timestamp(self._clock.now())
        resources = {"cpu": "64", "memory": "512Gi", "ephemeral-storage": "1Ti", "pods": "250"}
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "message": READY_MESSAGE,
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
        addresses = [
            {"type": "InternalIP", "address": HOST_IP},
            {"type": "Hostname", "address": self.node_name},
        ]
        found: Obj = node.get("status") or {}
        status: Obj = {"conditions": [ready]}
        # The address of an existing node, such as that of an external driver, is that of its own pods too: the API
        # server and other programs of the node use it.
        if self._serves is None or not found.get("addresses"):
            status["addresses"] = addresses
        if not found.get("capacity"):
            status |= {"capacity": resources, "allocatable": resources}
        # A strategic merge keeps the conditions of other components.
        self._client.patch(NODES, self.node_name, {"status": status}, kind="strategic", subresource="status")


class _Life:
    """All that one life of a kubelet runs."""

    def __init__(self, kubelet: Kubelet, client: KubeClient, clock: Clock) -> None:
        record, timing, gates = kubelet._record, kubelet.timing, kubelet.gates
        self._gates = gates
        self.cache = ClaimCache(kubelet.state_dir)
        self.devices = (
            DeviceLife(
                kubelet.device_plugins_dir,
                client=client,
                clock=clock,
                node=kubelet.node_name,
                record=record,
                active=self._active_pods,
                resync=self._look_at,
                topology=kubelet.topology,
            )
            if kubelet.device_plugins_dir is not None
            else None
        )
        self.plugins = PluginManager(
            client=client,
            slices=RESOURCE_SLICES,
            clock=clock,
            node=kubelet.node_name,
            folder=kubelet.registration_dir,
            timing=timing,
            record=record,
            on_instance=self._on_instance,
            wipe_at_start=kubelet._wipe_at_start,
            negotiates_health=kubelet._negotiates_health,
            shown_at=kubelet._shown_at,
            device_manager=self.devices.manager if self.devices else None,
        )
        self.claims = ClaimManager(
            client=client,
            claims=RESOURCE_CLAIMS,
            cache=self.cache,
            gates=gates,
            record=record,
            plugin=self.plugins.get,
        )
        self.health = HealthWatcher(
            clock=clock,
            timing=timing,
            record=record,
            on_change=self._on_health,
            retries_unimplemented=not kubelet._negotiates_health,
        )
        self.pods = PodWorkers(
            client=client,
            clock=clock,
            node=kubelet.node_name,
            runtime=kubelet.runtime,
            claims=self.claims,
            devices=self.devices.allocator if self.devices else None,
            health=self.health.cache,
            gates=gates,
            timing=timing,
            record=record,
            cdi_roots=kubelet.cdi_roots,
            serves=kubelet._serves,
        )
        self.pod_resources: PodResourcesServer | None = None
        if self.devices is not None:
            lister = NodePodResources(pods=self.pods.active_pods, devices=self.devices.allocator, claims=self.claims)
            self.pod_resources = PodResourcesServer(lister, kubelet.pod_resources_socket)

    def start(self) -> None:
        """Plugins first, so that pods that are there already find their drivers."""
        # The device manager serves plugins that the plugin manager finds.
        if self.devices is not None:
            self.devices.start()
        self.plugins.start()
        self.pods.start()
        if self.pod_resources is not None:
            self.pod_resources.start()

    def stop(self) -> None:
        """Close the connections first, so that nothing waits for a driver."""
        # Without this, calls that end with the connections would be reported as failures of pods.
        self.pods.quit()
        if self.pod_resources is not None:
            self.pod_resources.stop()
        self.plugins.stop()
        if self.devices is not None:
            self.devices.stop()
        self.health.stop()
        self.pods.stop()

    # Methods, because the pods are made later than what calls these.
    def _active_pods(self) -> set[str]:
        return self.pods.active()

    def _look_at(self, uids: Iterable[str]) -> None:
        self.pods.look_at(uids)

    def _on_health(self, driver: str) -> None:
        self.pods.resync(driver)

    def _on_instance(self, instance: PluginInstance, added: bool) -> None:
        if not self._gates.resource_health_status:
            return
        if added:
            self.health.add(instance)
        else:
            self.health.remove(instance)
