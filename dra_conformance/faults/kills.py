"""The death of a component at one of its writes, and the silence after it.

A `Death` counts the writes of a component in one namespace. From the chosen one on, no request of the component reaches
the API server any more, so that the state there is as if it had been killed at this moment. The scenario then kills the
component itself, which may still be running, and removes the hook before it starts the component again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from dra_conformance.core.errors import SpecificationError
from dra_conformance.faults.model import Call, Fault

Moment = Literal["before", "after"]
MOMENTS: dict[str, Moment] = {"before": "before", "after": "after"}


def moment_called(name: str) -> Moment:
    """Return the moment with a name in steps. Raises SpecificationError."""
    if name not in MOMENTS:
        raise SpecificationError(f"a component cannot be killed {name!r} a write; only {' or '.join(MOMENTS)} it")
    return MOMENTS[name]


@dataclass(slots=True, eq=False)
class Death:
    """A hook: the component dies before or after its write with number `at` in the namespace.

    `on_death` is called once, from another thread. `write` is the write at which the component died.
    """

    component: str
    namespace: str
    at: int
    moment: Moment
    on_death: Callable[[], None] = lambda: None
    write: str = ""
    _seen: int = 0
    _dead: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def dead(self) -> bool:
        """Whether the component has died."""
        return self._dead.is_set()

    def __call__(self, call: Call) -> Fault | None:
        """Return the fault of a request of the component: none while it lives."""
        if call.component != self.component:
            return None
        if self.dead:
            return Fault(lost="request")
        if call.is_read or call.info.namespace != self.namespace:
            return None
        with self._lock:
            self._seen += 1
            if self._seen != self.at:
                return None
            what = f"{call.info.resource}/{call.info.subresource}" if call.info.subresource else call.info.resource
            self.write = f"{call.info.verb} {what}"
        if self.moment == "before":
            self._die()
            return Fault(lost="request")
        return Fault(lost="answer", then=self._die)

    def _die(self) -> None:
        self._dead.set()
        self.on_death()
