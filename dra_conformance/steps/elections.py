"""Leader election: several replicas of the ComputeDomain controller, and the Lease that names the one that works.

The times are so short that programs can be judged in real time.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from dra_api.client import Conflict
from dra_api.clock import micro_timestamp
from dra_api.objects import LEASES, Obj
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.core.events import ClockAdvanced
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.components import require_own

CONTROLLER = "compute-domain-controller"
LEASE = "compute-domain-controller"
DURATION, DEADLINE, RETRY = 20, 6, 1
"""Seconds: the duration of the Lease, the renew deadline and the retry period.

The Lease lasts longer than all steps that look while it has not ended, also in real time.
"""
TAKEN_WITHIN = 45.0
"""Least seconds to wait for a leader: a program starts, and waits for the end of the Lease."""
_IN_PROCESS_WITHIN = 10.0
REPLICAS = {"first": "", "second": "-2"}
OTHER = "another-replica"
WRITES = 20
"""Most attempts to write a Lease that its holder renews."""


@dataclass(slots=True)
class Leaders:
    """The identities that have held the Lease, the latest last."""

    identities: list[str] = field(default_factory=list)


def replica_of(which: str) -> str:
    """Return the suffix of a replica that a step names."""
    if which not in REPLICAS:
        raise SpecificationError(f"there is no {which} replica; the replicas are {' and '.join(REPLICAS)}")
    return REPLICAS[which]


def lease(world: World) -> Obj | None:
    """Return the Lease of the election."""
    return world.client.find(LEASES, LEASE, world.namespace)


def holder(world: World) -> str:
    """Return the identity in the Lease; empty without a leader."""
    return str(((lease(world) or {}).get("spec") or {}).get("holderIdentity") or "")


def election_flags(world: World) -> list[str]:
    """Return the flags of a replica, in NVIDIA's spelling."""
    prefix = "--leader-election"
    return [
        f"{prefix}-enabled=true",
        f"{prefix}-lease-lock-namespace={world.namespace}",
        f"{prefix}-lease-lock-name={LEASE}",
        f"{prefix}-lease-duration={DURATION}s",
        f"{prefix}-renew-deadline={DEADLINE}s",
        f"{prefix}-retry-period={RETRY}s",
    ]


@given("two replicas of the compute-domain-controller, of which the first is the leader")
def _(world: World) -> None:
    """Start the controller again with leader election and, once it holds the Lease, a second one beside it.

    The Lease lasts 20 s, the renew deadline is 6 s and the retry period 1 s.
    """
    _start_first(world)
    _wait_for_leader(world)
    _start_second(world)
    world.settle()


@when("the compute-domain-controller is started with leader election")
def _(world: World) -> None:
    """Start the controller again with the flags of the first of two replicas; a later step checks whether it leads."""
    _start_first(world)
    world.settle()


@when("a second replica of the compute-domain-controller is started")
def _(world: World) -> None:
    """Start another controller beside the first one, with the same Lease."""
    _start_second(world)
    world.settle()


def _start_first(world: World) -> None:
    require_own(world, CONTROLLER)
    world.components.restart(CONTROLLER, flags=election_flags(world))
    world.cleanup.callback(world.components.kill, CONTROLLER)


def _start_second(world: World) -> None:
    suffix = REPLICAS["second"]
    world.components.start(CONTROLLER, flags=election_flags(world), replica=suffix)
    world.cleanup.callback(world.components.kill, CONTROLLER + suffix)


def _wait_for_leader(world: World) -> None:
    former = world.state(Leaders).identities
    if not world.poll(lambda: holder(world) not in ("", *former), _taken_within(world)):
        raise Untestable("no replica of the compute-domain-controller takes the lease")
    former.append(holder(world))


def _taken_within(world: World) -> float:
    """Return how long a replica may take to become the leader: one in this process need not start a program."""
    return max(TAKEN_WITHIN if world.uses_real_time else _IN_PROCESS_WITHIN, world.run.patience)


@when("the {which:word} replica of the compute-domain-controller is {end:word}")
def _(world: World, which: str, end: str) -> None:
    """End a replica: `stopped` by SIGTERM, so that it can release the Lease, or `killed`."""
    if end not in ("stopped", "killed"):
        raise SpecificationError(f"a replica can be stopped or killed, not {end}")
    world.settle()
    stop = world.components.terminate if end == "stopped" else world.components.kill
    stop(CONTROLLER + replica_of(which))


@when("the {what:word} of the replicas has passed")
def _(world: World, what: str) -> None:
    """Let the `retry-period`, the `renew-deadline` or the `lease` pass, and two attempts of each replica after it.

    At once if the replicas are in this process, otherwise in real time.
    """
    times = {"retry-period": RETRY, "renew-deadline": DEADLINE, "lease": DURATION}
    if what not in times:
        raise SpecificationError(f"the replicas have no {what}; they have {', '.join(times)}")
    seconds = times[what] + 2 * RETRY
    if world.uses_real_time:
        world.clock.wait(threading.Event(), seconds)
    else:
        world.pass_time(seconds)
    world.log.emit(ClockAdvanced(advanced=seconds))
    # Attempts are due now.
    world.settle()


@then("a replica of the compute-domain-controller that has not been the leader comes to be it")
def _(world: World) -> None:
    """The Lease comes to name a replica that it has not named in this scenario."""
    check_new_leader(world, within=_taken_within(world))


@then("a replica of the compute-domain-controller that has not been the leader is it within {seconds:d} seconds")
def _(world: World, seconds: int) -> None:
    """The same in so many seconds of real time: before the end of a Lease that was not released."""
    check_new_leader(world, within=seconds)


def check_new_leader(world: World, *, within: float) -> None:
    """Check that the Lease comes to name a replica that it has not named in this scenario."""
    former = world.state(Leaders).identities

    def look() -> Seen[str]:
        found = holder(world)
        return found not in ("", *former, OTHER), found or "no leader"

    world.eventually("leader of the compute-domain-controller", look, expected="another replica", within=within)
    former.append(holder(world))


@then("the leader of the compute-domain-controller stays the same")
def _(world: World) -> None:
    """The Lease names the same replica once the system is idle."""
    wanted = world.state(Leaders).identities[-1]

    def look() -> Seen[str]:
        found = holder(world)
        return found == wanted, found

    world.stays("leader of the compute-domain-controller", look, expected=wanted)


@when("another program takes the lease of the compute-domain-controller")
def _(world: World) -> None:
    """Write the name of another holder and the duration of an hour into the Lease, as its holder's successor would."""
    now = micro_timestamp(world.clock.now())
    spec = {"holderIdentity": OTHER, "leaseDurationSeconds": 3600, "acquireTime": now, "renewTime": now}
    _write_lease(world, spec)


@when("that program releases the lease")
def _(world: World) -> None:
    """Remove the holder from the Lease, as a leader does that ends."""
    _write_lease(world, {"holderIdentity": "", "leaseDurationSeconds": 1})


def _write_lease(world: World, spec: Obj) -> None:
    for _ in range(WRITES):
        found = lease(world)
        if found is None:
            raise Untestable("the compute-domain-controller has no lease")
        try:
            world.client.update(LEASES, {**found, "spec": {**found["spec"], **spec}})
        except Conflict:
            continue
        return
    raise Untestable("the lease changes all the time, so it cannot be written")
