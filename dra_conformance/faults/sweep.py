"""Makes each write of a component fail once: records one undisturbed round, then repeats it with a fault per write.

The steps define and run a round.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from dra_conformance.core.errors import SpecificationError
from dra_conformance.faults.model import Call, Fault

FAULTS: dict[str, Fault] = {
    "answered 409": Fault(code=409),
    "answered 429": Fault(code=429, retry_after_s=1),
    "answered 500": Fault(code=500),
    "answered 503": Fault(code=503),
    "lost before it is carried out": Fault(lost="request"),
    "carried out without an answer": Fault(lost="answer"),
    "answered late": Fault(delay_s=0.15),
}


@dataclass(frozen=True, slots=True)
class Write:
    """One type of write of one component, with its number among writes of this type in a round."""

    component: str
    verb: str
    resource: str
    subresource: str
    number: int = 1

    def __str__(self) -> str:
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.component}: {self.verb} {what}" + (f" ({self.number})" if self.number > 1 else "")


def fault_called(name: str) -> Fault:
    """Return the fault with a name in steps. Raises SpecificationError."""
    if name not in FAULTS:
        raise SpecificationError(f"there is no fault {name!r}; known: {', '.join(FAULTS)}")
    return FAULTS[name]


@dataclass(slots=True, eq=False)
class Round:
    """A hook that numbers the writes of some components in one namespace, and makes one of them fail."""

    components: Collection[str]
    namespace: str
    target: Write | None = None
    fault: Fault | None = None
    struck: bool = False
    seen: list[Write] = field(default_factory=list)
    _counts: Counter[Write] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, call: Call) -> Fault | None:
        """Return the fault if this is the selected write."""
        info = call.info
        if call.component not in self.components or call.is_read or info.namespace != self.namespace:
            return None
        sort = Write(call.component, info.verb, info.resource, info.subresource)
        with self._lock:
            self._counts[sort] += 1
            write = Write(call.component, info.verb, info.resource, info.subresource, self._counts[sort])
            self.seen.append(write)
            if write != self.target or self.struck:
                return None
            self.struck = True
        return self.fault


def rounds(first: Round, fault: Fault) -> Iterator[Round]:
    """Yield one round for each write of an undisturbed one."""
    for write in first.seen:
        yield Round(first.components, first.namespace, target=write, fault=fault)
