"""Components that a scenario stops and starts: scheduler, binder and others that the run itself started."""

from __future__ import annotations

from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World


def require_own(world: World, component: str) -> None:
    """Raise Untestable for a component that the run can neither stop nor start."""
    spec = world.components.spec(component)
    if spec.kind not in ("reference", "exec") and not spec.is_kubernetes:
        raise Untestable(f"the {component} is {spec.kind}; the run cannot stop it")


@given("the {component:word} is stopped")
def _(world: World, component: str) -> None:
    """Stop a component."""
    require_own(world, component)
    world.components.kill(component)


@when("the {component:word} is started")
def _(world: World, component: str) -> None:
    """Start a component that was stopped."""
    world.components.start(component)


@when("the {component:word} is started again")
def _(world: World, component: str) -> None:
    """Restart a component once the system is idle; it loses all state that it has in memory."""
    require_own(world, component)
    world.settle()
    world.components.restart(component)
