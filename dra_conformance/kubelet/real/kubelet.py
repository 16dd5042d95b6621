"""Kubernetes' own kubelet with containerd on one node of a scenario.

`RealKubelet` owns everything that it starts: namespaces, cgroups, containerd, the kubelet and the containers. `stop`
and `start` kill and start the kubelet alone, as an upgrade does; containers run on. `reboot` ends the
containers too. `end` leaves nothing. Folders and Node object outlive all but `end`; the run removes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml

from dra_api.client import KubeClient
from dra_api.objects import EVENTS, NODES, PODS, Obj, is_ready, name_of, namespace_of, uid_of
from dra_conformance.core.events import KubeletProblem, KubeletState
from dra_conformance.core.isolation import of_kubernetes
from dra_conformance.core.process import ManagedProcess
from dra_conformance.kubelet.calls import PluginHandle
from dra_conformance.kubelet.cdi import cdi_folders
from dra_conformance.kubelet.claim_cache import FILE_NAME, ClaimRecord, read_checkpoint
from dra_conformance.kubelet.container_view import ContainerView
from dra_conformance.kubelet.errors import DriverNotRegistered, KubeletEnded, KubeletError
from dra_conformance.kubelet.pod_status import Phase
from dra_conformance.kubelet.real import cgroups, container_probe, numa, settings
from dra_conformance.kubelet.real.cgroups import NodeCgroups
from dra_conformance.kubelet.real.containerd import Containerd
from dra_conformance.kubelet.real.log_follower import LogFollower
from dra_conformance.kubelet.real.namespace import NodeNamespace
from dra_conformance.kubelet.real.plugins import RealPlugins
from dra_conformance.kubelet.real.programs import KUBELET, NODE, NodePrograms
from dra_conformance.kubelet.record import Log, recorder
from dra_conformance.kubelet.topology import NONE, Topology

T = TypeVar("T")
Wait = Callable[[Callable[[], Any], float], Any]
_READY_TIMEOUT = 60.0
_RUNNING_AT_LEAST = 30.0


class RealKubelet:
    """One node.

    Args:
        programs: paths of kubelet, containerd and their helpers.
        client: reads the node and its pods; the kubelet itself uses `kubeconfig`.
        kubeconfig: kubeconfig of system:node:NAME in group system:nodes.
        node_name: the Node object, which the kubelet creates.
        root: the kubelet's root folder with `plugins_registry`, `plugins` and the checkpoint, as usual, and the CDI
            folders.
        logs: the folder for the programs' output.
        log, poke: the run's event log; `poke` wakes waiters.
        wait: waits until a function returns something true, for at most so many seconds; returns its last value.
        feature_gates: the kubelet's feature gates.
        pass_env: variables of the environment that the node's programs get besides the usual ones.
    """

    def __init__(
        self,
        programs: NodePrograms,
        client: KubeClient,
        *,
        kubeconfig: Path,
        node_name: str,
        root: Path,
        logs: Path,
        log: Log,
        poke: Callable[[], None],
        wait: Wait,
        feature_gates: Mapping[str, bool] | None = None,
        pass_env: Sequence[str] = (),
    ) -> None:
        self.name = f"kubelet {node_name}"
        self.node_name = node_name
        self.root = root
        self.registration_dir = root / "plugins_registry"
        self.plugins_dir = root / "plugins"
        self.cdi_roots = cdi_folders(root)
        self.device_plugins_dir: Path | None = None
        """The folder of device plugins, shown where the kubelet has it built in. Set it before `start`."""
        self.topology = Topology()
        """The settings of the topology manager, and the machine's NUMA nodes. Set them before `start`."""
        self._programs = programs
        self._client = client
        self._kubeconfig = kubeconfig
        self._logs = logs
        self._record = recorder(log, node_name)
        self._poke = poke
        self._wait = wait
        self._gates = dict(feature_gates or {})
        self._layout = settings.Layout(root, self.cdi_roots)
        self._cgroups = NodeCgroups(cgroups.name_for(root))
        self._isolation = of_kubernetes(pass_env)
        self._containerd = Containerd(
            self._layout, programs, log=logs / f"containerd-{node_name}.log", isolation=self._isolation
        )
        self._namespace: NodeNamespace | None = None
        self._process: ManagedProcess | None = None
        self._follower: LogFollower | None = None
        self.plugins = RealPlugins(self._alive, folder=self.registration_dir, record=self._record)

    def set_gate(self, name: str, on: bool) -> None:
        """Turn a feature gate on or off. Set it before `start`."""
        self._gates[name] = on

    @property
    def claim_checkpoint(self) -> Path:
        """The file with the records of claims."""
        return self.root / FILE_NAME

    @property
    def pod_resources_socket(self) -> Path:
        """The socket of the PodResources API."""
        return self.root / "pod-resources" / "kubelet.sock"

    @property
    def processes(self) -> Sequence[ManagedProcess]:
        """The kubelet and containerd, as far as they are started."""
        return [process for process in (self._process, self._containerd.process) if process is not None]

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the node if it is off, and the kubelet; return when the Node is ready. Raises KubeletError.

        A node that was on stays on if its kubelet does not start.
        """
        if self._process is not None:
            return
        was_on = self._namespace is not None
        served = () if self.device_plugins_dir is None else (self.device_plugins_dir,)
        for folder in (self.root, self.registration_dir, self.plugins_dir, *self.cdi_roots, *served):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._power_on()
            self._launch()
        except BaseException:
            if was_on:
                self.stop()
            else:
                self.end()
            raise

    def stop(self) -> None:
        """Kill the kubelet; drivers are not notified, containers keep running. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            self._record(KubeletState(step="stopped"))
        # After the kubelet, so that its last lines are read.
        follower, self._follower = self._follower, None
        if follower is not None:
            follower.stop()
        self.plugins.close()

    def restart(self) -> None:
        """Stop and start again with the checkpoint."""
        self.stop()
        self.start()

    def reboot(self) -> None:
        """Stop, end the containers, and start again with the checkpoint."""
        self.stop()
        self._power_off()
        self.start()

    def end(self) -> None:
        """End kubelet, containers, containerd and namespaces, and remove the cgroups. Idempotent."""
        self.stop()
        self._power_off()
        if left := self._cgroups.remove():
            self._record(KubeletProblem(message=f"cgroups that the kernel still holds: {', '.join(left)}"))

    # -- drivers ---------------------------------------------------------------------------------------------------

    def wait_registered(self, driver: str, timeout: float = 10.0, *, instances: int = 1) -> PluginHandle:
        """Wait for a driver. Raises DriverNotRegistered with the contents of the registration folder."""
        follower = self._alive()
        if not self._wait(lambda: len(follower.plugins(driver)) >= instances, timeout):
            raise DriverNotRegistered(self.plugins.explain(driver))
        return self.plugins.handle(driver)

    def plugin(self, driver: str) -> PluginHandle:
        """A driver to be called by the harness, beside the kubelet."""
        return self.plugins.handle(driver)

    # -- pods ------------------------------------------------------------------------------------------------------

    def wait_running(self, namespace: str, pod: str, timeout: float) -> Mapping[str, ContainerView]:
        """Wait for a pod to run; return the view from inside each container. Raises KubeletError with the reason."""
        messages: list[str] = []

        def look() -> dict[str, ContainerView] | None:
            messages.clear()
            obj = self._client.find(PODS, pod, namespace)
            if obj is None:
                messages.append(f"there is no pod {namespace}/{pod}")
                return None
            status = obj.get("status") or {}
            if status.get("phase") != "Running":
                messages.append(f"pod {namespace}/{pod} is {status.get('phase')}: {self._events(namespace, pod)}")
                return None
            try:
                return {
                    container["name"]: self._view(obj, container["name"])
                    for container in (*(obj["spec"].get("initContainers") or ()), *obj["spec"]["containers"])
                }
            except KubeletError as error:
                messages.append(str(error))
                return None

        found: dict[str, ContainerView] | None = self._wait(look, max(timeout, _RUNNING_AT_LEAST))
        if found is None:
            raise KubeletError(messages[-1] if messages else f"pod {namespace}/{pod} does not run")
        return found

    def finish_pod(self, namespace: str, name: str, phase: Phase) -> None:
        """Let a pod's containers end once they run; its restart policy must be Never. Raises KubeletError."""
        self.wait_running(namespace, name, _RUNNING_AT_LEAST)
        # The program of a container ends with 0 or 1.
        self._signal_containers(namespace, name, "SIGTERM" if phase == "Succeeded" else "SIGUSR1")

    def restart_containers(self, namespace: str, name: str) -> None:
        """End a pod's containers, which the kubelet starts again. Raises KubeletError."""
        self.wait_running(namespace, name, _RUNNING_AT_LEAST)
        self._signal_containers(namespace, name, "SIGKILL")

    def claims(self) -> list[ClaimRecord]:
        """The kubelet's records of claims, read from its checkpoint. Raises CheckpointCorrupt."""
        path = self.claim_checkpoint
        return read_checkpoint(path) if path.exists() else []

    # -- inside ----------------------------------------------------------------------------------------------------

    def _power_on(self) -> None:
        if self._namespace is not None:
            return
        cgroups.remove_abandoned(self.root.parent.parent)
        self._cgroups.make()
        self._logs.mkdir(parents=True, exist_ok=True)
        # These may be below folders that the namespaces hide, such as /run.
        keep: Sequence[Path] = [self.root.parent, *(path.resolve().parent for path in self._programs.paths.values())]
        self._namespace = NodeNamespace(
            self._programs[NODE],
            keep=[*keep, self._kubeconfig.parent],
            binds=self._binds(),
            log=self._logs / f"node-{self.node_name}.log",
            isolation=self._isolation,
        )
        self._namespace.start()
        self._containerd.start(self._namespace)
        self._record(KubeletState(step="node on", containerd=self._programs.containerd))

    def _binds(self) -> Mapping[Path, Path]:
        """Return the folders that the node's programs see at paths that they have built in."""
        found: dict[Path, Path] = {}
        if self.device_plugins_dir is not None:
            found[settings.DEVICE_PLUGINS] = self.device_plugins_dir
        if self.topology.policy != NONE:
            folder = self.root / "numa"
            numa.write(folder, self.topology)
            found[numa.SYS_NODES] = folder
        return found

    def _power_off(self) -> None:
        namespace, self._namespace = self._namespace, None
        if namespace is not None:
            namespace.end()
            self._containerd.reap()
            self._record(KubeletState(step="node off"))

    def _launch(self) -> None:
        if self._namespace is None:
            raise KubeletError(f"the node {self.node_name} is off")
        written = settings.kubelet(
            self._layout, cgroup_root=self._cgroups.path, feature_gates=self._gates, topology=self.topology
        )
        self._layout.kubelet_config.write_text(yaml.safe_dump(written))
        flags = settings.kubelet_flags(self._layout, node=self.node_name, kubeconfig=self._kubeconfig)
        log = self._logs / f"kubelet-{self.node_name}.log"
        # Before the kubelet: the follower begins at the end of the log of an earlier life.
        self._follower = LogFollower(log, record=self._record, poke=self._poke)
        self._follower.start()
        process = ManagedProcess(
            "kubelet",
            self._namespace.command([str(self._programs[KUBELET]), *flags]),
            log_path=log,
            isolation=self._isolation,
        )
        process.start()
        self._process = process
        self._record(KubeletState(step="started", release=self._programs.kubelet))
        follower = self._follower

        def ready() -> bool:
            # A kubelet that has exited ends the wait at once.
            return not process.running or (follower.serves and self._node_ready())

        if not self._wait(ready, _READY_TIMEOUT) or not process.running:
            how = "is not ready" if process.running else f"ended with exit code {process.exit_code}"
            problem = f"the kubelet of {self.node_name} {how}; last output: {process.last_lines(3)}"
            raise KubeletError(problem) if process.running else KubeletEnded(problem)

    def _node_ready(self) -> bool:
        node = self._client.find(NODES, self.node_name)
        return node is not None and is_ready(node)

    def _view(self, pod: Obj, container: str) -> ContainerView:
        namespace, name, uid = namespace_of(pod), name_of(pod), uid_of(pod)
        seen = container_probe.read(self._layout.pod_logs, namespace=namespace, pod=name, uid=uid, container=container)
        configured = next((one for one in self._bundles(pod) if one.container == container), None)
        return container_probe.view(seen, self.cdi_roots, configured)

    def _bundles(self, pod: Obj) -> list[container_probe.Bundle]:
        """Return the configurations of the pod's containers that run."""
        if self._namespace is None:
            return []
        tasks = self._namespace.root / settings.TASKS.relative_to("/")
        return [one for one in container_probe.bundles(tasks) if one.pod_uid == uid_of(pod)]

    def _signal_containers(self, namespace: str, name: str, signal: str) -> None:
        pod = self._client.get(PODS, name, namespace)
        main = {container["name"] for container in pod["spec"]["containers"]}
        for one in self._bundles(pod):
            if one.container in main and self._namespace is not None:
                self._containerd.signal(self._namespace, one.id, signal)

    def _events(self, namespace: str, pod: str) -> str:
        listed = self._client.list(EVENTS, namespace, field_selector=f"involvedObject.name={pod}").items
        messages = [str(event.get("message") or "") for event in listed if event.get("type") == "Warning"]
        return messages[-1] if messages else "no warning was recorded"

    def _alive(self) -> LogFollower:
        if self._follower is None or self._process is None:
            raise KubeletError(f"the kubelet of node {self.node_name} is not running")
        return self._follower
