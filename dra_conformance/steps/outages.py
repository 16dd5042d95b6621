"""API servers and etcds that die and come back, on control planes that belong to the run."""

from __future__ import annotations

import threading

from dra_conformance.control_plane.base import API_SERVER, ETCD, ControlPlane, NotOurs
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World
from dra_conformance.faults import Fault
from dra_conformance.steps.faults import arrange

_DEAD = "outages/dead"


def _control_plane(world: World) -> ControlPlane:
    found = world.run.control_plane
    if found is None:
        raise Untestable("the run has no control plane")
    return found


def kill(world: World, program: str) -> None:
    """End a program of the control plane as a crash would; the end of the scenario starts it again if no step does."""
    plane = _control_plane(world)
    world.log.emit("component", component="control-plane", holds=program, action="kill")
    try:
        plane.kill(program)
    except NotOurs as error:
        raise Untestable(str(error)) from error


def restart(world: World, program: str) -> None:
    """Start a program again after `kill`; returns once the API server serves."""
    _control_plane(world).restart(program)
    world.log.emit("component", component="control-plane", holds=program, action="restart")


@when("the API server is killed and started again")
def _(world: World) -> None:
    """It dies in the middle of things and comes back with its address and its objects."""
    world.settle()
    kill(world, API_SERVER)
    restart(world, API_SERVER)


@when("etcd is killed and started again")
def _(world: World) -> None:
    """The storage dies under the API server and comes back with its data."""
    world.settle()
    kill(world, ETCD)
    restart(world, ETCD)


@given("the API server dies once it has carried out the next {what} of {kind:word}")
@when("the API server dies once it has carried out the next {what} of {kind:word}")
def _(world: World, what: str, kind: str) -> None:
    """It stores what a component asked for and is killed before it can answer."""
    dead = world.memory[_DEAD] = threading.Event()

    def die() -> None:
        kill(world, API_SERVER)
        dead.set()
        world.log.poke()

    def revive() -> None:
        if dead.is_set():
            restart(world, API_SERVER)

    arrange(world, Fault(lost="answer", then=die), count=1, what=what, kind=kind)
    world.cleanup.callback(revive)


@when("the dead API server is started again")
def _(world: World) -> None:
    """Wait until it has died as arranged, and start it."""
    dead: threading.Event = world.memory[_DEAD]
    world.require("the API server dies", lambda: (dead.is_set(), "it lives"))
    restart(world, API_SERVER)
    dead.clear()
