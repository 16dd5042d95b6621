"""Components that a scenario empties, fills and sets up: scheduler, binder and the others that the run itself started."""

from __future__ import annotations

from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World


def ours(world: World, component: str) -> None:
    """Raise Untestable for a component whose holder the run can neither stop nor start."""
    kind = world.components.spec(component).kind
    if kind not in ("reference", "exec"):
        raise Untestable(f"the {component} is {kind}; it is not ours to stop")


@given("the {component:word} is stopped")
@when("the {component:word} is stopped")
def _(world: World, component: str) -> None:
    """Empty a component."""
    ours(world, component)
    world.components.kill(component)


@when("the {component:word} is started")
def _(world: World, component: str) -> None:
    """Fill a component that was emptied."""
    world.components.start(component)


@when("the {component:word} is started again")
def _(world: World, component: str) -> None:
    """End what is in a component and start it anew, with nothing in memory."""
    ours(world, component)
    world.settle()
    world.components.restart(component)


@given('the scheduler speaks revision "{revision}"')
def _(world: World, revision: str) -> None:
    """Have the scheduler write BindRequests of this revision, with dynamic resource allocation on."""
    if world.components.spec("scheduler").kind == "reference":
        world.components.restart("scheduler", settings={"revision": revision})


@given("the scheduler has dynamic resource allocation off")
def _(world: World) -> None:
    """Start the scheduler anew with the feature gate off."""
    if world.components.spec("scheduler").kind != "reference":
        raise Untestable("the run cannot choose the settings of a scheduler that is not the reference")
    world.components.restart("scheduler", settings={"dynamic-resource-allocation": "false"})
