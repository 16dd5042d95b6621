"""Crashes of API server and etcd, on control planes that the run owns."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from dra_conformance.control_plane.base import API_SERVER, ETCD, ControlPlane, NotOurs
from dra_conformance.core.errors import Untestable
from dra_conformance.core.events import ComponentChanged
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World
from dra_conformance.faults import Fault
from dra_conformance.steps.faults import arrange

_PROGRAMS = {"API-server": API_SERVER, "etcd": ETCD}


@dataclass
class Crash:
    """The crash that a scenario arranges: set once the API server is dead."""

    dead: threading.Event = field(default_factory=threading.Event)


def _control_plane(world: World) -> ControlPlane:
    found = world.run.control_plane
    if found is None:
        raise Untestable("the run has no control plane")
    return found


def kill(world: World, program: str) -> None:
    """Kill a program of the control plane. Raises Untestable if the run does not own it."""
    plane = _control_plane(world)
    world.log.emit(ComponentChanged(component="control-plane", implementation=program, action="kill"))
    try:
        plane.kill(program)
    except NotOurs as error:
        raise Untestable(str(error)) from error


def restart(world: World, program: str) -> None:
    """Start a program again after `kill`; returns once the API server serves."""
    _control_plane(world).restart(program)
    world.log.emit(ComponentChanged(component="control-plane", implementation=program, action="restart"))


@when("the {program:word} of the control plane is killed and started again")
def _(world: World, program: str) -> None:
    """Kill the API server (`API-server`) or its storage (`etcd`) and restart it with its address and its data."""
    world.settle()
    kill(world, _PROGRAMS[program])
    restart(world, _PROGRAMS[program])


@given("the API server crashes after it has stored the next {what} of {kind:word}")
def _(world: World, what: str, kind: str) -> None:
    """Let the API server store the next request of a component, and kill it before it can answer."""
    crash = world.state(Crash)

    def die() -> None:
        kill(world, API_SERVER)
        crash.dead.set()
        # Wakes the step that waits for `dead`: the event of the kill was logged before it was set.
        world.log.poke()

    def revive() -> None:
        # The scenario may have ended before its step restarted the API server, which later scenarios need.
        if crash.dead.is_set():
            restart(world, API_SERVER)

    arrange(world, Fault(lost="answer", then=die), count=1, what=what, kind=kind)
    world.cleanup.callback(revive)


@when("the crashed API server is started again")
def _(world: World) -> None:
    """Wait until the API server has died as arranged, and start it."""
    dead = world.state(Crash).dead
    world.require("the API server dies", lambda: (dead.is_set(), "it is alive"))
    restart(world, API_SERVER)
    dead.clear()
