"""Crashes of API server and etcd, on control planes that the run owns."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from dra_api.feature_gates import without
from dra_api.releases import previous
from dra_conformance.control_plane.base import API_SERVER, ETCD, ControlPlane, NotOurs
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.core.events import ComponentChanged
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World
from dra_conformance.faults import Fault
from dra_conformance.steps.faults import arrange

_OTHER_VERSIONS = ("v1beta2", "v1beta1", "v1alpha3")
_PROGRAMS = {"API-server": API_SERVER, "etcd": ETCD}


@dataclass
class Crash:
    """The crash that a scenario arranges: set once the API server is dead."""

    dead: threading.Event = field(default_factory=threading.Event)


@dataclass
class Switched:
    """Whether the API server has other feature gates, versions or another release than the run."""

    gates: bool = False
    release: bool = False


def control_plane(world: World) -> ControlPlane:
    """Return the control plane of the run. Raises Untestable without one."""
    found = world.run.control_plane
    if found is None:
        raise Untestable("the run has no control plane")
    return found


def kill(world: World, program: str) -> None:
    """Kill a program of the control plane. Raises Untestable if the run does not own it."""
    plane = control_plane(world)
    world.log.emit(ComponentChanged(component="control-plane", implementation=program, action="kill"))
    try:
        plane.kill(program)
    except NotOurs as error:
        raise Untestable(str(error)) from error


def restart(world: World, program: str) -> None:
    """Start a program again after `kill`; returns once the API server serves."""
    control_plane(world).restart(program)
    world.log.emit(ComponentChanged(component="control-plane", implementation=program, action="restart"))


@when("the {program:word} of the control plane is killed and started again")
def _(world: World, program: str) -> None:
    """Kill the API server (`API-server`) or its storage (`etcd`) and restart it with its address and its data."""
    world.settle()
    kill(world, _PROGRAMS[program])
    restart(world, _PROGRAMS[program])


@when('the API server is restarted with feature gate "{gate}" {state:word}')
def _(world: World, gate: str, state: str) -> None:
    """Restart the API server on its data with a gate `off`, and the gates that need it, or `on` as it was before."""
    world.settle()
    plane, switched = control_plane(world), world.state(Switched)
    overrides = world.run.options.gates()

    def restart_with(gates: Mapping[str, bool]) -> None:
        plane.restart_with_gates({**overrides, **gates})
        switched.gates = bool(gates)
        world.log.emit(ComponentChanged(component="control-plane", implementation=API_SERVER, action="restart"))

    def put_back() -> None:
        # Later scenarios need the gates of the run.
        if switched.gates:
            restart_with({})

    world.cleanup.callback(put_back)
    try:
        restart_with(without(plane.version(), gate) if state == "off" else {})
    except NotOurs as error:
        raise Untestable(str(error)) from error


@when("the API server is restarted as the {which:word} release")
def _(world: World, which: str) -> None:
    """Restart the API server on its data as the `previous` minor release, or as its `own`, that of the run."""
    _restart_as(world, release_called(world, which))


def release_called(world: World, which: str) -> str:
    """Return the `previous` minor release of the control plane ("1.36"), or "" for its `own`, that of the run.

    Raises Untestable if the suite does not cover the previous one.
    """
    if which == "own":
        return ""
    if which != "previous":
        raise SpecificationError(f"a release is own or previous, not {which}")
    version = control_plane(world).version()
    found = previous(version)
    if found is None:
        raise Untestable(f"the suite does not support the release before Kubernetes {version}")
    return found


@when("the API server is restarted with only v1 of resource.k8s.io")
def _(world: World) -> None:
    """Restart the API server on its data so that it serves no other version of the group."""
    _restart_as(world, "", {f"resource.k8s.io/{version}": False for version in _OTHER_VERSIONS})


def _restart_as(world: World, release: str, runtime_config: Mapping[str, bool] | None = None) -> None:
    world.settle()
    plane, switched = control_plane(world), world.state(Switched)

    def restart_as(name: str, config: Mapping[str, bool] | None = None) -> None:
        plane.restart_as(name, config)
        switched.release = bool(name or config)
        program = f"{API_SERVER} {name}".rstrip()
        world.log.emit(ComponentChanged(component="control-plane", implementation=program, action="restart"))

    def put_back() -> None:
        # Later scenarios need the release of the run.
        if switched.release:
            restart_as("")

    world.cleanup.callback(put_back)
    try:
        restart_as(release, runtime_config)
    except NotOurs as error:
        raise Untestable(str(error)) from error


@when("the API server of the control plane is killed")
def _(world: World) -> None:
    """Kill the API server; `the crashed API server is started again` ends the outage."""
    world.settle()
    kill(world, API_SERVER)
    crash = world.state(Crash)
    crash.dead.set()
    world.cleanup.callback(revive, world, crash)


def revive(world: World, crash: Crash) -> None:
    """Restart the API server, which later scenarios need, if no step has done so."""
    if crash.dead.is_set():
        restart(world, API_SERVER)
        crash.dead.clear()


@given("the API server crashes after it has stored the next {what} of {kind:word}")
def _(world: World, what: str, kind: str) -> None:
    """Let the API server store the next request of a component, and kill it before it can answer."""
    crash = world.state(Crash)

    def die() -> None:
        kill(world, API_SERVER)
        crash.dead.set()
        # Wakes the step that waits for `dead`: the event of the kill was logged before it was set.
        world.log.poke()

    arrange(world, Fault(lost="answer", then=die), count=1, what=what, kind=kind)
    world.cleanup.callback(revive, world, crash)


@when("the crashed API server is started again")
def _(world: World) -> None:
    """Wait until the API server has died as arranged, and start it."""
    dead = world.state(Crash).dead
    world.require("the API server dies", lambda: (dead.is_set(), "it is alive"))
    restart(world, API_SERVER)
    dead.clear()
