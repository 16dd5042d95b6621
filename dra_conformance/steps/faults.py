"""Injected faults between components and API server: failing requests, lost responses, broken watches.

Only requests of the components in the scenario's tags are affected, never those of the harness. A fault ends with the
scenario or when its count is used up.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from dra_api.objects import COMPUTE_DOMAIN_CLIQUES, DAEMON_SETS, PODS, RESOURCE_CLAIMS
from dra_conformance.core.errors import NotApplicable, SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World
from dra_conformance.faults import Aim, Call, Cut, Fault, Silence, Volley
from dra_conformance.steps.objects import resource_named
from dra_conformance.steps.references import reference

_CUTS: dict[str, Cut] = {"break": "break", "expire": "gone"}


@dataclass(slots=True)
class Arranged:
    """The faults of the scenario: volleys for requests, and the end of the current outage of watches.

    `optional` are those for requests that an implementation need not make. `ends` remove volleys earlier.
    """

    volleys: list[Volley] = field(default_factory=list)
    optional: list[Volley] = field(default_factory=list)
    ends: list[Callable[[], object]] = field(default_factory=list)
    end_outage: Callable[[], object] | None = None
    silence: Silence | None = None


def arrange(
    world: World,
    fault: Fault,
    *,
    count: int,
    what: str,
    kind: str,
    name: str = "",
    namespace: str = "",
    optional: bool = False,
) -> Volley:
    """Let the next requests of one kind (or for one object of it) fail; the end of the scenario ends the fault.

    `namespace` is another than that in which components write this kind. `optional`: an implementation need not make
    such a request.

    Everything settles first. An event that arrives later would trigger another attempt, and so hide a component that
    does not retry by itself.
    """
    world.settle()
    resource = resource_named(kind)
    # The objects for a ComputeDomain's daemons are in the namespace of their driver.
    usual = world.driver_namespace if resource in (DAEMON_SETS, COMPUTE_DOMAIN_CLIQUES) else world.namespace
    namespace = namespace or usual
    aim = Aim.at(what, resource, components=world.scenario.tags.components, namespace=namespace, name=name)
    if fault.then is not None:
        fault = replace(fault, then=world.checks.in_background(fault.then))
    volley = Volley(aim, fault, count=count)
    remove = world.run.fault_points.add(volley)
    world.cleanup.callback(remove)
    arranged = world.state(Arranged)
    arranged.ends.append(remove)
    (arranged.optional if optional else arranged.volleys).append(volley)
    return volley


def require_met(world: World, *, within: float | None = None) -> None:
    """Wait until every fault has affected a request. Raises Untestable if one has not: nothing is judged then.

    `within` is in seconds, by default those that a check waits. Raises NotApplicable if the components do not make a
    request that is optional.
    """
    for volley in world.state(Arranged).volleys:
        world.require(
            "the fault affects a request",
            lambda volley=volley: (volley.struck > 0, f"no {volley}"),  # type: ignore[misc]
            within=within,
        )
    for volley in world.state(Arranged).optional:
        met, _ = world.wait(lambda volley=volley: (volley.struck > 0, "not made"), within=within)  # type: ignore[misc]
        if not met:
            raise NotApplicable(f"the target makes no such request: {volley}")


def of_components(world: World) -> Callable[[Call], bool]:
    """Return a function that selects the calls of the scenario's components."""
    components = frozenset(world.scenario.tags.components)
    return lambda call: call.component in components


def interrupt_watches(
    world: World, how: str, wanted: Callable[[Call], bool], *, refused: Sequence[str] = ("list", "watch")
) -> None:
    """End open watches, and reject requests with these verbs. Raises Untestable if there is no open watch."""
    if how not in _CUTS:
        raise SpecificationError(f"watches cannot {how!r}; they can {' or '.join(_CUTS)}")
    points = world.run.fault_points
    world.settle()

    def refuse(call: Call) -> Fault | None:
        return Fault(code=503) if wanted(call) and call.info.verb in refused else None

    # Before the watches end: their clients reconnect at once.
    remove = points.add(refuse)
    world.state(Arranged).end_outage = remove
    world.cleanup.callback(remove)
    if not points.cut_watches(wanted, _CUTS[how]):
        raise Untestable("the components have no open watch that could break")


def calls_for(world: World, kind: str) -> Callable[[Call], bool]:
    """Return a function that selects the calls of the scenario's components for one resource."""
    resource, ours = resource_named(kind), of_components(world)

    def wanted(call: Call) -> bool:
        return ours(call) and (call.info.group, call.info.resource) == (resource.group, resource.plural)

    return wanted


def before_status_update(world: World, *, claim: str, act: Callable[[], object]) -> None:
    """Call `act` just before the next status update of a claim by a component is served; once."""

    def wanted(call: Call) -> bool:
        info = call.info
        named = (info.resource, info.subresource, info.name) == (RESOURCE_CLAIMS.plural, "status", claim)
        return named and info.verb != "get" and info.namespace == world.namespace

    before_request(world, wanted, act)


def before_deletion(world: World, *, component: str, pod: str, act: Callable[[], object]) -> None:
    """Call `act` just before the next deletion of a pod by a component is served; once."""
    aim = Aim.at("deletions", PODS, components=(component,), namespace=world.namespace, name=pod)
    before_request(world, aim.meets, act)


def before_request(world: World, wanted: Callable[[Call], bool], act: Callable[[], object]) -> None:
    """Call `act` just before the next wanted request of a component is served; once."""
    once, guarded = threading.Lock(), world.checks.in_background(act)

    def hook(call: Call) -> Fault | None:
        # The lock is never released: it selects one of several concurrent requests.
        if wanted(call) and once.acquire(blocking=False):
            guarded()
        return None

    world.cleanup.callback(world.run.fault_points.add(hook))


# -- requests ----------------------------------------------------------------------------------------------------------


@given("the API server answers {code:d} to the next {count:d} {what} of {kind:word}")
def _(world: World, code: int, count: int, what: str, kind: str) -> None:
    """Reject creations, updates, deletions, status updates or bindings of the components with this HTTP code."""
    arrange(world, Fault(code=code), count=count, what=what, kind=kind)


@given("the API server answers {code:d} to the next {count:d} {what} of {kind:word}, if there are any")
def _(world: World, code: int, count: int, what: str, kind: str) -> None:
    """The same for requests that an implementation need not make; without them the scenario is not applicable."""
    arrange(world, Fault(code=code), count=count, what=what, kind=kind, optional=True)


@given("the API server answers {code:d} to the next {count:d} {what} of the {subject:object}")
def _(world: World, code: int, count: int, what: str, subject: str) -> None:
    """The same for the requests of one object."""
    ref = reference(world, subject)
    arrange(world, Fault(code=code), count=count, what=what, kind=ref.resource.kind, name=ref.name)


@given("the API server answers 429 with Retry-After {seconds:d} to the next {count:d} {what} of {kind:word}")
def _(world: World, seconds: int, count: int, what: str, kind: str) -> None:
    """Answer 429 with Retry-After, as an overloaded API server does."""
    arrange(world, Fault(code=429, retry_after_s=seconds), count=count, what=what, kind=kind)


@given("the API server breaks the connection before the next {count:d} {what} of {kind:word}")
def _(world: World, count: int, what: str, kind: str) -> None:
    """Close the connection of requests before they are processed."""
    arrange(world, Fault(lost="request"), count=count, what=what, kind=kind)


@given("the API server loses its answers to the next {count:d} {what} of {kind:word}")
def _(world: World, count: int, what: str, kind: str) -> None:
    """Process requests, and close the connection instead of responding."""
    arrange(world, Fault(lost="answer"), count=count, what=what, kind=kind)


@given("the API server carries out and answers {code:d} to the next {count:d} {what} of {kind:word}")
def _(world: World, code: int, count: int, what: str, kind: str) -> None:
    """Process requests and respond with this HTTP code, as a server does whose own time limit passes (504)."""
    arrange(world, Fault(lost="answer", code=code), count=count, what=what, kind=kind)


@given("the API server delays its answers by {seconds:f} seconds to the next {count:d} {what} of {kind:word}")
def _(world: World, seconds: float, count: int, what: str, kind: str) -> None:
    """Process requests at once and delay the responses, so that watch events arrive first."""
    arrange(world, Fault(delay_s=seconds), count=count, what=what, kind=kind)


@when("the API server leaves all requests for {kind:word} without a response")
def _(world: World, kind: str) -> None:
    """Keep the connections of the components' requests for one resource open without a response; watches go on."""
    wanted, silence = calls_for(world, kind), Silence()
    world.settle()

    def hook(call: Call) -> Fault | None:
        return Fault(silence=silence) if wanted(call) and not call.is_watch else None

    remove = world.run.fault_points.add(hook)
    _hold(world, silence, remove)
    world.cleanup.callback(remove)


def _hold(world: World, silence: Silence, remove: Callable[[], object]) -> None:
    """Let time pass although requests get no response; they get one again at the latest when the scenario ends."""
    world.settling.held.append(lambda: silence.waiting)
    arranged = world.state(Arranged)
    arranged.silence, arranged.end_outage = silence, remove
    world.cleanup.callback(silence.end)


@given("the API server leaves all {what} of {kind:word} without a response")
def _(world: World, what: str, kind: str) -> None:
    """Keep the connections of the components' updates (or creations, ...) of one resource open without a response."""
    silence = Silence()
    volley = arrange(world, Fault(silence=silence), count=sys.maxsize, what=what, kind=kind)
    _hold(world, silence, lambda: world.run.fault_points.remove(volley))


@when("the API server responds to all requests again")
def _(world: World) -> None:
    """End the connections of requests without a response, and serve later ones. Untestable if there was none."""
    arranged = world.state(Arranged)
    if arranged.silence is None or arranged.end_outage is None:
        raise SpecificationError(f"{world.scenario.where}: all requests get a response")
    if not arranged.silence.met:
        raise Untestable("the components have made no request that could stay without a response")
    arranged.end_outage()
    arranged.silence.end()
    arranged.silence = arranged.end_outage = None
    world.settle()


# -- watches -----------------------------------------------------------------------------------------------------------


@given("watches break every {seconds:f} seconds")
def _(world: World, seconds: float) -> None:
    """Break all watches of the components periodically until the scenario ends."""
    points, wanted, over = world.run.fault_points, of_components(world), threading.Event()

    def work() -> None:
        while not world.log.clock.wait(over, seconds):
            points.cut_watches(wanted)

    thread = threading.Thread(target=work, name="watches-break", daemon=True)
    thread.start()
    # Callbacks run in reverse order: `over` is set before the thread is joined.
    world.cleanup.callback(thread.join)
    world.cleanup.callback(over.set)


@when("all watches {how:word} and are not served")
def _(world: World, how: str) -> None:
    """Watches of the components `break` or `expire` (410); new watches and lists are rejected from now on."""
    interrupt_watches(world, how, of_components(world))


@when("the watches of {kind:word} {how:word} and are not served")
def _(world: World, kind: str, how: str) -> None:
    """The same for the watches of one resource."""
    interrupt_watches(world, how, calls_for(world, kind))


@when("the watches of {kind:word} {how:word} and only lists are served")
def _(world: World, kind: str, how: str) -> None:
    """Watches of one resource end, and new ones are rejected; a component can still list the resource."""
    interrupt_watches(world, how, calls_for(world, kind), refused=("watch",))


@when("watches are served again")
def _(world: World) -> None:
    """End the outage after everything else has settled; clients reconnect after their back-off."""
    world.settle()
    arranged = world.state(Arranged)
    if arranged.end_outage is None:
        raise SpecificationError(f"{world.scenario.where}: watches are served")
    arranged.end_outage()
    arranged.end_outage = None


@when("the API server answers as usual again")
def _(world: World) -> None:
    """End all faults of the scenario that are about a number of requests."""
    for end in world.state(Arranged).ends:
        end()


@when("every fault has affected a request")
def _(world: World) -> None:
    """Wait until every injected fault has affected a request; without that nothing would be judged."""
    require_met(world)
