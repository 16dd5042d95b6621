"""One run: its options, log, control plane, components and results.

Created when pytest starts with the suite, started before the first scenario that runs, and stopped with the session. It
owns two folders: the report folder, which stays, and a short-lived one for sockets, which is removed.
"""

from __future__ import annotations

import os
import random
import secrets
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import fake_nvml
from dra_api.client import ApiError, KubeClient
from dra_api.clock import AdvanceableClock
from dra_api.objects import (
    CLUSTER_ROLES,
    NODES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Resource,
)
from dra_api.transport import Transport, TransportError
from dra_conformance.components import external_driver, gpus_on_node
from dra_conformance.components.companions import read_manifests
from dra_conformance.components.connections import Connections
from dra_conformance.components.manager import ComponentManager
from dra_conformance.components.work_folder import WorkFolder
from dra_conformance.control_plane import leftovers, service_account
from dra_conformance.control_plane.base import ControlPlane
from dra_conformance.control_plane.binaries import BinariesControlPlane
from dra_conformance.control_plane.own_objects import CLEANER, Ledger, OwnObjectsTransport
from dra_conformance.core import isolation
from dra_conformance.core.companions import COMPONENTS as WITH_COMPANIONS
from dra_conformance.core.errors import TargetUnreachable, UsageError
from dra_conformance.core.events import MACHINE, ControlPlaneReady, EventLog, InventoryUsed, RunStarted, TargetInfo
from dra_conformance.core.events.calls import Calls, CallsTransport
from dra_conformance.core.events.logrecords import LogRecords
from dra_conformance.core.events.observer import Observer
from dra_conformance.core.events.recorder import RecordingTransport
from dra_conformance.core.features import Scenario
from dra_conformance.core.isolation import Isolation
from dra_conformance.core.options import RunOptions
from dra_conformance.core.rules import Catalogue
from dra_conformance.core.thread_failures import HarnessFailure, ThreadFailures
from dra_conformance.engine import (
    control_planes,
    crds,
    observed,
    run_metadata,
    suffixes,
    target_discovery,
    target_isolation,
)
from dra_conformance.engine.plan import Plan
from dra_conformance.engine.target import Target, judges_emulated_kubelet
from dra_conformance.engine.waits import Waits
from dra_conformance.faults.late import no_lag
from dra_conformance.faults.model import FaultPoints
from dra_conformance.kubelet import PACKAGE as KUBELET
from dra_conformance.kubelet.real import programs
from dra_conformance.kubelet.real.programs import NodePrograms
from dra_conformance.rbac import target_roles
from dra_conformance.rbac.table import may_watch

_CLEANUP_PATIENCE = 60.0  # seconds; a busy cluster empties a namespace slowly


@dataclass(frozen=True, slots=True)
class _Started:
    """The resources of a run that has started."""

    client: KubeClient
    connections: Connections
    observer: Observer
    components: ComponentManager


class Run:
    """Everything that the scenarios of one process share."""

    def __init__(
        self, options: RunOptions, *, folder: Path, run_id: str | None = None, seed: int | None = None, worker: str = ""
    ) -> None:
        self.options = options
        self.folder = folder
        self.run_id = run_id or secrets.token_hex(4)
        given = options.seed if seed is None else seed
        self.seed = secrets.randbelow(10**6) if given is None else given
        self.random = random.Random(self.seed)  # noqa: S311 - reproducible choices, not secrets
        self.worker = worker
        self.clock = AdvanceableClock()
        self._isolation = target_isolation.choose(options, run_id=self.run_id)
        if self._isolation.mode != "off":
            isolation.protect_this_process()
        self.log = EventLog(folder / (f"events.{worker}.jsonl" if worker else "events.jsonl"))
        self.catalogue = Catalogue.load()
        self.calls = Calls()
        self.waits = Waits(options)
        self.control_plane: ControlPlane | None = None
        self.observed: tuple[Resource, ...] = observed.ALWAYS
        self.external_driver: external_driver.ExternalDriver | None = None
        self._started: _Started | None = None
        self._start_attempted = False
        self._failed_start: Exception | None = None
        self._ending = ExitStack()  # stops what was started, newest first
        self._faulted: frozenset[str] = frozenset()
        self._ledger = Ledger(self.run_id)
        self._log_records = LogRecords(self.log)
        self._threads = ThreadFailures()
        self._work: WorkFolder | None = None
        self._resource_versions = options.resource_versions()
        self._scenarios = 0
        self._inventories: dict[str, fake_nvml.Inventory] = {}
        self._pynvml_pool: fake_nvml.PynvmlPool | None = None
        self._node_programs: NodePrograms | None = None
        self._identities: dict[str, Path] = {}

    # -- life ------------------------------------------------------------------------------------------------------

    def target(self) -> Target:
        """Return the facts about the target that the plan depends on. Raises TargetUnreachable."""
        found = target_discovery.discover(self._control_plane(), self.options)
        self._resource_versions = found.resource_versions
        return found

    def expect(self, plan: Plan) -> None:
        """Note, before `start`, the components into whose requests the plan's scenarios inject faults."""
        self._faulted = frozenset(
            component
            for scenario in plan.to_run
            if "faults" in scenario.tags.needs
            for component in scenario.tags.components
        )

    def start(self) -> None:
        """Start the control plane and the harness's watches, once.

        Raises TargetUnreachable, or the error of a start that failed in another way, again at each call.
        """
        if self._failed_start is not None:
            raise self._failed_start
        if self._start_attempted:
            return
        # Before the start: a second call must not start anything again, however the first one ends.
        self._start_attempted = True
        self._log_records.attach()
        self._threads.install()
        began = time.monotonic()
        try:
            control_plane = self._control_plane()
            if control_plane.own:
                control_plane.start()
            self._started = self._start_on(control_plane)
            if self.options.component("driver").kind == "socket":
                self._find_external_driver()
        except Exception as error:
            # Of any kind: scenarios must report this error, not that the run was never started.
            self._failed_start = error
            raise
        self.log.emit(ControlPlaneReady(name=control_plane.name, ready=round(time.monotonic() - began, 3)))
        if self.options.nvml == "real":
            self._show_gpus_of_machine()

    def _show_gpus_of_machine(self) -> None:
        nvml = fake_nvml.load_pynvml(None)
        # For the report only: a GPU that does not answer is found by the scenarios.
        with suppress(nvml.NVMLError):
            self.log.emit(InventoryUsed(name=MACHINE, real=True, gpus=gpus_on_node.of_machine(nvml)))

    def _start_on(self, control_plane: ControlPlane) -> _Started:
        """Connect to a running control plane, and watch it."""
        transport = RecordingTransport(self._connect(control_plane), self.log)
        self._ending.callback(transport.close)
        lag = self.options.lag().delays(self.seed)
        connections = Connections(
            control_plane,
            connect=lambda: self._connect(control_plane),
            # Not the bound method: every scenario on a real control plane has a new clock.
            in_flight=lambda: self.clock.in_flight(),  # noqa: PLW0108
            own_clock=lambda: self.clock,
            log=self.log,
            folder=self.work / "proxy",
            by_proxy=self._by_proxy(),
            # The emulator delays the watches of this process itself, and knows when they have delivered.
            lag_in_process=no_lag if self.options.component("control-plane").kind == "embedded" else lag,
            lag=lag,
        )
        self._ending.callback(connections.stop)
        client = KubeClient(transport, user_agent="dra-conformance")
        if control_plane.own:
            crds.install(client, self.log.clock)
        if not client.carries(RESOURCE_CLAIMS):
            raise TargetUnreachable(
                "the control plane serves no resource.k8s.io/v1, v1beta2 or v1beta1",
                hint="Kubernetes serves v1 since 1.34; `kubectl api-versions` lists the served versions.",
            )
        # On the user's cluster the run's role may watch only the resources of the selected profiles.
        profiles = () if control_plane.own else self.options.profile
        candidates = (*observed.OPTIONAL, *observed.GATED)
        optional = [each for each in candidates if may_watch(each, profiles) and client.serves(each)]
        self.observed = (*observed.ALWAYS, *optional)
        observer = Observer(KubeClient(self._connect(control_plane)), self.observed, clock=self.log.clock, log=self.log)
        # Registered before the start, so that a start that fails is undone too.
        self._ending.callback(observer.stop)
        observer.start()
        components = ComponentManager(self, work=self.work)
        self._ending.callback(components.stop)
        return _Started(client, connections, observer, components)

    def _by_proxy(self) -> frozenset[str]:
        """Return the components whose programs connect through the fault proxy: all of them if watches are late."""
        if not self.options.lag():
            return self._faulted
        # A real kubelet has a network namespace of its own, and connects through the proxy only for faults.
        return self._faulted | {name for name in self.options.components() if name not in ("control-plane", "kubelet")}

    def _find_external_driver(self) -> None:
        """Find the externally started driver and its node. Raises TargetUnreachable."""
        if self.worker and int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) > 1:
            raise TargetUnreachable("one running driver cannot serve several workers", hint="Leave -n out.")
        self.external_driver = external_driver.find(
            self.options.component("driver").argument,
            self.observer.list(RESOURCE_SLICES),
            driver=self.options.driver_name,
            node_name=self.options.node_name,
            cdi_root=self.options.cdi_root,
        )
        name = self.external_driver.node
        external_driver.require_no_kubelet(name, self.observer.get(NODES, name))
        self._ledger.borrow(name)

    def stop(self) -> None:
        """Stop everything that was started, even if a part of it fails to stop; the report folder stays."""
        self._ending.close()

    def leftovers(self) -> list[str]:
        """Delete the run's objects on an existing cluster, and return those that could not be deleted."""
        control_plane = self.control_plane
        if self.worker or control_plane is None or control_plane.own:
            return []  # the first process does it after its workers have ended
        patience = max(self.patience, _CLEANUP_PATIENCE)
        try:
            client = KubeClient(self._connect(control_plane), user_agent=CLEANER)
            found = leftovers.find(client, self.run_id, profiles=self.options.profile)
            remaining = leftovers.remove(client, found, clock=self.log.clock, patience=patience)
        except TargetUnreachable:  # reported as the run's problem already
            return []
        except (ApiError, TransportError) as error:
            return [f"unknown objects: looking for leftovers failed: {error}"]
        return [str(each) for each in remaining]

    def begin_scenario(self, scenario: Scenario) -> str:
        """Prepare the clock for the next scenario, and return the suffix of its cluster-wide names."""
        self._scenarios += 1
        self._threads.judged = KUBELET if self.judges_emulated_kubelet(scenario) else ""
        if self.options.control_plane != "embedded":
            # A real server does not follow the advances of earlier scenarios, so each begins at the real time.
            self.clock = AdvanceableClock()
        return suffixes.of_scenario(self.run_id, self.worker, self._scenarios)

    @property
    def on_existing_cluster(self) -> bool:
        """Whether the control plane is a cluster that other users have too, and not one of the run."""
        return self.control_plane is not None and not self.control_plane.own

    def has_made_namespace(self, name: str) -> bool:
        """Return whether this process has created a namespace on an existing cluster."""
        return self._ledger.holds("", "namespaces", "", name)

    def judges_emulated_kubelet(self, scenario: Scenario) -> bool:
        """Return whether the emulated kubelet is the target of a scenario: its errors are not the harness's then."""
        return judges_emulated_kubelet(scenario.rules, self.catalogue, self.options.components())

    # -- the log ---------------------------------------------------------------------------------------------------

    def describe(self) -> TargetInfo:
        """Return the report's description of the target."""
        return run_metadata.describe(self.options, self.control_plane, self._resource_versions, self._isolation)

    def log_start(self, command: str) -> None:
        """Log the first event: suite, options and target. `command` is the command line, without secrets."""
        self.log.emit(self.started(command))

    def started(self, command: str = "") -> RunStarted:
        """Return the first event, which only the first of several processes logs."""
        return run_metadata.started(
            self.options,
            self.catalogue,
            self.describe(),
            run_id=self.run_id,
            seed=self.seed,
            command=command,
        )

    def log_plan(self, plan: Plan) -> None:
        """Log the plan: every scenario with its rules, and every rule that they judge."""
        self.log.emit(run_metadata.planned(plan, self.catalogue))

    # -- parts -----------------------------------------------------------------------------------------------------

    @property
    def client(self) -> KubeClient:
        """The harness's own client."""
        return self._running.client

    @property
    def observer(self) -> Observer:
        """The stores of all watched objects."""
        return self._running.observer

    @property
    def components(self) -> ComponentManager:
        """The implementation of each component."""
        return self._running.components

    @property
    def work(self) -> Path:
        """The short-lived folder for sockets and state; removed with the run."""
        if self._work is None:
            self._work = WorkFolder(small=self.options.component("control-plane").kind == "embedded")
        return self._work.path

    @property
    def isolation(self) -> Isolation:
        """How programs under test are separated from this process."""
        self._isolation.reach(self.work)
        return replace(self._isolation, hidden=(self.work,))

    def log_of(self, component: str) -> Path:
        """Return the file for the output of a component's program that all scenarios of this process use."""
        # Each worker has its own program: in a common file their last lines would mix.
        return self.folder / "logs" / f"{component}{self.worker and f'-{self.worker}'}.log"

    def target_folder(self, name: str) -> Path:
        """Return a private folder of the programs under test with this name, for what they are given."""
        folder = self.work / "targets" / name
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.isolation.reach(folder.parent)
        self.isolation.give(folder)
        return folder

    def inventory(self, name: str) -> fake_nvml.Inventory:
        """Return a fake NVML inventory, read once for each run."""
        if name not in self._inventories:
            found = self._inventories[name] = fake_nvml.Inventory.load(name)
            self.log.emit(InventoryUsed(name=name, gpus=gpus_on_node.of_inventory(found)))
        return self._inventories[name]

    @property
    def pynvml_pool(self) -> fake_nvml.PynvmlPool:
        """The `pynvml` modules of the run's nodes."""
        if self._pynvml_pool is None:
            self._pynvml_pool = fake_nvml.PynvmlPool()
        return self._pynvml_pool

    # -- activity --------------------------------------------------------------------------------------------------

    @property
    def patience(self) -> float:
        """Seconds that a check waits for the target."""
        return self.waits.patience

    @property
    def quiet(self) -> float:
        """Seconds without an event after which no more are expected."""
        return self.waits.quiet

    @property
    def observes_idle(self) -> bool:
        """Whether all clients of the control plane run in this process, on the run's clock."""
        return self.waits.observes_idle

    def is_idle(self) -> bool:
        """Whether no component on the run's clock has work, no call is in flight, and all endpoints are idle."""
        return self._forwarded() and self.clock.is_idle()

    def waits_for_drivers(self) -> bool:
        """Whether calls to drivers are in flight, and nothing else: no request, and no undelivered event of a watch.

        Queues are not considered, because a worker of the kubelet waits for the response.
        """
        calls = self.clock.calls
        return 0 < calls == self.clock.open_ended_calls and self._forwarded() and self.watches_drained()

    def _forwarded(self) -> bool:
        """Whether the fault proxy has forwarded everything that it received."""
        return self._started is None or self._started.connections.is_idle()

    def watches_drained(self) -> bool:
        """Whether every watch has delivered what was written; true if the control plane cannot know."""
        return self.control_plane is None or self.control_plane.watches_drained()

    @property
    def has_controllers(self) -> bool:
        """Whether kube-controller-manager runs, which creates service accounts and judges nodes."""
        real = self.control_plane is not None and self.control_plane.evidence == "evidence"
        return self.options.control_plane != "embedded" and real

    def take_failures(self) -> list[HarnessFailure]:
        """Return failures of the control plane itself and of the harness's threads since the last call."""
        planes = self.control_plane.take_failures() if self.control_plane is not None else []
        return [
            *(HarnessFailure(f"the control plane failed: {one.message}", one.traceback) for one in planes),
            *(HarnessFailure(f"the harness failed: {one.message}", one.traceback) for one in self._threads.take()),
        ]

    # -- how components reach the control plane --------------------------------------------------------------------

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig of the control plane for external programs."""
        return self._control_plane().kubeconfig

    def component_kubeconfig(self, component: str, own: Path | None = None) -> Path:
        """Return the kubeconfig for an external program, which goes through the fault proxy if faults are planned.

        `own` is the program's own identity, by default the run's.
        """
        return self._running.connections.kubeconfig(component, own)

    def target_kubeconfig(self, component: str, own: Path | None = None, *, through_proxy: bool = True) -> Path:
        """Return a copy of a kubeconfig for a program under test, in its folder.

        `own` is the program's identity, by default a user with the role of its component.
        `through_proxy`: as `component_kubeconfig`; else the connection is always direct.
        """
        identity = own or self._identity(component)
        found = self.component_kubeconfig(component, identity) if through_proxy else identity
        return self.isolation.copy(found, self.target_folder(component))

    def component_transport(self, component: str) -> Transport:
        """Return a recorded transport for a reference component."""
        return self._running.connections.transport(component)

    @property
    def fault_points(self) -> FaultPoints:
        """The points at which scenarios inject faults into the components' requests."""
        return self._running.connections.points

    def component_command(
        self,
        program: str,
        component: str,
        gates: Mapping[str, bool],
        arguments: Mapping[str, str] | None = None,
        release: str = "",
    ) -> list[str]:
        """Return the command line of a Kubernetes program that runs as a component.

        `gates` are added to the run's feature gates; `arguments` are fields of kube-scheduler's DynamicResourcesArgs;
        `release` is another release than that of the run ("1.36").
        Raises UsageError if the control plane does not consist of binaries.
        """
        control_plane = self._binaries(component, program)
        kubeconfig = self.target_kubeconfig(component, control_plane.component_kubeconfig(program))
        words = control_plane.component_command(
            program, component, gates, kubeconfig=kubeconfig, arguments=arguments, release=release
        )
        self.isolation.give(*kubeconfig.parent.iterdir())
        return words

    def program_of(self, program: str, release: str) -> str:
        """Return the version of the program that runs as another release, and whether it emulates that release."""
        programs, emulated = self._binaries(program, program).programs_of(release)
        return f"{program} {programs.version}{f' emulating {emulated}' if emulated else ''}"

    def _binaries(self, component: str, program: str) -> BinariesControlPlane:
        if not isinstance(self.control_plane, BinariesControlPlane):
            raise UsageError(f"--{component} {program} needs --control-plane binaries")
        return self.control_plane

    def node_programs(self) -> NodePrograms:
        """Return the programs of nodes with a real kubelet. Raises TargetUnreachable if any is missing."""
        if self._node_programs is None:
            version = self.options.kubelet_version or self._control_plane().version()
            self._node_programs = programs.find(version, bin_dir=self.options.bin_dir)
        return self._node_programs

    # -- inside ----------------------------------------------------------------------------------------------------

    def _identity(self, component: str) -> Path:
        """Return the kubeconfig of a program under test: a user with the role of its component.

        A cluster of the user has only the identity that the user gave.
        """
        if component not in self._identities:
            control_plane, user = self._control_plane(), target_roles.user_of(component)
            path = control_plane.kubeconfig_for(user)
            known = control_plane.known_as(user)
            if path is not None and component in target_roles.IN_PODS and known == user:
                # A program in a pod has the token of a service account, never a client certificate.
                path = service_account.write_kubeconfig(self.client, self.kubeconfig, path, name=user)
                known = service_account.user_of(user)
            if path is not None:
                # A companion has an identity too, and no companions of its own.
                has_companions = component in WITH_COMPANIONS
                beside = read_manifests(self.options.companions_of(component)) if has_companions else ()
                own_role = any(resource == CLUSTER_ROLES for resource, _, _ in beside)
                target_roles.grant(self.client, component, user=known, own_role=own_role)
            self._identities[component] = path or self.kubeconfig
        return self._identities[component]

    @property
    def _running(self) -> _Started:
        if self._started is None:
            raise RuntimeError("the run has not been started")
        return self._started

    def _control_plane(self) -> ControlPlane:
        """Return the control plane of the options, created at first use and not started."""
        if self.control_plane is None:
            self._ending.callback(self._end_work)  # last, because all others have files in it
            self._ending.callback(self._threads.uninstall)
            self._ending.callback(self._log_records.detach)
            self.control_plane = control_planes.make(
                self.options,
                work=lambda: self.work,
                logs=self.folder / "logs",
                clock=self.clock,
                seed=self.seed,
            )
            self._ending.callback(self.control_plane.stop)
        return self.control_plane

    def _end_work(self) -> None:
        if self._work is not None:
            self._work.end()
            self._work = None

    def _connect(self, control_plane: ControlPlane) -> Transport:
        """Return a connection whose calls are noted. On an existing cluster it writes to the run's objects only."""
        noted = CallsTransport(control_plane.transport(), self.calls)
        return (
            noted
            if control_plane.own
            else OwnObjectsTransport(noted, self._ledger, shared=self.options.compute_domain_namespace)
        )
