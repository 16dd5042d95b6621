"""The interface of a node's kubelet for scenarios: the emulated one or Kubernetes' own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from dra_conformance.core.process import ManagedProcess
from dra_conformance.kubelet.calls import PluginHandle, PluginInstance
from dra_conformance.kubelet.claim_cache import ClaimRecord
from dra_conformance.kubelet.container_view import ContainerView
from dra_conformance.kubelet.pod_status import Phase
from dra_conformance.kubelet.topology import Topology


class Plugins(Protocol):
    """The drivers that are registered with a kubelet."""

    def drivers(self) -> list[str]:
        """The names of all registered drivers."""
        ...

    def instances(self, driver: str) -> list[PluginInstance]:
        """All registered instances of a driver, oldest first."""
        ...

    def explain(self, driver: str) -> str:
        """Why a driver is not registered, in one sentence."""
        ...


class NodeKubelet(Protocol):
    """A node's kubelet. Its methods raise KubeletError if it is not running."""

    device_plugins_dir: Path | None
    """The folder of device plugins; None: the scenario has none. Set it before `start`."""
    topology: Topology
    """The settings of the topology manager, and the machine's NUMA nodes. Set them before `start`."""

    @property
    def registration_dir(self) -> Path:
        """The folder for registration sockets of drivers."""
        ...

    @property
    def plugins_dir(self) -> Path:
        """The folder for sockets of drivers."""
        ...

    @property
    def cdi_roots(self) -> Sequence[Path]:
        """The folders with CDI specifications, the least important first."""
        ...

    @property
    def plugins(self) -> Plugins:
        """The registered drivers."""
        ...

    @property
    def claim_checkpoint(self) -> Path:
        """The file with the records of claims."""
        ...

    def set_gate(self, name: str, on: bool) -> None:
        """Turn a feature gate on or off, before `start`."""
        ...

    @property
    def pod_resources_socket(self) -> Path:
        """The socket of the PodResources API, served with a folder of device plugins."""
        ...

    @property
    def processes(self) -> Sequence[ManagedProcess]:
        """Its programs that were started; empty if it runs in this process."""
        ...

    def start(self) -> None:
        """Start it; the Node object is ready when this returns. Raises KubeletError."""
        ...

    def stop(self) -> None:
        """Kill it; drivers are not notified and containers keep running. Idempotent."""
        ...

    def restart(self) -> None:
        """Stop and start it with its checkpoint."""
        ...

    def reboot(self) -> None:
        """Restart it without its containers."""
        ...

    def end(self) -> None:
        """End it and all that it started. Idempotent."""
        ...

    def wait_registered(self, driver: str, timeout: float = 10.0, *, instances: int = 1) -> PluginHandle:
        """Wait for so many instances of a driver, at most `timeout` seconds. Raises DriverNotRegistered."""
        ...

    def plugin(self, driver: str) -> PluginHandle:
        """A driver to be called directly, without pods."""
        ...

    def wait_running(self, namespace: str, pod: str, timeout: float) -> Mapping[str, ContainerView]:
        """Wait for a pod to run; return the view of each container. Raises KubeletError with the reason."""
        ...

    def finish_pod(self, namespace: str, name: str, phase: Phase) -> None:
        """Let a pod's containers end by themselves once they run."""
        ...

    def restart_containers(self, namespace: str, name: str) -> None:
        """End a pod's containers, which start again."""
        ...

    def claims(self) -> list[ClaimRecord]:
        """The kubelet's records of claims, as they are in its checkpoint."""
        ...
