"""The run and the scenario as components see them.

The engine owns both (`engine.run.Run`, `engine.world.World`) and starts components through them. Components depend on
these protocols only, so that imports point one way.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

from dra_api.client import KubeClient
from dra_api.clock import AdvanceableClock
from dra_api.objects import Obj, Resource
from dra_api.transport import Transport
from dra_conformance.components.external_driver import ExternalDriver
from dra_conformance.control_plane.base import ControlPlane
from dra_conformance.core.component_spec import ComponentSpec
from dra_conformance.core.events.log import EventLog
from dra_conformance.core.events.observer import Observer
from dra_conformance.core.features import Scenario
from dra_conformance.core.isolation import Isolation
from dra_conformance.core.options import RunOptions
from dra_conformance.core.process import ManagedProcess
from dra_conformance.kubelet.real.programs import NodePrograms


class ComponentRegistry(Protocol):
    """The implementations of all components."""

    came: set[str]

    def spec(self, component: str) -> ComponentSpec:
        """Return what the user chose for a component."""
        ...

    @property
    def work(self) -> Path:
        """The run's short-lived folder for sockets and state (mode 0700)."""
        ...


class RunContext(Protocol):
    """One run: options, log, control plane and what all of its scenarios share."""

    options: RunOptions
    folder: Path
    log: EventLog
    clock: AdvanceableClock
    control_plane: ControlPlane | None

    @property
    def components(self) -> ComponentRegistry:
        """The implementations of all components."""
        ...

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig of the control plane for external programs."""
        ...

    @property
    def patience(self) -> float:
        """Seconds that a check waits for the target."""
        ...

    @property
    def isolation(self) -> Isolation:
        """How programs under test are separated from this process."""
        ...

    @property
    def on_existing_cluster(self) -> bool:
        """Whether the control plane is a cluster that other users have too."""
        ...

    def has_made_namespace(self, name: str) -> bool:
        """Return whether this process has created a namespace on an existing cluster."""
        ...

    def log_of(self, component: str) -> Path:
        """Return the file for the output of a component's program that all scenarios of this process use."""
        ...

    def target_folder(self, name: str) -> Path:
        """Return a private folder of the programs under test with this name, for what they are given."""
        ...

    @property
    def pynvml_pool(self) -> Any:
        """The `pynvml` modules of the run's nodes."""
        ...

    def inventory(self, name: str) -> Any:
        """Return a fake NVML inventory, read once per run."""
        ...

    def component_transport(self, component: str) -> Transport:
        """Return a recorded transport for a reference component."""
        ...

    def component_kubeconfig(self, component: str, own: Path | None = None) -> Path:
        """Return the kubeconfig for an external program, which goes through the fault proxy if faults are planned."""
        ...

    def target_kubeconfig(self, component: str, own: Path | None = None, *, through_proxy: bool = True) -> Path:
        """Return a copy of a kubeconfig for a program under test, in its folder."""
        ...

    def component_command(
        self,
        program: str,
        component: str,
        gates: Mapping[str, bool],
        arguments: Mapping[str, str] | None = None,
        release: str = "",
    ) -> list[str]:
        """Return the command line of a Kubernetes program that runs as a component. Raises UsageError."""
        ...

    def program_of(self, program: str, release: str) -> str:
        """Return the version of the program that runs as another release, and whether it emulates that release."""
        ...

    def node_programs(self) -> NodePrograms:
        """Return the programs of nodes with a real kubelet. Raises TargetUnreachable if any is missing."""
        ...


class ScenarioContext(Protocol):
    """One scenario: its names, its objects and its clean-up."""

    scenario: Scenario
    suffix: str
    namespace: str
    log: EventLog
    clock: AdvanceableClock
    client: KubeClient
    observer: Observer
    cleanup: ExitStack
    failed: bool

    @property
    def run(self) -> RunContext:
        """The run that the scenario belongs to."""
        ...

    @property
    def has_real_kubelet(self) -> bool:
        """Whether the scenario's nodes run Kubernetes' own kubelet."""
        ...

    def name(self, alias: str) -> str:
        """Return the cluster-wide name for a name of the scenario."""
        ...

    def alias(self, alias: str, name: str) -> None:
        """Use `alias` for an existing cluster-wide name."""
        ...

    def started(self, component: str, process: ManagedProcess) -> None:
        """Add a program of a component whose output belongs to the report of a failure."""
        ...

    def external_driver_for(self, alias: str) -> ExternalDriver | None:
        """Return the externally started driver if it serves the node `alias`."""
        ...

    def create(self, obj: Obj) -> Obj:
        """Create an object that is deleted when the scenario ends."""
        ...

    def all_seen(self, resource: Resource) -> list[Obj]:
        """Return all objects that the observer has received."""
        ...
