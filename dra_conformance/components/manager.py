"""Starts and stops the components of a scenario.

A reference component is started for every scenario that has its tag, so that it keeps no state of another scenario. A
program (`exec:`) is started when first needed and runs on for later scenarios. It is killed by a step, after a scenario
that failed or had injected faults, and before a scenario without its component.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from dra_api.client import KubeClient
from dra_api.component import Component, Killable
from dra_api.feature_gates import GATES, effective_gates, kept_in
from dra_conformance.components import readiness, reference, start_check
from dra_conformance.components.companions import CompanionPrograms
from dra_conformance.components.context import RunContext, ScenarioContext
from dra_conformance.components.webhook import WebhookComponent
from dra_conformance.core.companions import COMPONENTS, PORT
from dra_conformance.core.component_spec import ComponentSpec, fill, with_flags
from dra_conformance.core.errors import StartFailed, TargetUnreachable
from dra_conformance.core.events import ComponentChanged
from dra_conformance.core.process import ManagedProcess
from reference_impl.errors import ComponentError

CONTROLLER = "compute-domain-controller"


def _gates_of(release: str, overrides: Mapping[str, bool]) -> Mapping[str, bool]:
    """Return all gates of another release, with those of later releases off; without a release the overrides.

    A reference component has the features of all gates that it is not given.
    """
    if not release:
        return overrides
    return {**dict.fromkeys(GATES, False), **effective_gates(release, kept_in(release, overrides))}


class ComponentManager:
    """The implementations of all components of a run. `work` is the run's temporary folder for sockets and state."""

    def __init__(self, run: RunContext, *, work: Path) -> None:
        self._run = run
        self._specs = run.options.components()
        self._work = work
        self._processes: dict[str, ManagedProcess] = {}
        self._flagged: set[str] = set()
        self._companions = CompanionPrograms(run)
        self._parts: dict[str, Component] = {}
        self.webhook = WebhookComponent(run, self._specs["webhook"], work=work)
        self.came: set[str] = set()
        """The programs that this process has seen running: those on nodes (NODE_PROGRAMS) registered, on any node."""

    def programs(self, components: Collection[str]) -> list[ManagedProcess]:
        """Return the programs under test that implement some components."""
        found = [process for name, process in self._processes.items() if name in components]
        return [*found, *(self.webhook.programs if "webhook" in components else ())]

    def spec(self, component: str) -> ComponentSpec:
        """Return the option of a component."""
        return self._specs[component]

    @property
    def work(self) -> Path:
        """The run's temporary folder (mode 0700)."""
        return self._work

    def fill(self, world: ScenarioContext) -> None:
        """Start the components of the scenario's tags; reference components stop when it ends.

        Raises TargetUnreachable if a program under test does not start without the scenario's settings, and
        StartFailed if a reference component does not start.
        """
        # First: no component of the scenario may see the node of this check.
        start_check.require_drivers(world)
        for component in reference.CLUSTER_COMPONENTS:
            if component in world.scenario.tags.components:
                try:
                    self.start(component)
                except ComponentError as error:
                    # With the options of the run it has to start.
                    raise StartFailed(component, error) from error
                world.cleanup.callback(self._end, component, world)
            elif self._specs[component].kind == "exec" and self.running(component):
                # It would act on the objects of a scenario that takes its place, such as BindRequests.
                self.kill(component)
        if "webhook" in world.scenario.tags.components:
            with reference.starting("webhook"):
                self.webhook.start()
            world.cleanup.callback(self.webhook.release)

    def start(
        self,
        component: str,
        *,
        settings: Mapping[str, str] | None = None,
        gates: Mapping[str, bool] | None = None,
        flags: Sequence[str] = (),
        arguments: Mapping[str, str] | None = None,
        replica: str = "",
        release: str = "",
    ) -> None:
        """Start one component as the run's option says.

        `replica` is the name of a further instance, for the other methods the component's name followed by it;
        `settings` add to those of the option, for reference components; `gates` add to the run's feature gates, for
        reference components and Kubernetes' programs; `flags` are for reference components (see `reference.build`)
        and take the place of `{flags}` in a command, until the scenario ends;
        `arguments` are fields of DynamicResourcesArgs, for the reference scheduler and kube-scheduler;
        `release` is another Kubernetes release than that of the run ("1.36"), for reference components and Kubernetes'
        programs: a reference component has the features of that release.

        Raises reference_impl.errors.ComponentError if a reference component refuses its options, and StartFailed for
        every other error of its start.
        """
        spec = self._specs[component]
        implementation = f"{spec.kind} {release}".rstrip()
        if release and spec.is_kubernetes:
            implementation = self._run.program_of(spec.kind, release)
        self._run.log.emit(ComponentChanged(component=component, implementation=implementation, action="start"))
        if spec.kind == "reference":
            with reference.starting(component):
                part = reference.build(
                    component,
                    KubeClient(self._run.component_transport(component), user_agent=f"reference-{component}"),
                    self._run.clock,
                    revision=self._run.options.protocol,
                    settings={**spec.settings, **(settings or {})},
                    gates=_gates_of(release, {**self._run.options.gates(), **(gates or {})}),
                    flags=flags,
                    arguments=arguments,
                    driver_namespace=self._run.options.compute_domain_namespace,
                )
                part.start()
            self._parts[component + replica] = part
        elif spec.kind == "exec" or spec.is_kubernetes:
            self._start_process(component, spec, gates or {}, arguments or {}, flags, replica, release)

    def _end(self, component: str, world: ScenarioContext) -> None:
        """Stop a component at the end of a scenario; a program that later scenarios can use continues to run."""
        # After injected faults a program is still backing off, and a failed scenario may have broken it: the next
        # scenario must not wait for it.
        if world.failed or "faults" in world.scenario.tags.needs:
            self.kill(component)
        else:
            self.empty(component)

    def empty(self, component: str) -> None:
        """Stop a reference component; programs continue to run, unless they have flags of the scenario."""
        if component in self._flagged:
            self._flagged.discard(component)
            self.kill(component)
        part = self._parts.pop(component, None)
        if part is not None:
            self._run.log.emit(ComponentChanged(component=component, implementation="reference", action="stop"))
            part.stop()

    def restart(
        self,
        component: str,
        *,
        settings: Mapping[str, str] | None = None,
        gates: Mapping[str, bool] | None = None,
        flags: Sequence[str] = (),
        arguments: Mapping[str, str] | None = None,
        release: str = "",
    ) -> None:
        """Stop or kill a component and start it again."""
        self.kill(component)
        self.start(component, settings=settings, gates=gates, flags=flags, arguments=arguments, release=release)

    def kill(self, component: str) -> None:
        """Kill a component; a reference component in process is stopped, unless it makes a difference."""
        process = self._processes.pop(component, None)
        if process is not None:
            self._run.log.emit(ComponentChanged(component=component, implementation="exec", action="kill"))
            process.kill()
        part = self._parts.get(component)
        if isinstance(part, Killable):
            part.kill()
        self.empty(component)

    def terminate(self, component: str) -> None:
        """Stop a component with SIGTERM, so that it can end in order."""
        process = self._processes.pop(component, None)
        if process is not None:
            self._run.log.emit(ComponentChanged(component=component, implementation="exec", action="stop"))
            process.stop()
        self.empty(component)

    def running(self, component: str) -> bool:
        """Whether a component that the run has started is running."""
        process = self._processes.get(component)
        return component in self._parts or (process is not None and process.running)

    def ended(self, component: str) -> str | None:
        """Return the last output of a program that has exited by itself; None for all others."""
        process = self._processes.get(component)
        return process.last_lines() if process is not None and process.exit_code else None

    def ended_companion(self, components: Collection[str]) -> TargetUnreachable | None:
        """Return the error for a companion of these components that has ended by itself; None if there is none."""
        for name in COMPONENTS:
            if name in components:
                problem = self._companions.ended(name, self._run.options.companions_of(name))
                if problem is not None:
                    return problem
        return None

    def stop(self) -> None:
        """Stop everything that was started."""
        for component in list(self._parts):
            self.empty(component)
        for process in self._processes.values():
            process.stop()
        self._processes.clear()
        self._companions.stop()
        self.webhook.stop()

    def _start_process(
        self,
        component: str,
        spec: ComponentSpec,
        gates: Mapping[str, bool],
        arguments: Mapping[str, str],
        flags: Sequence[str] = (),
        replica: str = "",
        release: str = "",
    ) -> None:
        instance = component + replica
        companions = self._run.options.companions_of(component)
        if (problem := self._companions.ended(component, companions)) is not None:
            raise problem
        held = self._processes.get(instance)
        if held is not None:
            if held.running:
                return
            if not spec.is_kubernetes:
                raise TargetUnreachable(
                    f"the {component} ended with exit code {held.exit_code}", hint=f"Last output: {held.last_output()}"
                )
            # The scenario in which it exited has reported that; a cluster would restart it too.
            self._run.log.emit(
                ComponentChanged(
                    component=component, implementation=spec.kind, action="restart", exit_code=held.exit_code
                )
            )
        self._companions.start(component, companions)
        folder = self._run.target_folder(instance)
        env = {"TMPDIR": str(folder)}
        isolation = self._run.isolation.with_folders(folder)
        ready = ""
        if spec.is_kubernetes:  # its flags have the kubeconfig
            command = self._run.component_command(spec.kind, component, gates, arguments, release)
        else:
            env["KUBECONFIG"] = str(self._run.target_kubeconfig(component))
            values = {"kubeconfig": env["KUBECONFIG"], PORT: str(readiness.free_port())}
            env.update(companions.environment)
            ready = fill(companions.ready, values)
            if component == CONTROLLER:
                env["NAMESPACE"] = values["namespace"] = self._run.options.compute_domain_namespace
            command = [fill(word, values) for word in with_flags(spec.command, flags)]
            if flags:
                self._flagged.add(instance)
        if spec.mounts:
            view = folder / "view"
            view.mkdir(exist_ok=True, mode=0o700)
            isolation = isolation.with_mounts(spec.mounts, view=view)
        process = ManagedProcess(
            instance,
            command,
            log_path=self._run.log_of(instance),
            env=env,
            isolation=isolation,
        )
        process.start()
        self._processes[instance] = process
        readiness.wait_ready(process, ready, clock=self._run.log.clock, patience=self._run.patience)
        if component == CONTROLLER and not flags and component not in self.came:
            if not ready:
                readiness.wait_running(process, clock=self._run.log.clock)
            self.came.add(component)
