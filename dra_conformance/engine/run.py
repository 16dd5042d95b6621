"""One run: its options, log, control plane, components and results.

Made when pytest starts with the suite, brought up before the first scenario that runs, and ended with the session. It
owns the run's two folders: the report folder, which stays, and a short-lived one for sockets, which goes.
"""

from __future__ import annotations

import os
import random
import secrets
import time
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dra_api.client import ApiError, KubeClient
from dra_api.clock import AdvanceableClock, timestamp
from dra_api.feature_gates import default_gates
from dra_api.objects import (
    BIND_REQUESTS,
    COMPUTE_DOMAIN_CLIQUES,
    COMPUTE_DOMAINS,
    DEVICE_CLASSES,
    EVENTS,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Resource,
)
from dra_api.transport import Transport, TransportError
from dra_api.versions import VERSIONS
from dra_conformance.components import external_driver
from dra_conformance.components.connections import Connections
from dra_conformance.components.manager import ComponentManager
from dra_conformance.components.registration import not_registered_for_claims
from dra_conformance.components.work_folder import WorkFolder
from dra_conformance.control_plane.base import ControlPlane
from dra_conformance.control_plane.own_objects import CLEANER, Ledger, OwnObjectsTransport
from dra_conformance.core.errors import TargetUnreachable, UsageError
from dra_conformance.core.events import ControlPlaneReady, RunStarted, TargetInfo
from dra_conformance.core.events.calls import Calls, CallsTransport
from dra_conformance.core.events.log import EventLog
from dra_conformance.core.events.logrecords import LogRecords
from dra_conformance.core.events.observer import Observer
from dra_conformance.core.events.recorder import RecordingTransport
from dra_conformance.core.features import Scenario
from dra_conformance.core.options import RunOptions, plain
from dra_conformance.core.rules import Catalogue, Version
from dra_conformance.core.thread_failures import HarnessFailure, ThreadFailures
from dra_conformance.engine import control_planes, crds, run_metadata
from dra_conformance.engine.plan import Plan
from dra_conformance.engine.preflight import machine_gpus
from dra_conformance.engine.target import Target
from dra_conformance.faults.model import FaultPoints
from dra_conformance.rbac.table import may_watch

T = TypeVar("T")

if TYPE_CHECKING:
    from dra_conformance.engine.world import World
    from dra_conformance.kubelet.real.programs import NodePrograms

_OBSERVED = (NODES, PODS, EVENTS, RESOURCE_CLAIMS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_SLICES, DEVICE_CLASSES)
_CLEANUP_PATIENCE = 60.0  # a cluster empties a namespace in turns, which takes many seconds on a busy one
_OBSERVED_IF_SERVED = (BIND_REQUESTS, COMPUTE_DOMAINS, COMPUTE_DOMAIN_CLIQUES)


class Run:
    """Everything that the scenarios of one process share."""

    def __init__(
        self, options: RunOptions, *, folder: Path, run_id: str | None = None, seed: int | None = None, worker: str = ""
    ) -> None:
        self.options = options
        self.folder = folder
        self.run_id = run_id or secrets.token_hex(4)
        self.seed = (
            seed if seed is not None else (options.seed if options.seed is not None else secrets.randbelow(10**6))
        )
        self.random = random.Random(self.seed)  # noqa: S311 - reproducible choices, not secrets
        self.worker = worker
        self.clock = AdvanceableClock()
        self.log = EventLog(folder / (f"events.{worker}.jsonl" if worker else "events.jsonl"))
        self.catalogue = Catalogue.load()
        self.control_plane: ControlPlane | None = None
        self.observed: tuple[Resource, ...] = _OBSERVED
        self._started = False
        self._failed_start: TargetUnreachable | None = None
        self._transport: Transport | None = None
        self._connections: Connections | None = None
        self._faulted: frozenset[str] = frozenset()
        self.calls = Calls()
        self._ledger = Ledger(self.run_id)
        self._observer: Observer | None = None
        self._client: KubeClient | None = None
        self._components: ComponentManager | None = None
        self._work: WorkFolder | None = None
        self._log_handler: LogRecords | None = None
        self._threads = ThreadFailures()
        self._resource_versions = options.resource_versions()
        self.external_driver: external_driver.ExternalDriver | None = None
        self._number = 0
        self._inventories: dict[str, Any] = {}
        self._pynvml_pool: Any = None
        self._node_programs: NodePrograms | None = None

    # -- what scenarios ask for ------------------------------------------------------------------------------------

    @property
    def client(self) -> KubeClient:
        """The harness's own client."""
        return _there(self._client)

    @property
    def observer(self) -> Observer:
        """The stores of everything that the run watches."""
        return _there(self._observer)

    @property
    def components(self) -> ComponentManager:
        """Who sits where."""
        return _there(self._components)

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig of the control plane, for programs in components."""
        return _there(self.control_plane).kubeconfig

    @property
    def patience(self) -> float:
        """Seconds that a check waits for the target to do something."""
        if self.options.patience is not None:
            return self.options.patience
        return {"embedded": 5.0, "binaries": 20.0}.get(self.options.component("control-plane").kind, 60.0)

    @property
    def has_controllers(self) -> bool:
        """Whether kube-controller-manager is at work, which makes service accounts and judges nodes."""
        return self.options.control_plane != "embedded" and _there(self.control_plane).evidence == "evidence"

    @property
    def quiet(self) -> float:
        """Seconds without any event after which nothing more is expected."""
        if not self._all_in_process:
            return 2.0
        # More than a second on a cluster would let its clock run away from the one that scenarios move.
        return {"embedded": 0.08, "binaries": 0.5, "kubeconfig": 1.0}.get(
            self.options.component("control-plane").kind, 2.0
        )

    @property
    def sees_rest(self) -> bool:
        """Whether all who work on the control plane do so in this process, by the run's clock."""
        return self._all_in_process and self.options.component("control-plane").kind == "embedded"

    def is_idle(self) -> bool:
        """Whether nobody who works by the run's clock has anything to do."""
        return self.clock.is_idle()

    def all_heard(self) -> bool:
        """Whether every watch has told what was written; only the embedded control plane knows, others pass."""
        return self.control_plane is None or self.control_plane.watches_drained()

    def take_failures(self) -> list[HarnessFailure]:
        """Return failures of the control plane itself and of the harness's threads since the last call."""
        planes = self.control_plane.take_failures() if self.control_plane is not None else []
        return [
            *(HarnessFailure(f"the control plane failed: {one.message}", one.traceback) for one in planes),
            *(HarnessFailure(f"the harness failed: {one.message}", one.traceback) for one in self._threads.take()),
        ]

    @property
    def _all_in_process(self) -> bool:
        return all(spec.in_process for name, spec in self.options.components().items() if name != "control-plane")

    def component_command(
        self, program: str, component: str, gates: Mapping[str, bool], arguments: Mapping[str, str] | None = None
    ) -> list[str]:
        """The command line of Kubernetes' own program for a component, with feature gates beside those of the run.

        `arguments` are fields of kube-scheduler's DynamicResourcesArgs. Raises UsageError where it cannot sit.
        """
        from dra_conformance.control_plane.binaries import BinariesControlPlane

        if not isinstance(self.control_plane, BinariesControlPlane):
            raise UsageError(f"--{component} {program} needs --control-plane binaries")
        way = self.component_kubeconfig(component, self.control_plane.component_kubeconfig(program))
        return self.control_plane.component_command(program, component, gates, kubeconfig=way, arguments=arguments)

    def component_kubeconfig(self, component: str, own: Path | None = None) -> Path:
        """The kubeconfig for a program in a component: `own` or the run's identity, through the faults of the run."""
        return _there(self._connections).kubeconfig(component, own)

    def node_programs(self) -> NodePrograms:
        """The programs of nodes with a real kubelet, looked for once. Raises TargetUnreachable with all that lacks."""
        if self._node_programs is None:
            from dra_conformance.kubelet.real import programs

            self._node_programs = programs.find(_there(self.control_plane).version(), bin_dir=self.options.bin_dir)
        return self._node_programs

    def component_transport(self, component: str) -> Transport:
        """A transport for the reference part in a component, recorded like the harness's own."""
        return _there(self._connections).transport(component)

    @property
    def fault_points(self) -> FaultPoints:
        """Where scenarios hook into the requests of the components."""
        return _there(self._connections).points

    def inventory(self, name: str) -> Any:
        """A fake NVML inventory, read once a run."""
        import fake_nvml

        found = self._inventories.get(name)
        if found is None:
            found = self._inventories[name] = fake_nvml.Inventory.load(name)
        return found

    @property
    def pynvml_pool(self) -> Any:
        """The `pynvml` modules of the run's nodes."""
        if self._pynvml_pool is None:
            import fake_nvml

            self._pynvml_pool = fake_nvml.PynvmlPool()
        return self._pynvml_pool

    def world(self, scenario: Scenario) -> World:
        """A fresh world for one scenario."""
        from dra_conformance.engine.world import World

        self._number += 1
        if self.options.control_plane != "embedded":
            # The server's own clock knows nothing of the jumps of earlier scenarios: start level with it.
            self.clock = AdvanceableClock()
        worker = self.worker.removeprefix("gw")
        return World(self, scenario, suffix=f"{self.run_id[:4]}{f'w{worker}' if worker else ''}-{self._number}")

    # -- life ------------------------------------------------------------------------------------------------------

    def target(self) -> Target:
        """What is known of the target. Starts nothing that is ours; connects to a cluster that is not."""
        gates: dict[str, bool] = {}
        version = Version.parse(self.options.kubernetes_version)
        if self.control_plane is None:
            self.control_plane = self._make_control_plane()
        own = self.control_plane.own
        missing: list[str] = []
        no_webhook = ""
        if self.options.component("control-plane").kind in ("binaries", "k3s"):
            version = Version.parse(self.control_plane.version())  # programs and image tell, without being started
        if not own:
            self.control_plane.start()
            version = Version.parse(self.control_plane.version())
            client = KubeClient(self.control_plane.transport(), user_agent="dra-conformance")
            missing = [r.plural for r in _OBSERVED_IF_SERVED if not client.serves(r)]
            served = client.served(RESOURCE_CLAIMS.group)
            self._resource_versions = tuple(version for version in VERSIONS if version in served)
            wanted = not self.options.profile or "webhook" in self.options.profile
            if wanted and self.options.component("webhook").kind == "cluster":
                no_webhook = not_registered_for_claims(client)
        gates.update(self.control_plane.feature_gates)
        assumed = not own and not gates
        if assumed:
            gates.update(default_gates(f"{version.major}.{version.minor}"))
        return Target(
            kubernetes_version=version,
            components=self.options.components(),
            feature_gates=gates,
            gates_assumed=assumed,
            driver_name=self.options.driver_name,
            own_control_plane=own,
            missing_apis=frozenset(missing),
            no_claim_webhook=no_webhook,
            revision=self.options.revision,
            resource_versions=self._resource_versions,
            nvml=self.options.nvml,
            gpus=machine_gpus() if self.options.nvml == "real" else None,
            capabilities=self.options.declared.capabilities,
        )

    def expect(self, plan: Plan) -> None:
        """Learn, before `start`, what the plan will ask for: the components whose requests meet faults."""
        self._faulted = frozenset(
            component
            for scenario in plan.to_run
            if "faults" in scenario.tags.needs
            for component in scenario.tags.components
        )

    def start(self) -> None:
        """Bring up the control plane and the harness's eyes. Raises TargetUnreachable; a second call repeats it."""
        if self._failed_start is not None:
            raise self._failed_start
        if self._started:
            return
        self._started = True
        self._log_handler = LogRecords(self.log)
        self._log_handler.attach()
        self._threads.install()
        began = time.monotonic()
        try:
            control_plane = self.control_plane or self._make_control_plane()
            self.control_plane = control_plane
            if control_plane.own:
                control_plane.start()
            transport = RecordingTransport(self._connect(), self.log)
            self._transport = transport
            self._connections = Connections(
                control_plane,
                connect=self._connect,
                log=self.log,
                folder=self.work / "proxy",
                by_proxy=self._faulted,
            )
            self._client = KubeClient(transport, user_agent="dra-conformance")
            if control_plane.own:
                crds.install(self._client, self.log.clock)
            if not self._client.carries(RESOURCE_CLAIMS):
                raise TargetUnreachable(
                    "the control plane serves no resource.k8s.io/v1, v1beta2 or v1beta1",
                    hint="Kubernetes serves v1 since 1.34; `kubectl api-versions` shows what is there.",
                )
            wanted = () if control_plane.own else self.options.profile
            served = [r for r in _OBSERVED_IF_SERVED if may_watch(r, wanted) and self._client.serves(r)]
            self.observed = (*_OBSERVED, *served)
            self._observer = Observer(KubeClient(self._connect()), self.observed, clock=self.log.clock, log=self.log)
            self._observer.start()
            self._components = ComponentManager(self, work=self.work)
            if self.options.component("driver").kind == "socket":
                if self.worker and int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) > 1:
                    raise TargetUnreachable("one running driver cannot serve several workers", hint="Leave -n out.")
                self.external_driver = external_driver.find(
                    self.options.component("driver").argument,
                    self._observer.list(RESOURCE_SLICES),
                    driver=self.options.driver_name,
                    node_name=self.options.node_name,
                    cdi_root=self.options.cdi_root,
                )
                self._ledger.borrow(self.external_driver.node)
        except TargetUnreachable as error:
            self._failed_start = error
            raise
        self.log.emit(ControlPlaneReady(name=control_plane.name, ready=round(time.monotonic() - began, 3)))

    def stop(self) -> None:
        """End everything that `start` began, whatever fails on the way; the report folder stays."""
        with ExitStack() as ending:  # runs backwards
            if self._work is not None:
                ending.callback(self._work.end)
                self._work = None
            ending.callback(self._threads.uninstall)
            if self._log_handler is not None:
                ending.callback(self._log_handler.detach)
                self._log_handler = None
            for part in (self.control_plane, self._observer, self._connections, self._components):
                if part is not None:
                    ending.callback(part.stop)
            if self._transport is not None:
                ending.callback(self._transport.close)

    def leftovers(self) -> list[str]:
        """Remove what the run left on a cluster that stays behind, and name what cannot be removed."""
        if self.worker or self.control_plane is None or self.control_plane.own:
            return []  # the first process does it for its workers, when they have ended
        from dra_conformance.control_plane import leftovers

        try:
            client = KubeClient(self._connect(), user_agent=CLEANER)
            found = leftovers.find(client, self.run_id, profiles=self.options.profile)
            held = leftovers.remove(client, found, clock=self.log.clock, patience=max(self.patience, _CLEANUP_PATIENCE))
        except TargetUnreachable:  # the run's problem, told already
            return []
        except (ApiError, TransportError) as error:
            return [f"nobody knows what: looking for leftovers failed: {error}"]
        return [str(each) for each in held]

    @property
    def work(self) -> Path:
        """The short-lived folder for sockets and state; goes with the run."""
        if self._work is None:
            self._work = WorkFolder(small=self.options.component("control-plane").kind == "embedded")
        return self._work.path

    def describe(self) -> TargetInfo:
        """Return the report's description of the target."""
        return run_metadata.describe(self.options, self.control_plane, self._resource_versions)

    def told_start(self, command: str) -> None:
        """Write the first event: who runs what against what."""
        self.log.emit(
            RunStarted(
                run_id=self.run_id,
                seed=self.seed,
                started_at=timestamp(datetime.now(UTC)),
                suite=run_metadata.suite(self.catalogue),
                options=plain(self.options),
                target=self.describe(),
                command=command,
            )
        )

    def told_plan(self, plan: Plan) -> None:
        """Write the plan: every scenario with its rules, and every rule that it judges."""
        self.log.emit(run_metadata.planned(plan, self.catalogue))

    # -- inside ----------------------------------------------------------------------------------------------------

    def _connect(self) -> Transport:
        """A connection whose calls are noted, and which on a cluster that is not ours writes to our objects only."""
        control_plane = _there(self.control_plane)
        noted = CallsTransport(control_plane.transport(), self.calls)
        return noted if control_plane.own else OwnObjectsTransport(noted, self._ledger)

    def _make_control_plane(self) -> ControlPlane:
        logs = self.folder / "logs"
        return control_planes.make(self.options, work=lambda: self.work, logs=logs, clock=self.clock, seed=self.seed)


def _there(value: T | None) -> T:
    if value is None:
        raise RuntimeError("the run has not been started")
    return value
