"""Names missing permissions by role, verb and resource, from the calls that an API server has refused.

Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterable

from dra_conformance.core.events.calls import Call
from dra_conformance.rbac.check import Need
from dra_conformance.rbac.table import AGENTS, HARNESS


def needs(refused: Iterable[Call]) -> list[Need]:
    """Return the permissions of refused calls, each once, in order."""
    return sorted({(AGENTS.get(agent, HARNESS), group, name, verb) for agent, verb, group, name in refused})


def say(need: Need) -> str:
    """Return a text such as `the scheduler may not list resourceslices.resource.k8s.io`."""
    role, group, name, verb = need
    return f"the {role} may not {verb} {name}{f'.{group}' if group else ''}"


def message(refused: Iterable[Call]) -> str:
    """Return one sentence for the reason of a failure."""
    named = "; ".join(map(say, needs(refused)))
    return f"missing permissions: {named} (`dra-conformance rbac` prints all that a run needs)"
