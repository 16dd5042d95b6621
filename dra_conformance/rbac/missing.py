"""Says which rights were missing, in the words of the table: who, which verb, which resource.

Pure functions of what an API server refused, as `events.calls` keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable

from dra_conformance.core.events.calls import Call
from dra_conformance.rbac.check import Need
from dra_conformance.rbac.table import AGENTS, HARNESS


def needs(refused: Iterable[Call]) -> list[Need]:
    """The rights behind refused calls, each once, in order."""
    return sorted({(AGENTS.get(agent, HARNESS), group, name, verb) for agent, verb, group, name in refused})


def say(need: Need) -> str:
    """`the scheduler may not list resourceslices.resource.k8s.io`."""
    holder, group, name, verb = need
    return f"the {holder} may not {verb} {name}{f'.{group}' if group else ''}"


def told(refused: Iterable[Call]) -> str:
    """One sentence for people who look at a failure."""
    return f"missing rights: {'; '.join(map(say, needs(refused)))} (`dra-conformance rbac` prints what a run needs)"
