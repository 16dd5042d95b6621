"""The context of a validation: release, feature gates, clock, CEL compiler. Created for each request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from apiserver_emulator.strategy import RequestContext

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rules:
    """One release with its gates.

    `stored`: CEL expressions were accepted before and are compiled leniently.
    `version` is the API version of the request.
    """

    minor: int
    gates: Mapping[str, bool]
    now: Callable[[], datetime]
    stored: bool = False
    version: str = "v1"

    @classmethod
    def of(cls, ctx: RequestContext) -> Rules:
        """The rules of the server that a request came to."""
        return cls(minor=ctx.minor, gates=ctx.feature_gates, now=ctx.now, version=ctx.version)

    def as_stored(self, stored: bool) -> Rules:
        """The same rules for expressions that are, or are not, already stored."""
        return replace(self, stored=stored)

    def on(self, gate: str) -> bool:
        """Whether a feature gate is on."""
        return self.gates.get(gate, False)

    def duplicate_at(self, item: str, key: str) -> str:
        """Return the field of a duplicate's error: the item since 1.35, its key field in 1.34."""
        return f"{item}.{key}" if self.minor < 35 else item
