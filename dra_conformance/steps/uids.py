"""Uids in expected values: `$(uid:NAME)` is that of a claim passed to a driver, of a ComputeDomain or of a pod."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dra_conformance.engine.world import World
from dra_conformance.steps.driver_calls import calls

_UID = re.compile(r"\$\(uid:([^)]+)\)")


@dataclass(slots=True)
class DomainUids:
    """The uids of the ComputeDomains that the scenario created, by name; kept after their deletion.

    `keys` has namespace and name of each.
    """

    of_name: dict[str, str] = field(default_factory=dict)
    keys: dict[str, tuple[str, str]] = field(default_factory=dict)


def uid_named(world: World, name: str) -> str:
    """Return the uid of a claim, a ComputeDomain or a pod, in this order. Fails for an unknown name."""
    claims, domains = calls(world).refs, world.state(DomainUids).of_name
    if name in claims:
        return claims[name].uid
    return domains[name] if name in domains else world.text(f"$(uid:{name})")


def with_uids(world: World, text: str) -> str:
    """Fill the placeholders of a text, uids included."""
    return world.text(_UID.sub(lambda found: uid_named(world, found[1]), text))
