"""The interface of every component that runs in this process: a name, start and stop.

The caller of `start` also calls `stop`. `stop` may be called twice and returns when the component's threads have ended.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Component(Protocol):
    """A component that runs in its own threads between `start` and `stop`."""

    @property
    def name(self) -> str:
        """The name that logs and reports use."""
        ...

    def start(self) -> None:
        """Start the component; returns when it is ready."""
        ...

    def stop(self) -> None:
        """Stop all work and join the component's threads. Idempotent."""
        ...


@runtime_checkable
class Killable(Component, Protocol):
    """A component for which a kill differs from `stop`, because `stop` gives something back."""

    def kill(self) -> None:
        """End as a killed process does. `stop` has no effect afterwards."""
        ...
