"""Faults of the control plane: refusals that a run with a control plane of its own can arrange.

The harness's own requests are never refused. A hook ends with the scenario or when its count is used up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from dra_api.objects import RESOURCE_CLAIMS
from dra_conformance.control_plane.embedded.faults import Fault, FaultPoints
from dra_conformance.control_plane.embedded.request import Request, RequestInfo
from dra_conformance.control_plane.embedded.status import StatusError
from dra_conformance.errors import SpecificationError, Untestable
from dra_conformance.seats.spec import CHOICES
from dra_conformance.steps.objects import resource_named
from dra_conformance.suite.vocabulary import given, when
from dra_conformance.suite.world import World

HARNESS = "dra-conformance"

# What a sentence calls a request: verbs and subresource.
REQUESTS: dict[str, tuple[frozenset[str], str]] = {
    "creations": (frozenset({"create"}), ""),
    "updates": (frozenset({"update", "patch"}), ""),
    "deletions": (frozenset({"delete"}), ""),
    "status updates": (frozenset({"update", "patch"}), "status"),
    "bindings": (frozenset({"create"}), "binding"),
}

_REASONS = {403: "Forbidden", 409: "Conflict", 422: "Invalid", 429: "TooManyRequests", 500: "InternalError"}


class Refusals:
    """Refuses the next `count` requests of one sort; counts those that it has refused."""

    def __init__(self, *, code: int, count: int, what: str, kind: str, namespace: str) -> None:
        if what not in REQUESTS:
            raise SpecificationError(f"{what!r} are no requests that can be refused; known: {', '.join(REQUESTS)}")
        self.refused = 0
        self._code = code
        self._left = count
        self._verbs, self._subresource = REQUESTS[what]
        self._resource = resource_named(kind)
        self._namespace = namespace
        self._lock = threading.Lock()

    def __call__(self, info: RequestInfo, request: Request) -> Fault | None:
        """The hook: an answer for a request that is to be refused, None for all others."""
        if (
            (info.group, info.resource, info.subresource)
            != (self._resource.group, self._resource.plural, self._subresource)
            or info.verb not in self._verbs
            or info.namespace != self._namespace
            or request.user_agent.startswith(HARNESS)
        ):
            return None
        with self._lock:
            if not self._left:
                return None
            self._left -= 1
            self.refused += 1
        reason = _REASONS.get(self._code, "InternalError")
        return Fault(error=StatusError(self._code, reason, f"the scenario refuses {info.verb} of {info.path}"))


def _points(world: World) -> FaultPoints:
    """Where hooks go. Raises Untestable when a seat's requests pass neither through us nor through our server."""
    if world.run.options.control_plane != "embedded":
        for seat in world.scenario.tags.seats:
            spec = world.run.seats.spec(seat) if seat in CHOICES and seat != "control-plane" else None
            if spec is not None and not spec.in_process and spec.kind != "none":
                raise Untestable(f"the requests of the {seat} ({spec.kind}) do not pass through the harness")
    return world.run.fault_points


def refuse(world: World, *, code: int, count: int, what: str, kind: str) -> None:
    """Arrange refusals for the rest of the scenario. Raises Untestable on a control plane that is not ours."""
    points = _points(world)
    hook = Refusals(code=code, count=count, what=what, kind=kind, namespace=world.namespace)
    world.cleanup.callback(points.add(hook))
    world.memory["refusals"] = hook


def before_status_update(world: World, *, claim: str, act: Callable[[], None]) -> None:
    """Call `act` just before the next status update of a claim by a seat is served; once."""
    points = _points(world)
    once = threading.Lock()

    def hook(info: RequestInfo, request: Request) -> Fault | None:
        wanted = (info.resource, info.subresource, info.name) == (RESOURCE_CLAIMS.plural, "status", claim)
        ours = request.user_agent.startswith(HARNESS) or info.namespace != world.namespace
        if wanted and not ours and once.acquire(blocking=False):
            act()
        return None

    world.cleanup.callback(points.add(hook))


@given("the API server answers {code:d} to the next {count:d} {what} of {kind:word}")
@when("the API server answers {code:d} to the next {count:d} {what} of {kind:word}")
def _(world: World, code: int, count: int, what: str, kind: str) -> None:
    """Refuse what the seats ask: creations, updates, deletions, status updates or bindings."""
    refuse(world, code=code, count=count, what=what, kind=kind)
