"""Requests that fail, answers that get lost, watches that break: what a scenario arranges between components and API server.

Only requests of the components that the scenario names meet a fault; the harness's own never do. A fault ends with the
scenario or when its count is used up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from dra_api.objects import COMPUTE_DOMAIN_CLIQUES, DAEMON_SETS, RESOURCE_CLAIMS
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World
from dra_conformance.faults import Aim, Call, Cut, Fault, Volley
from dra_conformance.steps.compute_domains import DRIVER_NAMESPACE
from dra_conformance.steps.objects import resource_named

_VOLLEYS = "faults/volleys"
_OUTAGE = "faults/outage"
_CUTS: dict[str, Cut] = {"break": "break", "expire": "gone"}


def arrange(world: World, fault: Fault, *, count: int, what: str, kind: str) -> Volley:
    """Let a fault strike the next requests of one sort; the end of the scenario ends it.

    What went before comes to rest first: news of it that arrives later would make a part look again at what failed, and
    excuse one that does not do so by itself.
    """
    world.settle()
    resource = resource_named(kind)
    # What a ComputeDomain's daemons need lies in the namespace of their driver.
    namespace = DRIVER_NAMESPACE if resource in (DAEMON_SETS, COMPUTE_DOMAIN_CLIQUES) else world.namespace
    aim = Aim.at(what, resource, components=world.scenario.tags.components, namespace=namespace)
    volley = Volley(aim, fault, count=count)
    world.cleanup.callback(world.run.fault_points.add(volley))
    world.memory.setdefault(_VOLLEYS, []).append(volley)
    return volley


def require_met(world: World) -> None:
    """Every fault of the scenario has struck somebody. Raises Untestable where one has not: nothing is judged then."""
    for volley in world.memory.get(_VOLLEYS, ()):
        world.require(
            "a request meets the fault that the scenario arranges",
            lambda volley=volley: (volley.struck > 0, f"no {volley}"),  # type: ignore[misc]
        )


def of_components(world: World) -> Callable[[Call], bool]:
    """Whether a call is one of the scenario's components."""
    components = frozenset(world.scenario.tags.components)
    return lambda call: call.component in components


def go_away(world: World, how: str, wanted: Callable[[Call], bool]) -> None:
    """End open watches and refuse new ones, and lists. Raises Untestable where there is none to end."""
    if how not in _CUTS:
        raise SpecificationError(f"watches cannot {how!r}; they can {' or '.join(_CUTS)}")
    points = world.run.fault_points
    world.settle()

    def refuse(call: Call) -> Fault | None:
        return Fault(code=503) if wanted(call) and call.info.verb in ("list", "watch") else None

    remove = points.add(refuse)
    world.memory[_OUTAGE] = remove
    world.cleanup.callback(remove)
    if not points.cut_watches(wanted, _CUTS[how]):
        raise Untestable("the components have no open watch that could break")


def before_status_update(world: World, *, claim: str, act: Callable[[], object]) -> None:
    """Call `act` just before the next status update of a claim by a component is served; once."""
    once = threading.Lock()

    def hook(call: Call) -> Fault | None:
        info = call.info
        wanted = (info.resource, info.subresource, info.name) == (RESOURCE_CLAIMS.plural, "status", claim)
        if wanted and info.verb != "get" and info.namespace == world.namespace and once.acquire(blocking=False):
            act()
        return None

    world.cleanup.callback(world.run.fault_points.add(hook))


# -- requests ----------------------------------------------------------------------------------------------------------


@given("the API server answers {code:d} to the next {count:d} {what} of {kind:word}")
@when("the API server answers {code:d} to the next {count:d} {what} of {kind:word}")
def _(world: World, code: int, count: int, what: str, kind: str) -> None:
    """Refuse what the components ask: creations, updates, deletions, status updates or bindings."""
    arrange(world, Fault(code=code), count=count, what=what, kind=kind)


@given("the API server asks for {seconds:d} seconds of rest at the next {count:d} {what} of {kind:word}")
def _(world: World, seconds: int, count: int, what: str, kind: str) -> None:
    """Answer 429 with Retry-After, as an API server that has too much to do."""
    arrange(world, Fault(code=429, retry_after_s=seconds), count=count, what=what, kind=kind)


@given("the API server breaks the connection before the next {count:d} {what} of {kind:word}")
@when("the API server breaks the connection before the next {count:d} {what} of {kind:word}")
def _(world: World, count: int, what: str, kind: str) -> None:
    """Hang up on requests of the components; nothing of them is carried out."""
    arrange(world, Fault(lost="request"), count=count, what=what, kind=kind)


@given("the API server loses its answers to the next {count:d} {what} of {kind:word}")
@when("the API server loses its answers to the next {count:d} {what} of {kind:word}")
def _(world: World, count: int, what: str, kind: str) -> None:
    """Carry requests of the components out, and break the connection instead of answering."""
    arrange(world, Fault(lost="answer"), count=count, what=what, kind=kind)


@given("the API server is {seconds:f} seconds late with its answers to the next {count:d} {what} of {kind:word}")
@when("the API server is {seconds:f} seconds late with its answers to the next {count:d} {what} of {kind:word}")
def _(world: World, seconds: float, count: int, what: str, kind: str) -> None:
    """Carry requests of the components out at once and hold the answers back: watches tell first."""
    arrange(world, Fault(delay_s=seconds), count=count, what=what, kind=kind)


# -- watches -----------------------------------------------------------------------------------------------------------


@given("watches break every {seconds:f} seconds")
def _(world: World, seconds: float) -> None:
    """Break all watches of the components again and again, until the scenario ends."""
    points, wanted, over = world.run.fault_points, of_components(world), threading.Event()

    def work() -> None:
        while not world.log.clock.wait(over, seconds):
            points.cut_watches(wanted)

    thread = threading.Thread(target=work, name="watches-break", daemon=True)
    thread.start()
    world.cleanup.callback(thread.join)
    world.cleanup.callback(over.set)


@when("all watches {how:word} and stay away")
def _(world: World, how: str) -> None:
    """Watches of the components `break` or `expire` (410), and the server lists and watches nothing for them any more."""
    go_away(world, how, of_components(world))


@when("the watches of {kind:word} {how:word} and stay away")
def _(world: World, kind: str, how: str) -> None:
    """The same for the watches of one resource."""
    resource, ours = resource_named(kind), of_components(world)

    def wanted(call: Call) -> bool:
        return ours(call) and (call.info.group, call.info.resource) == (resource.group, resource.plural)

    go_away(world, how, wanted)


@when("watches are served again")
def _(world: World) -> None:
    """End the outage once everything else has come to rest; clients come back when their back-off says so."""
    world.settle()
    world.memory.pop(_OUTAGE)()


@when("the fault has struck")
def _(world: World) -> None:
    """Wait until every fault of the scenario has met a request; without that nothing would be judged."""
    require_met(world)
