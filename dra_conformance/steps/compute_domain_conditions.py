"""The conditions of ComputeDomains: a problem that its user sees, of whatever type the controller gives it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from dra_api.objects import Obj, meta
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import then
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.compute_domains import domain
from dra_conformance.steps.uids import with_uids

_REASON = re.compile(r"[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_TYPE = re.compile(r"(?:[a-z0-9.-]+/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(slots=True)
class SeenConditions:
    """The condition of a ComputeDomain that an earlier step has found, by the name of the ComputeDomain."""

    of_domain: dict[str, Obj] = field(default_factory=dict)


def conditions_of(found: Obj) -> list[Obj]:
    """Return the conditions of a ComputeDomain."""
    return list((found.get("status") or {}).get("conditions") or ())


def problems_of(condition: Obj, generation: int) -> list[str]:
    """Return which fields of a condition metav1.Condition does not allow, or belong to another generation."""
    formats = {"type": _TYPE, "reason": _REASON, "lastTransitionTime": _TIME}
    wrong = [key for key, wanted in formats.items() if not wanted.fullmatch(str(condition.get(key) or ""))]
    if condition.get("status") not in ("True", "False", "Unknown"):
        wrong.append("status")
    if condition.get("observedGeneration") != generation:
        wrong.append("observedGeneration")
    return wrong


@then('the ComputeDomain "{name}" gets a condition that contains "{text}"')
def _(world: World, name: str, text: str) -> None:
    """A condition whose message has this text comes to be in the status, and has valid fields."""
    wanted = with_uids(world, text)

    def look() -> Seen[list[Any]]:
        found = domain(world, name)
        conditions = conditions_of(found)
        fitting = [one for one in conditions if wanted in str(one.get("message") or "")]
        if not fitting:
            return False, conditions
        world.state(SeenConditions).of_domain[name] = fitting[0]
        return not problems_of(fitting[0], int(meta(found).get("generation") or 0)), fitting

    world.eventually(f"conditions of ComputeDomain {name}", look, expected=[f"…{wanted}…, with valid fields"])


@then('the ComputeDomain "{name}" has no condition that contains "{text}"')
def _(world: World, name: str, text: str) -> None:
    """No condition has this text in its message once the system is idle."""
    unwanted = with_uids(world, text)

    def look() -> Seen[list[Any]]:
        found = [one for one in conditions_of(domain(world, name)) if unwanted in str(one.get("message") or "")]
        return not found, found

    world.stays(f"conditions of ComputeDomain {name} that contain {unwanted}", look, expected=[])


@then('this condition of the ComputeDomain "{name}" comes to have another status')
def _(world: World, name: str) -> None:
    """The condition of an earlier step gets the other status, or goes."""
    before = world.state(SeenConditions).of_domain.get(name)
    if before is None:
        raise Untestable(f"no step has found a condition of ComputeDomain {name}")
    opposite = {"True": "False", "False": "True"}.get(before["status"], "True or False")

    def look() -> Seen[str]:
        now = next((one for one in conditions_of(domain(world, name)) if one.get("type") == before["type"]), None)
        status = "none" if now is None else str(now.get("status"))
        return status in ("none", *opposite.split(" or ")), status

    world.eventually(f"condition {before['type']} of ComputeDomain {name}", look, expected=opposite)


@then('a condition of the ComputeDomain "{name}" that contains "{text}" has the time of this one, or another type')
def _(world: World, name: str, text: str) -> None:
    """A condition with this text comes to be; that of an earlier step keeps its lastTransitionTime with its status."""
    before = world.state(SeenConditions).of_domain.get(name)
    if before is None:
        raise Untestable(f"no step has found a condition of ComputeDomain {name}")
    wanted = with_uids(world, text)

    def look() -> Seen[list[Any]]:
        fitting = [one for one in conditions_of(domain(world, name)) if wanted in str(one.get("message") or "")]
        return bool(fitting), fitting

    world.eventually(f"conditions of ComputeDomain {name}", look, expected=[f"…{wanted}…"])
    now = next((one for one in conditions_of(domain(world, name)) if one.get("type") == before["type"]), before)
    if now.get("status") == before["status"]:
        world.check(
            now.get("lastTransitionTime") == before["lastTransitionTime"],
            f"lastTransitionTime of condition {before['type']} of ComputeDomain {name}",
            expected=before["lastTransitionTime"],
            observed=now.get("lastTransitionTime"),
        )
