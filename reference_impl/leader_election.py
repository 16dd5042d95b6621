"""Leader election: of several replicas of a component, the one that holds a Lease works.

A replica takes a Lease that has no holder, that was released, or that has not been renewed for as long as it says. The
holder renews it. A holder that cannot do so until its renew deadline ends its work: by then another replica may be the
leader. Each request has a timeout, so that a server that does not respond cannot hold it past the deadline. Times of
other replicas are never compared with the own clock; what counts is how long a Lease has not changed.

The component is built for each term and stopped with it, so that no state of an earlier term is left.

Source: client-go tools/leaderelection v0.37 (leaderelection.go): take, renew, release, which times count, and the
renew deadline as the timeout of the requests.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from dra_api.client import ApiError, KubeClient, NotFound
from dra_api.clock import SOON, Clock, micro_timestamp
from dra_api.component import Component
from dra_api.objects import LEASES, Obj
from dra_api.threads import started
from dra_api.transport import TransportError
from reference_impl.deadline import WithDeadline
from reference_impl.errors import ComponentError, log_failed

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionOptions:
    """The Lease and its times in seconds.

    `identity` is the name of this replica in the Lease. Raises ComponentError for times that cannot work.
    """

    namespace: str
    name: str
    identity: str
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if not self.lease_duration > self.renew_deadline > self.retry_period > 0:
            raise ComponentError(
                "leader election: the lease duration must be longer than the renew deadline, and that longer than the"
                " retry period"
            )
        if self.lease_duration < 1:
            raise ComponentError("leader election: the lease duration must be at least one second")


class LeaderElected:
    """Runs a component while this replica is the leader. `make` returns a component that has not been started."""

    def __init__(
        self, name: str, client: KubeClient, make: Callable[[], Component], *, clock: Clock, options: ElectionOptions
    ) -> None:
        self.name = name
        # Only for the Lease: the component has a client of its own.
        self._client = client.over(WithDeadline(client.transport, self._seconds_left, "the renew deadline has passed"))
        self._make = make
        self._clock = clock
        self._options = options
        self._working: Component | None = None
        self._renewed_at = 0.0
        self._next_turn = 0.0
        self._deadline = 0.0
        self._failed = False
        self._seen: tuple[Obj, float] | None = None
        self._busy = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        clock.register(self)

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Try once to become the leader, then go on in a thread of its own."""
        self.take_turn()
        self._thread = started(self._run, name=f"{self.name}-election")

    def stop(self) -> None:
        """End all work, then release the Lease, so that another replica need not wait for its end. Idempotent."""
        if self._end():
            try:
                self._deadline = self._clock.monotonic() + self._options.renew_deadline
                self.release()
            except (ApiError, TransportError, OSError) as error:
                log_failed(log, f"{self.name}: release of the lease", error, level=logging.INFO)

    def kill(self) -> None:
        """End all work and leave the Lease as it is, as a process does that is killed."""
        self._end()

    def is_idle(self) -> bool:
        """Return whether no attempt to get or renew the Lease is in progress or due."""
        if self._stopping.is_set():
            return True
        return not self._busy.locked() and self._next_turn - self._clock.monotonic() > SOON

    def _end(self) -> bool:
        """End thread and component; return whether this replica was the leader."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout=10)
        return self._resign()

    def _run(self) -> None:
        while not self._clock.wait_until(self._stopping, self._next_turn):
            try:
                self.take_turn()
            except Exception as error:  # even a bug must cost one attempt, not the election
                log_failed(log, f"{self.name}: leader election", error, level=logging.INFO)

    # -- one turn --------------------------------------------------------------------------------------------------

    def take_turn(self) -> None:
        """Get or renew the Lease, and begin or end the work accordingly."""
        with self._busy:
            started_at = self._clock.monotonic()
            self._deadline = self._deadline_of_turn(started_at)
            try:
                self._failed = not self._try_lease()
                if not self._stopping.is_set():  # an answer that came after the end starts nothing
                    self._follow(started_at)
            finally:
                self._next_turn = self._clock.monotonic() + self._pause()

    def _follow(self, started_at: float) -> None:
        """Begin or end the work, as the attempt that began at `started_at` says."""
        if not self._failed:
            # The time before the request: the Lease counts from when the server stores it.
            self._renewed_at = started_at
            self._begin()
        elif self._working is not None and self.is_overdue():
            log.warning("%s: lost the lease %s", self.name, self._options.name)
            self._resign()

    def _deadline_of_turn(self, now: float) -> float:
        """Return until when the requests of an attempt may take: until the renew deadline, if this is the leader.

        An attempt that follows a success and is later than that, because the process did not run, has a retry period.
        """
        options = self._options
        if self._working is None:
            return now + options.renew_deadline
        deadline = self._renewed_at + options.renew_deadline
        return deadline if self._failed or deadline > now else now + options.retry_period

    def _seconds_left(self) -> float:
        return self._deadline - self._clock.monotonic()

    def _pause(self) -> float:
        """Return how long to wait for the next attempt: not past the deadline of a leader that could not renew."""
        period = self._options.retry_period
        if self._working is None or not self._failed:
            return period
        left = self._renewed_at + self._options.renew_deadline - self._clock.monotonic()
        return min(period, max(left, 0.0))

    def is_overdue(self) -> bool:
        """Return whether the last renewal is longer ago than the renew deadline."""
        return self._clock.monotonic() - self._renewed_at >= self._options.renew_deadline

    def _begin(self) -> None:
        if self._working is None:
            component = self._make()
            component.start()
            self._working = component

    def _resign(self) -> bool:
        working, self._working = self._working, None
        if working is not None:
            working.stop()
        return working is not None

    # -- the Lease -------------------------------------------------------------------------------------------------

    def _try_lease(self) -> bool:
        """Create, take or renew the Lease; return whether this replica holds it now."""
        options = self._options
        try:
            found = self._client.find(LEASES, options.name, options.namespace)
            if found is None:
                metadata = {"name": options.name, "namespace": options.namespace}
                self._client.create(LEASES, {"metadata": metadata, "spec": self._spec({})})
            elif self.may_take(found):
                self._client.update(LEASES, {**found, "spec": self._spec(found.get("spec") or {})})
            else:
                return False
        except (ApiError, TransportError, OSError) as error:
            # Another replica was faster, or the API server cannot be reached: the next turn tries again.
            log_failed(log, f"{self.name}: lease", error, level=logging.INFO)
            return False
        return True

    def may_take(self, lease: Obj) -> bool:
        """Return whether the Lease is this replica's own, is released, or has not changed for its whole duration."""
        spec = lease.get("spec") or {}
        now = self._clock.monotonic()
        if self._seen is None or self._seen[0] != spec:
            self._seen = (spec, now)
        holder = spec.get("holderIdentity")
        ended = now - self._seen[1] >= (spec.get("leaseDurationSeconds") or 0)
        return not holder or holder == self._options.identity or ended

    def release(self) -> None:
        """Give the Lease back, if this replica still holds it."""
        try:
            found = self._client.get(LEASES, self._options.name, self._options.namespace)
        except NotFound:
            return
        spec = found.get("spec") or {}
        if spec.get("holderIdentity") == self._options.identity:
            # One second: a Lease must have a duration.
            released = {**spec, "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": self._now()}
            self._client.update(LEASES, {**found, "spec": released})

    def _spec(self, before: Obj) -> Obj:
        """Return the spec with this replica as the holder; terms are counted."""
        changed = before.get("holderIdentity") != self._options.identity
        now = self._now()
        return {
            "holderIdentity": self._options.identity,
            "leaseDurationSeconds": int(self._options.lease_duration),
            "acquireTime": now if changed else before.get("acquireTime", now),
            "renewTime": now,
            "leaseTransitions": (before.get("leaseTransitions") or 0) + (changed and bool(before)),
        }

    def _now(self) -> str:
        return micro_timestamp(self._clock.now())
