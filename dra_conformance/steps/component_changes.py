"""Schedulers and claim controllers that are replaced by one of another release, or with another feature gate.

The API server stays as it is: Kubernetes allows both to be one minor release older than the API server (version skew
policy).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dra_api.feature_gates import without
from dra_conformance.core.errors import SpecificationError
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World
from dra_conformance.steps import scheduler_configuration
from dra_conformance.steps.outages import control_plane, release_called


@dataclass
class Replaced:
    """The release ("" for that of the run) and the feature gates with which the claim controller was started."""

    release: str = ""
    gates: dict[str, bool] = field(default_factory=dict)


@given("the {component:word} is restarted as the {which:word} release")
@when("the {component:word} is restarted as the {which:word} release")
def _(world: World, component: str, which: str) -> None:
    """Replace the component by that of the `previous` minor release, or of its `own`, once the system is idle."""
    release = release_called(world, which)
    if component == "scheduler":
        world.state(scheduler_configuration.Configuration).release = release
    else:
        world.state(Replaced).release = release
    _restart(world, component)


@when('the {component:word} is restarted with feature gate "{gate}" {state:word}')
def _(world: World, component: str, gate: str, state: str) -> None:
    """Restart the component with a gate `off`, and the gates that need it, or `on` as the run has them."""
    if state not in ("off", "on"):
        raise SpecificationError(f"{world.scenario.where}: a feature gate is off or on, not {state}")
    off: Mapping[str, bool] = without(control_plane(world).version(), gate)
    scheduler = component == "scheduler"
    gates = world.state(scheduler_configuration.Configuration).gates if scheduler else world.state(Replaced).gates
    if state == "off":
        gates.update(off)
    else:
        for name in off:
            gates.pop(name, None)
    _restart(world, component)


def _restart(world: World, component: str) -> None:
    if component not in ("scheduler", "claim-controller"):
        raise SpecificationError(f"a scheduler or claim-controller can be replaced, not a {component}")
    world.settle()
    if component == "scheduler":
        scheduler_configuration.restart(world)
        return
    # Later scenarios need the release and the gates of the run.
    world.cleanup.callback(world.components.kill, component)
    replaced = world.state(Replaced)
    world.components.restart(component, gates=replaced.gates, release=replaced.release)
