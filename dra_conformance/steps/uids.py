"""Uids in expected values: `$(uid:NAME)` of a claim passed to a driver, a ComputeDomain, a PodGroup or a pod."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dra_api.objects import Obj, uid_of
from dra_conformance.engine.world import World
from dra_conformance.steps.driver_calls import calls

_UID = re.compile(r"\$\(uid:([^)]+)\)")


@dataclass(slots=True)
class CreatedDomains:
    """The ComputeDomains that the scenario created, by the name in its steps; kept after their deletion."""

    of_name: dict[str, Obj] = field(default_factory=dict)


@dataclass(slots=True)
class Groups:
    """The PodGroups of scheduling.k8s.io that the scenario created, by name, and the uids of those it replaced."""

    created: dict[str, Obj] = field(default_factory=dict)
    former: dict[str, str] = field(default_factory=dict)


def uid_named(world: World, name: str) -> str:
    """Return the uid of a claim, a ComputeDomain, a PodGroup or a pod, in this order. Fails for an unknown name."""
    claims = calls(world).refs
    if name in claims:
        return claims[name].uid
    for created in (world.state(CreatedDomains).of_name, world.state(Groups).created):
        if name in created:
            return uid_of(created[name])
    return world.text(f"$(uid:{name})")


def with_uids(world: World, text: str) -> str:
    """Fill the placeholders of a text, uids included."""
    return world.text(_UID.sub(lambda found: uid_named(world, found[1]), text))
