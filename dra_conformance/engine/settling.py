"""Waits of one scenario for the system: until watches have delivered, and until all components are idle."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import Protocol

from dra_api.clock import Clock
from dra_conformance.core import thread_states
from dra_conformance.core.events import EventLog

# Between two observations. With nodes it is longer: NVML has no sign of an event that a driver has not received yet.
_QUIET_WITHOUT_NODES = 0.01
_QUIET_WITH_NODES = 0.03
_POLL = 0.0005
_NEVER = threading.Event()  # never set: waiting for it is waiting for time


class RunState(Protocol):
    """The run, as far as its activity can be observed. Durations are in seconds."""

    @property
    def patience(self) -> float:
        """The longest wait."""
        ...

    @property
    def quiet(self) -> float:
        """After so long without an event no more are expected of programs, and of a driver that does not respond."""
        ...

    @property
    def observes_idle(self) -> bool:
        """Whether all components outside of nodes run in this process, so that `is_idle` covers them."""
        ...

    def is_idle(self) -> bool:
        """Whether no component in this process has work, no call is in flight and all endpoints are idle."""
        ...

    def waits_for_drivers(self) -> bool:
        """Whether the only calls in flight are calls to drivers, and all endpoints are idle."""
        ...

    def watches_drained(self) -> bool:
        """Whether every watch has delivered what was written; true if the control plane cannot know."""
        ...


class NodeState(Protocol):
    """A node, as far as its activity can be observed."""

    @property
    def observes_idle(self) -> bool:
        """Whether kubelet and drivers of the node run in this process."""
        ...

    def processes(self) -> Collection[int]:
        """The ids of the node's processes that the harness has started."""
        ...


class Settling:
    """Waits until the system is idle.

    `wait_for_watches` False turns waiting for watches off, for runs that delay or break them on purpose.
    """

    def __init__(
        self,
        run: RunState,
        log: EventLog,
        *,
        nodes: Callable[[], Collection[NodeState]],
        wait_for_watches: bool,
    ) -> None:
        self._run = run
        self._log = log
        self._nodes = nodes
        self._wait_for_watches = wait_for_watches
        self.held: list[Callable[[], int]] = []
        """Functions that return how many calls a scripted program leaves unanswered at the moment."""

    def held_calls(self) -> int:
        """Return the number of calls in flight that the scenario itself leaves unanswered."""
        return sum(held() for held in self.held)

    @property
    def _clock(self) -> Clock:
        # Real time: the scenario may advance the components' clock.
        return self._log.clock

    def wait_for_watches(self) -> None:
        """Wait until every watch of the embedded control plane has delivered what was written.

        The runner calls this before each Given and When, so that all components know in one step what the step before
        wrote. What they do about it goes on meanwhile; `settle` waits for that too. Returns after the run's patience at
        the latest.
        """
        if not self._wait_for_watches:
            return
        deadline = self._clock.monotonic() + self._run.patience
        while not self._run.watches_drained() and self._clock.monotonic() < deadline:
            self._clock.wait(_NEVER, _POLL)

    def settle(self) -> None:
        """Wait until all components are idle and nothing was logged meanwhile.

        Components in this process are idle if their queues are empty, their watches are open and delivered, no call is
        in flight and, with nodes, no thread of this process is runnable: data on a socket or in a folder makes the
        thread that waits for it runnable. Programs, and drivers that leave a call unanswered, are idle if that holds
        for everything else and nothing was logged for the run's quiet time. Returns after the run's patience at the
        latest.
        """
        deadline = self._clock.monotonic() + self._run.patience
        nodes = self._nodes()
        observable = self._run.observes_idle and all(node.observes_idle for node in nodes)
        quiet = (_QUIET_WITH_NODES if nodes else _QUIET_WITHOUT_NODES) if observable else self._run.quiet
        before, pause = self._log.activity, quiet

        def changed() -> bool:
            return self._log.activity != before

        while self._clock.monotonic() < deadline:
            if self._log.wait_for(changed, pause):
                before, pause = self._log.activity, quiet
                continue
            # Work without an event, such as the renewal of a Lease, does not begin the quiet time again. With a period
            # of that time it would be in progress at each observation.
            pause = min(quiet, _QUIET_WITH_NODES)
            if self._run.is_idle():
                if not self._busy_threads(nodes) and not changed():
                    return
            elif (
                self._run.waits_for_drivers()
                and not self._log.wait_for(changed, self._run.quiet - quiet)
                # Again, because the calls may have ended meanwhile.
                and (self._run.waits_for_drivers() or self._run.is_idle())
                and not self._busy_threads(nodes)
                and not changed()
            ):
                return

    def _busy_threads(self, nodes: Collection[NodeState]) -> bool:
        """Return whether a thread of this process or of a node's processes is runnable; False without nodes."""
        return bool(nodes) and thread_states.any_runnable(*(pid for node in nodes for pid in node.processes()))
