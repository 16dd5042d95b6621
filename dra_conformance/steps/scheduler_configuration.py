"""The scheduler's configuration: settings of the reference, feature gates, release, fields of DynamicResourcesArgs.

Each of these steps restarts the scheduler with everything that the scenario has configured so far.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dra_api.feature_gates import gate_list
from dra_api.objects import RESOURCE_CLAIMS
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.faults import Call, Fault
from reference_impl.errors import ComponentError


@dataclass
class Configuration:
    """The configuration of a scenario, and the scheduler's error if it refuses to start with it.

    `release` is another Kubernetes release than that of the run ("1.36").
    """

    settings: dict[str, str] = field(default_factory=dict)
    gates: dict[str, bool] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    release: str = ""
    refusal: str | None = None

    @property
    def without_claims(self) -> bool:
        """Whether the scenario has turned dynamic resource allocation off in the scheduler."""
        return (
            self.settings.get("dynamic-resource-allocation") == "false"
            or self.gates.get("DynamicResourceAllocation") is False
        )


def restart(world: World) -> None:
    """Restart the scheduler with the scenario's settings, gates and arguments; the end of the scenario stops it again.

    Raises ComponentError if the reference scheduler refuses its configuration.
    """
    configuration = world.state(Configuration)
    world.cleanup.callback(world.components.kill, "scheduler")
    gates = gate_list(configuration.gates)
    world.components.restart(
        "scheduler",
        settings=configuration.settings,
        # In place of `{flags}`; the reference gets its gates by themselves.
        flags=[*configuration.flags, *([f"--feature-gates={gates}"] if gates else [])],
        arguments=configuration.arguments,
        gates=configuration.gates,
        release=configuration.release,
    )


@given("the scheduler binds pods itself")
def _(world: World) -> None:
    """Let the reference scheduler bind pods, as kube-scheduler does; other schedulers are expected to do so."""
    if world.components.spec("scheduler").kind == "reference":
        world.state(Configuration).settings["publish"] = "direct"
        restart(world)


@given('the scheduler has the setting "{name}" {value:word}')
def _(world: World, name: str, value: str) -> None:
    """Restart the reference scheduler with one of its settings."""
    if world.components.spec("scheduler").kind != "reference":
        raise Untestable("the run cannot choose the settings of a scheduler that is not the reference")
    world.state(Configuration).settings[name] = value
    restart(world)


@given('the scheduler has feature gate "{gate}" off')
def _(world: World, gate: str) -> None:
    """Restart the scheduler with a feature gate off, for this scenario only; the API server keeps it on."""
    world.state(Configuration).gates[gate] = False
    restart(world)


@given("the scheduler has dynamic resource allocation off")
def _(world: World) -> None:
    """Restart the scheduler with DynamicResourceAllocation off, for this scenario only; the API server keeps it on."""
    configuration = world.state(Configuration)
    if world.components.spec("scheduler").kind == "reference":
        configuration.settings["dynamic-resource-allocation"] = "false"
    else:
        configuration.gates["DynamicResourceAllocation"] = False
    restart(world)


@given("the scheduler starts on an API server without resource.k8s.io")
def _(world: World) -> None:
    """Restart the scheduler while its requests for resource.k8s.io, and for the list of API groups, get 404."""

    def refuse(call: Call) -> Fault | None:
        groups = call.info.path.rstrip("/") == "/apis"
        claims = call.info.group == RESOURCE_CLAIMS.group or call.info.path.startswith(f"/apis/{RESOURCE_CLAIMS.group}")
        return Fault(code=404) if call.component == "scheduler" and (groups or claims) else None

    world.settle()
    world.cleanup.callback(world.run.fault_points.add(refuse))
    restart(world)


@given('the scheduler has "{argument}" {value:word}')
def _(world: World, argument: str, value: str) -> None:
    """Restart the scheduler with a field of DynamicResourcesArgs, for this scenario only."""
    world.state(Configuration).arguments[argument] = value
    restart(world)


@when('the scheduler is started with "{argument}" {value:word}')
def _(world: World, argument: str, value: str) -> None:
    """Restart the scheduler with a field of DynamicResourcesArgs that it may refuse."""
    configuration = world.state(Configuration)
    configuration.arguments[argument] = value
    try:
        restart(world)
    except ComponentError as error:
        configuration.refusal = str(error)


@then('the scheduler does not start, because of "{argument}"')
def _(world: World, argument: str) -> None:
    """The scheduler exits, and its error message names the field."""

    def look() -> Seen[str]:
        message = world.state(Configuration).refusal or world.components.ended("scheduler")
        return message is not None and argument in message, message or "it runs"

    world.eventually("the scheduler refuses its configuration", look, expected=f"an error that names {argument}")
