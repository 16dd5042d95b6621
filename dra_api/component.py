"""What every runnable part is: something with a name that starts and stops.

Whoever starts a part ends it; `stop` may be called twice and returns when its threads are gone.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Component(Protocol):
    """A component that runs in threads of its own between `start` and `stop`."""

    @property
    def name(self) -> str:
        """The name that logs and reports use."""
        ...

    def start(self) -> None:
        """Begin to work; returns when the part is ready to act."""
        ...

    def stop(self) -> None:
        """End all work and join the part's threads. Idempotent."""
        ...
