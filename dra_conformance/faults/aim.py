"""The requests into which a fault is injected, and their number.

An `Aim` selects requests. A `Volley` is a hook that a scenario adds to the run's fault points; it records the requests
that it has made fail.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass

from dra_api.objects import Resource
from dra_conformance.core.errors import SpecificationError
from dra_conformance.faults.model import Call, Fault

# The names of requests in steps: verbs and subresource.
REQUESTS: dict[str, tuple[frozenset[str], str]] = {
    "readings": (frozenset({"get"}), ""),
    "creations": (frozenset({"create"}), ""),
    "updates": (frozenset({"update", "patch"}), ""),
    "deletions": (frozenset({"delete"}), ""),
    "status updates": (frozenset({"update", "patch"}), "status"),
    "bindings": (frozenset({"create"}), "binding"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """Requests of some components for one resource in one namespace (empty: of cluster scope).

    `name` selects the requests for one object (empty: for all).
    """

    components: Collection[str]
    resource: Resource
    verbs: frozenset[str]
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @classmethod
    def at(cls, what: str, resource: Resource, *, components: Collection[str], namespace: str, name: str = "") -> Aim:
        """Return the requests with the name `what` in steps. Raises SpecificationError for an unknown name."""
        if what not in REQUESTS:
            raise SpecificationError(f"{what!r} is not a type of requests; known: {', '.join(REQUESTS)}")
        verbs, subresource = REQUESTS[what]
        return cls(
            components=frozenset(components),
            resource=resource,
            verbs=verbs,
            subresource=subresource,
            namespace=namespace if resource.namespaced else "",
            name=name,
        )

    def meets(self, call: Call) -> bool:
        """Whether this request is selected."""
        info = call.info
        return (
            call.component in self.components
            and info.verb in self.verbs
            and (info.group, info.resource, info.subresource)
            == (self.resource.group, self.resource.plural, self.subresource)
            and info.namespace == self.namespace
            and self.name in ("", info.name)
        )


class Volley:
    """A hook that injects a fault into the next `count` requests that its aim selects."""

    def __init__(self, aim: Aim, fault: Fault, *, count: int) -> None:
        self.aim = aim
        self.fault = fault
        self._left = count
        self._struck: list[Call] = []
        self._lock = threading.Lock()

    @property
    def struck(self) -> int:
        """The number of requests with the fault so far."""
        return len(self._struck)

    def __call__(self, call: Call) -> Fault | None:
        """Return the fault if the request is selected."""
        if not self.aim.meets(call):
            return None
        with self._lock:
            if not self._left:
                return None
            self._left -= 1
            self._struck.append(call)
        return self.fault

    def __str__(self) -> str:
        aim = self.aim
        what = f"{aim.resource.plural}/{aim.subresource}" if aim.subresource else aim.resource.plural
        return f"{'/'.join(sorted(aim.verbs))} of {what} by {', '.join(sorted(aim.components))}: {self.fault}"
