"""The world of one scenario: its names, objects, checks and nodes.

It is created before the first step and ended after the last. Everything that was created through it is deleted then.
Step functions are thin and call the world; logic that they share is in typed functions beside them.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar, cast

from dra_api.client import KubeClient
from dra_api.objects import NODES, PODS, uid_of
from dra_conformance.components.external_driver import ExternalDriver
from dra_conformance.components.node import ScenarioNode
from dra_conformance.components.nvml import NvmlLibrary, is_error_of_library
from dra_conformance.core.errors import StartFailed, Untestable
from dra_conformance.core.events import CleanupStarted, ProgramOutput
from dra_conformance.core.features import Scenario
from dra_conformance.core.process import ManagedProcess
from dra_conformance.core.thread_failures import is_raised_by
from dra_conformance.engine import evidence, namespace, program_outputs
from dra_conformance.engine.checks import Checks, Seen, Value, in_words, show
from dra_conformance.engine.concerns import Concerns
from dra_conformance.engine.names import Names
from dra_conformance.engine.objects import ScenarioObjects
from dra_conformance.engine.run import Run
from dra_conformance.engine.settling import Settling
from dra_conformance.engine.target import outside_this_process, under_test
from dra_conformance.kubelet import PACKAGE as KUBELET

__all__ = ["Seen", "Value", "World", "in_words", "show"]

S = TypeVar("S")


class World:
    """The context that the steps of one scenario share.

    Steps use the methods of its parts directly: `check`, `eventually`, `wait`, `poll`, `require` and `stays` of
    `checks`; `create`, `get`, `seen`, `update` and others of `objects`; `name` and `text` of `names`; `settle` of
    `settling`.
    """

    def __init__(self, run: Run, scenario: Scenario, *, suffix: str) -> None:
        self.run = run
        self.scenario = scenario
        self.suffix = suffix
        self.log = run.log
        self.clock = run.clock
        self.observer = run.observer
        self.client: KubeClient = run.client
        self.components = run.components
        self.namespace = f"dra-{suffix}"
        self.driver_namespace = run.options.compute_domain_namespace
        """The namespace of NVIDIA's driver, in which the daemons of ComputeDomains are."""
        self._states: dict[type, Any] = {}
        self.cleanup = ExitStack()
        self.failed = False
        """Whether a step has failed, so that programs may be in a state that the next scenario must not meet."""
        self._nodes: dict[str, ScenarioNode] = {}
        self._programs: list[program_outputs.Program] = []
        self._nvml: NvmlLibrary | None = None
        self._failed_start: StartFailed | None = None
        self._crashed: str | None = None

        self.names = Names(
            suffix=suffix,
            namespace=self.namespace,
            driver=run.options.driver_name,
            # The harness's own watch may be behind the creation of the pod.
            uid_of_pod=lambda pod: uid_of(self.seen(PODS, pod) or self.client.find(PODS, pod, self.namespace) or {}),
        )
        self.name = self.names.name
        self.alias = self.names.alias
        self.fill = self.names.fill
        self.text = self.names.text

        self.objects = ScenarioObjects(
            self.client, self.observer, self.log, self.names, namespace=self.namespace, patience=run.patience
        )
        self.manifest = self.objects.manifest
        self.manifests = self.objects.manifests
        self.place = self.objects.place
        self.create = self.objects.create
        self.track = self.objects.track
        self.get = self.objects.get
        self.seen = self.objects.seen
        self.all_seen = self.objects.all_seen
        self.update = self.objects.update
        self.catch_up = self.objects.catch_up

        self.settling = Settling(
            run,
            self.log,
            nodes=self.nodes,
            # --watch-lag exists to show which components rely on fast watches; fault scenarios break watches.
            wait_for_watches=not (run.options.lag() or "faults" in scenario.tags.needs),
        )
        self.wait_for_watches = self.settling.wait_for_watches
        self.settle = self.settling.settle

        self.checks = Checks(
            self.log, patience=run.patience, catch_up=self.catch_up, settle=self.settle, crash=self.crash
        )
        self.checks.begin_step("", scenario.rules)
        self.check = self.checks.check
        self.check_seen = self.checks.check_seen
        self.eventually = self.checks.eventually
        self.wait = self.checks.wait
        self.poll = self.checks.poll
        self.require = self.checks.require
        self.stays = self.checks.stays

    def pass_time(self, seconds: float) -> None:
        """Wait until the system is idle, and advance the clock while no call is in flight.

        A program that takes a quarter of a second for a response would miss its deadline otherwise. Calls that a
        scripted driver leaves unanswered on purpose do not count. Raises Untestable if a call does not end within the
        run's patience.
        """
        self.settle()
        real = self.log.clock
        deadline = real.monotonic() + self.run.patience
        while not self.clock.advance(seconds, calls=self.settling.held_calls()):
            if real.monotonic() > deadline:
                raise Untestable(f"a call is still in flight after {self.run.patience:g} s, so time cannot be advanced")
            real.wait(threading.Event(), 0.001)

    def state(self, kind: type[S]) -> S:
        """Return this scenario's instance of `kind`, created without arguments at first use.

        Step modules that remember something for later steps declare a small dataclass for it.
        """
        found = self._states.get(kind)
        if found is None:
            # `setdefault`: a fault that acts on a component's thread may have been first.
            found = self._states.setdefault(kind, kind())
        return cast(S, found)

    # -- nodes -----------------------------------------------------------------------------------------------------

    def node(self, alias: str, *, inventory: str | None = None) -> ScenarioNode:
        """Return the node called `alias`, created at first use; it ends with the scenario."""
        found = self._nodes.get(alias)
        if found is None:
            found = self._nodes[alias] = ScenarioNode(self, alias, inventory=inventory)
            # The node of an externally started driver is the user's and is not deleted.
            if found.external_driver is None:
                self.track(NODES, found.name)
            self.cleanup.callback(found.end)
        return found

    def nodes(self) -> list[ScenarioNode]:
        """Return the nodes that the scenario has made."""
        return list(self._nodes.values())

    def crash(self) -> str:
        """Describe the drivers of the scenario that have ended by themselves; empty if there is none.

        Called when the scenario fails; the answer does not change afterwards.
        """
        if self._crashed is None:
            self._crashed = self._find_crash()
        return self._crashed

    def _find_crash(self) -> str:
        return "; ".join(crash for node in self._nodes.values() if (crash := node.crash()))

    def program_outputs(self, rules: Collection[str] = ()) -> list[ProgramOutput]:
        """Return the last lines of the logs of the programs concerned; `rules` are those of a failed check."""
        nodes, plane = self._nodes.values(), self.run.control_plane
        tested = [process for node in nodes for process in node.programs]
        tested += self.run.components.programs(self.scenario.tags.components)
        programs = [(process.name.partition(" on ")[0], process) for process in tested] + self._programs
        others = [("kubelet", process) for node in nodes for process in node.kubelet.processes]
        others += [("control-plane", process) for process in (plane.processes if plane is not None else ())]
        components = {self.run.catalogue[rule].component for rule in rules if rule in self.run.catalogue}
        return program_outputs.outputs(programs, others, components=components, folder=self.run.folder)

    def started(self, component: str, process: ManagedProcess) -> None:
        """Add a program of a component whose output belongs to the report of a failure."""
        self._programs.append((component, process))

    def external_driver_for(self, alias: str) -> ExternalDriver | None:
        """Return the externally started driver for the scenario's first node, None for other nodes."""
        return self.run.external_driver if not self._nodes or next(iter(self._nodes)) == alias else None

    def nvml(self, *, inventory: str | None = None) -> NvmlLibrary:
        """Return the NVML library under test, loaded at first use; it is unloaded when the scenario ends."""
        if self._nvml is None:
            self._nvml = NvmlLibrary(self, inventory=inventory)
            self.cleanup.callback(self._nvml.end)
        return self._nvml

    def judges(self, component: str) -> bool:
        """Return whether the run judges a component, and the scenario has a rule about it."""
        options = self.run.options
        return component in under_test(options.components(), nvml=options.nvml) and any(
            self.run.catalogue[rule].component == component for rule in self.scenario.rules
        )

    def judge_start(self) -> None:
        """Fail a check if a component that the scenario judges raised an error when the scenario began.

        Called in each step, because a check belongs to a step. Raises CheckFailed.
        """
        if self._failed_start is not None:
            self._check_start(self._failed_start)

    def _check_start(self, failure: StartFailed) -> None:
        self.check(False, f"the {failure.component} starts", expected="no error", observed=failure.problem)

    def judge_error(self, error: Exception, *, prerequisite: bool) -> None:
        """Fail a check if a component under test raised an error: NVML, the emulated kubelet, or one at its start.

        They run in this process, so their errors end a step. Raises CheckFailed; returns for errors of the harness, and
        in scenarios of other components. `prerequisite`: the step only prepares what the scenario judges, so an error
        of the kubelet raises Untestable; the rules of that preparation have scenarios of their own.
        """
        if self.judges_emulated_kubelet and is_raised_by(error, KUBELET):
            observed = f"{type(error).__name__}: {error}"
            if prerequisite:
                raise Untestable(f"the kubelet under test raised {observed}") from error
            self.check(False, "the kubelet does not fail", expected="no error", observed=observed)
        if isinstance(error, StartFailed) and self.judges(error.component):
            self._check_start(error)
        if "nvml" in self.scenario.tags.components and is_error_of_library(error):
            observed = f"{type(error).__name__}: {error}"
            self.check(False, "NVML ends the step with an error", expected="no error", observed=observed)

    @property
    def has_real_kubelet(self) -> bool:
        """Whether the nodes have a real kubelet: the scenario names the component, and the run has one."""
        return "kubelet" in self.scenario.tags.components and self.run.options.component("kubelet").kind == "kubelet"

    @property
    def judges_emulated_kubelet(self) -> bool:
        """Whether the emulated kubelet is the target of the scenario, not the harness of another component."""
        return self.run.judges_emulated_kubelet(self.scenario)

    @property
    def uses_real_time(self) -> bool:
        """Whether a component of the scenario runs outside this process, so that its clock cannot be advanced."""
        return bool(outside_this_process(self.scenario.tags.components, self.run.options.components()))

    # -- beginning and end -----------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Create the scenario's namespace and start the components that its tags name."""
        if self.run.on_existing_cluster:
            self.observer.concerns = Concerns(
                suffix=self.suffix,
                run_id=self.run.run_id,
                made=self.run.has_made_namespace,
                shared=self.driver_namespace,
                nodes=lambda: {node.name for node in self.nodes()},
            )
        namespace.create(self.client, self.namespace, run_id=self.run.run_id)
        # Cleanups run in reverse order: components stop, then objects are deleted, then the namespace.
        self.cleanup.callback(namespace.delete, self.client, self.namespace, self.observer)
        if self.run.has_controllers:
            namespace.wait_service_account(self.client, self.namespace, patience=self.run.patience)
        self.cleanup.callback(self.objects.delete_tracked)
        try:
            self.components.fill(self)
        except StartFailed as error:
            if not self.judges(error.component):
                raise
            self._failed_start = error

    def end(self) -> None:
        """Stop the components and delete the objects of the scenario."""
        self.log.emit(CleanupStarted())
        self.cleanup.close()

    def save_evidence(self, folder: Path) -> None:
        """Write the objects of the scenario to `folder`, before the clean-up."""
        evidence.save(
            folder,
            self.observer,
            self.run.observed,
            namespace=self.namespace,
            suffix=self.suffix,
            nodes={node.name for node in self._nodes.values()},
        )
