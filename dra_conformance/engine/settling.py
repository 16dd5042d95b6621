"""Waits of one scenario for the system: until watches have delivered, and until all components are idle."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import Protocol

from dra_api.clock import Clock
from dra_conformance.core.events import EventLog

# A socket, a folder or an NVML event may be on its way to a queue while all queues are empty: this long at most.
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
        """After so long without an event no more are expected, if idleness cannot be observed."""
        ...

    @property
    def observes_idle(self) -> bool:
        """Whether all components outside of nodes run in this process, so that `is_idle` covers them."""
        ...

    def is_idle(self) -> bool:
        """Whether no component in this process has work."""
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

        Components in this process are idle if their queues are empty. Other programs, and components that retry without
        end, are taken as idle after the run's quiet time. Returns after the run's patience at the latest.
        """
        deadline = self._clock.monotonic() + self._run.patience
        nodes = self._nodes()
        observable = self._run.observes_idle and all(node.observes_idle for node in nodes)
        quiet = (_QUIET_WITH_NODES if nodes else _QUIET_WITHOUT_NODES) if observable else self._run.quiet
        while self._clock.monotonic() < deadline:
            before = self._log.count

            # Bound as a default, because the loop assigns `before` again.
            def changed(before: int = before) -> bool:
                return self._log.count != before

            if self._log.wait_for(changed, quiet):
                continue
            if not observable or (self._run.is_idle() and not changed()):
                return
            # A kubelet retries a driver ten times a second, and may wait for its response without end.
            if nodes and not self._log.wait_for(changed, self._run.quiet - quiet):
                return
