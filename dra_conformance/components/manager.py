"""Fills the components of a scenario and empties them again.

Reference parts are started afresh for every scenario that names their component, so no scenario can see what another left
in a part's memory; programs behind `exec:` start when first needed and live until the run ends, unless a step kills
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dra_api.client import KubeClient
from dra_api.component import Component
from dra_conformance.components import reference
from dra_conformance.components.context import RunContext, ScenarioContext
from dra_conformance.components.webhook import WebhookComponent
from dra_conformance.core.component_spec import ComponentSpec, fill
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.events import ComponentChanged
from dra_conformance.core.process import ManagedProcess


class ComponentManager:
    """Who sits where in this run. `work` is the run's short-lived folder for sockets and state."""

    def __init__(self, run: RunContext, *, work: Path) -> None:
        self._run = run
        self._specs = run.options.components()
        self._work = work
        self._processes: dict[str, ManagedProcess] = {}
        self._parts: dict[str, Component] = {}
        self.webhook = WebhookComponent(run, self._specs["webhook"], work=work)
        self.driver_came = False
        """Whether the driver under test has registered in this run, on any node."""

    def spec(self, component: str) -> ComponentSpec:
        """What sits in a component."""
        return self._specs[component]

    @property
    def work(self) -> Path:
        """The run's short-lived folder (mode 0700)."""
        return self._work

    def fill(self, world: ScenarioContext) -> None:
        """Start what the scenario's tags name; it stops when the scenario ends."""
        for component in reference.CLUSTER_COMPONENTS:
            if component in world.scenario.tags.components:
                self.start(component)
                # A program that met faults is still backing off from them: the next scenario must not wait for that.
                end = self.kill if "faults" in world.scenario.tags.needs else self.empty
                world.cleanup.callback(end, component)
        if "webhook" in world.scenario.tags.components:
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
    ) -> None:
        """Fill one component with what the run says.

        `settings` add to those of the option, for reference parts; `gates` add to the run's feature gates, for
        reference parts and Kubernetes' own programs; `flags` are a reference part's own (see `reference.build`);
        `arguments` are fields of DynamicResourcesArgs, for the reference scheduler and kube-scheduler.
        """
        spec = self._specs[component]
        self._run.log.emit(ComponentChanged(component=component, implementation=spec.kind, action="start"))
        if spec.kind == "reference":
            part = reference.build(
                component,
                KubeClient(self._run.component_transport(component), user_agent=f"reference-{component}"),
                self._run.clock,
                revision=self._run.options.revision,
                settings={**spec.settings, **(settings or {})},
                gates={**self._run.options.gates(), **(gates or {})},
                flags=flags,
                arguments=arguments,
            )
            part.start()
            self._parts[component] = part
        elif spec.kind == "exec" or spec.is_kubernetes:
            self._start_process(component, spec, gates or {}, arguments or {})

    def empty(self, component: str) -> None:
        """Stop the reference part in a component, if there is one; programs stay."""
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
    ) -> None:
        """Stop or kill what is in a component and start it again."""
        self.kill(component)
        self.start(component, settings=settings, gates=gates, flags=flags, arguments=arguments)

    def kill(self, component: str) -> None:
        """End what is in a component at once; a reference part in process can only be stopped."""
        process = self._processes.pop(component, None)
        if process is not None:
            self._run.log.emit(ComponentChanged(component=component, implementation="exec", action="kill"))
            process.kill()
        self.empty(component)

    def running(self, component: str) -> bool:
        """Whether something is alive in a component that the run started."""
        process = self._processes.get(component)
        return component in self._parts or (process is not None and process.running)

    def ended(self, component: str) -> str | None:
        """What the program in a component said last, where it has ended by itself; None while it runs or is a part."""
        process = self._processes.get(component)
        return process.last_lines() if process is not None and process.exit_code else None

    def stop(self) -> None:
        """Stop everything that was started."""
        for component in list(self._parts):
            self.empty(component)
        for process in self._processes.values():
            process.stop()
        self._processes.clear()
        self.webhook.stop()

    def _start_process(
        self, component: str, spec: ComponentSpec, gates: Mapping[str, bool], arguments: Mapping[str, str]
    ) -> None:
        held = self._processes.get(component)
        if held is not None:
            if held.running:
                return
            if not spec.is_kubernetes:
                raise TargetUnreachable(
                    f"the {component} ended with exit code {held.exit_code}", hint=f"It said last: {held.last_lines()}"
                )
            # What brought it down has been judged by the scenario before; in a cluster somebody would restart it too.
            self._run.log.emit(
                ComponentChanged(
                    component=component, implementation=spec.kind, action="restart", exit_code=held.exit_code
                )
            )
        kubeconfig = self._run.kubeconfig
        if spec.is_kubernetes:
            command = self._run.component_command(spec.kind, component, gates, arguments)
        else:
            kubeconfig = self._run.component_kubeconfig(component)
            command = [fill(word, {"kubeconfig": str(kubeconfig)}) for word in spec.command]
        process = ManagedProcess(
            component,
            command,
            log_path=self._run.folder / "logs" / f"{component}.log",
            env={"KUBECONFIG": str(kubeconfig)},
        )
        process.start()
        self._processes[component] = process
