"""The value of --watch-lag: by how much watches report changes late."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dra_conformance.core.errors import UsageError

LONGEST = 1.0
"""The longest accepted lag in seconds."""
_RESOURCE = re.compile(r"[a-z][a-z0-9-]*")
_HINT = "For example --watch-lag 0.03, or --watch-lag resourceslices=0.05,pods=0."


@dataclass(frozen=True, slots=True)
class WatchLag:
    """The delay of watch events in seconds.

    Attributes:
        longest: half of the watches are delayed by a random time of at most this.
        resources: watches of these resources (plural names) are delayed by exactly this instead.
    """

    longest: float = 0.0
    resources: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> WatchLag:
        """Parse `0.03`, `pods=0.05,nodes=0` or a number and resources. Raises UsageError."""
        longest, resources = 0.0, {}
        for part in (part.strip() for part in text.split(",") if part.strip()):
            resource, equals, seconds = part.rpartition("=")
            try:
                value = float(seconds)
            except ValueError:
                raise UsageError(f"--watch-lag {text}: {seconds!r} is not a number of seconds", hint=_HINT) from None
            if not (math.isfinite(value) and 0 <= value <= LONGEST):
                raise UsageError(f"--watch-lag {text}: {seconds} is not from 0 to {LONGEST:g}", hint=_HINT)
            if equals and not _RESOURCE.fullmatch(resource):
                raise UsageError(f"--watch-lag {text}: {resource!r} is not the plural name of a resource", hint=_HINT)
            if equals:
                resources[resource] = value
            else:
                longest = value
        return cls(longest, resources)

    def __bool__(self) -> bool:
        return bool(self.longest or any(self.resources.values()))

    def __str__(self) -> str:
        parts = [f"watches up to {self.longest:g} s late"] if self.longest else []
        parts += [f"watches of {name} {seconds:g} s late" for name, seconds in self.resources.items()]
        return ", ".join(parts)

    def delays(self, seed: int) -> Callable[[str], float]:
        """Return a function that draws the delay of one more watch of a resource, repeatable by seed."""
        chance = random.Random(seed)  # noqa: S311 - no secret
        return lambda resource: self.of(resource, chance)

    def of(self, resource: str, chance: random.Random) -> float:
        """Return the delay of one more watch of `resource`."""
        found = self.resources.get(resource)
        if found is None:
            # Half of the watches have none, so that two watches of one client run apart.
            found = chance.choice((0.0, chance.uniform(0, self.longest))) if self.longest else 0.0
        return found
