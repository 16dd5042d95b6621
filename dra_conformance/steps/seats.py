"""Seats that a scenario empties, fills and sets up: scheduler, binder and the others that the run itself started."""

from __future__ import annotations

from dra_conformance.errors import Untestable
from dra_conformance.suite.vocabulary import given, when
from dra_conformance.suite.world import World


def ours(world: World, seat: str) -> None:
    """Raise Untestable for a seat whose holder the run can neither stop nor start."""
    kind = world.seats.spec(seat).kind
    if kind not in ("reference", "exec"):
        raise Untestable(f"the {seat} is {kind}; it is not ours to stop")


@given("the {seat:word} is stopped")
@when("the {seat:word} is stopped")
def _(world: World, seat: str) -> None:
    """Empty a seat."""
    ours(world, seat)
    world.seats.kill(seat)


@when("the {seat:word} is started")
def _(world: World, seat: str) -> None:
    """Fill a seat that was emptied."""
    world.seats.start(seat)


@when("the {seat:word} is started again")
def _(world: World, seat: str) -> None:
    """End what is in a seat and start it anew, with nothing in memory."""
    ours(world, seat)
    world.settle()
    world.seats.restart(seat)


@given('the scheduler speaks revision "{revision}"')
def _(world: World, revision: str) -> None:
    """Have the scheduler write BindRequests of this revision, with dynamic resource allocation on."""
    if world.seats.spec("scheduler").kind == "reference":
        world.seats.restart("scheduler", settings={"revision": revision})


@given("the scheduler has dynamic resource allocation off")
def _(world: World) -> None:
    """Start the scheduler anew with the feature gate off."""
    if world.seats.spec("scheduler").kind != "reference":
        raise Untestable("the run cannot choose the settings of a scheduler that is not the reference")
    world.seats.restart("scheduler", settings={"dynamic-resource-allocation": "false"})
