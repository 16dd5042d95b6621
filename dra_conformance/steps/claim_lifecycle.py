"""Claims that are generated from templates: created for their pods, and recorded in the pods' status."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dra_api.objects import PODS, Obj, name_of
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.references import Known, claims_made_for

_WATCH_SECONDS = 10
"""The server ends the watch of a history then, if the last version does not arrive."""


@dataclass
class Removals:
    """Versions of pods just after a scenario removed an entry of their claim statuses, by pod."""

    versions: dict[str, str] = field(default_factory=dict)


def one(claims: list[Obj]) -> Seen[str]:
    """Return whether there is exactly one claim, and the names of the claims."""
    return len(claims) == 1, in_words([name_of(claim) for claim in claims])


def recorded(world: World, pod: str) -> list[Obj]:
    """Return `status.resourceClaimStatuses` of a pod."""
    return list(((world.seen(PODS, pod) or {}).get("status") or {}).get("resourceClaimStatuses") or [])


@given('pod "{pod}" has its claim "{name}"')
def _(world: World, pod: str, name: str) -> None:
    """Wait until the pod's claim is generated and recorded; later steps refer to it by this name or `$(claim:name)`."""
    world.require(f"pod {pod} has one claim", lambda: one(claims_made_for(world, pod)))
    claim = name_of(claims_made_for(world, pod)[0])
    world.require(
        f"the status of pod {pod} has its claim",
        lambda: (any(entry.get("resourceClaimName") == claim for entry in recorded(world, pod)), recorded(world, pod)),
    )
    world.state(Known).claims[name] = claim
    world.alias(name, claim)


@given('pod "{pod}" has its claim "{name}" for entry "{entry}"')
def _(world: World, pod: str, name: str, entry: str) -> None:
    """Wait until the pod's status names a claim for this entry, and later steps refer to the claim by this name."""

    def named() -> str:
        return next((str(one.get("resourceClaimName")) for one in recorded(world, pod) if one.get("name") == entry), "")

    world.require(
        f"the status of pod {pod} has its claim for {entry}",
        lambda: (named() in [name_of(claim) for claim in claims_made_for(world, pod)], recorded(world, pod)),
    )
    world.state(Known).claims[name] = named()
    world.alias(name, named())


@then('the status of pod "{pod}" names its claim as "{entry}"')
def _(world: World, pod: str, entry: str) -> None:
    """`resourceClaimStatuses` comes to have the pod's only claim under this name, and no other entry."""

    def look() -> Seen[str]:
        claims, entries = claims_made_for(world, pod), recorded(world, pod)
        wanted = [{"name": entry, "resourceClaimName": name_of(claim)} for claim in claims]
        made = in_words([name_of(claim) for claim in claims])
        return len(claims) == 1 and entries == wanted, f"{in_words(entries)}, for claim {made}"

    world.eventually(f"the claim of {pod} is recorded", look, expected=f"({entry}, with the name of the only claim)")


@then('pod "{pod}" keeps one claim')
def _(world: World, pod: str) -> None:
    """The pod controls exactly one claim once the system is idle."""
    world.stays(f"pod {pod} has one claim", lambda: one(claims_made_for(world, pod)), expected="one claim")


@then('pod "{pod}" has no claim')
def _(world: World, pod: str) -> None:
    """The pod controls no claim once the system is idle."""

    def look() -> Seen[list[Any]]:
        found = claims_made_for(world, pod)
        return not found, [name_of(claim) for claim in found]

    world.stays(f"pod {pod} has no claim", look, expected=[])


@when('the entry "{entry}" is removed from the claim statuses of pod "{pod}"')
def _(world: World, entry: str, pod: str) -> None:
    """Remove one entry of `resourceClaimStatuses`, as a client with an outdated copy of the pod does."""

    def change(obj: Obj) -> None:
        status = obj.setdefault("status", {})
        status["resourceClaimStatuses"] = [
            one for one in status.get("resourceClaimStatuses") or () if one["name"] != entry
        ]

    updated = world.update(PODS, pod, change, subresource="status")
    world.state(Removals).versions[pod] = updated["metadata"]["resourceVersion"]


@then('the status of pod "{pod}" has the entry "{entry}" again, and no version without the entry "{kept}"')
def _(world: World, pod: str, entry: str, kept: str) -> None:
    """The removed entry comes back, and all versions of the pod since the removal have the other entry."""

    def names(obj: Obj) -> list[str]:
        statuses = (obj.get("status") or {}).get("resourceClaimStatuses") or ()
        return [one["name"] for one in statuses if one.get("resourceClaimName")]

    def look() -> Seen[str]:
        found = names(world.seen(PODS, pod) or {})
        return entry in found, in_words(found)

    world.eventually(f"entry {entry} of pod {pod} is recorded again", look, expected=f"{entry}, among others")
    last = world.client.get(PODS, pod, world.namespace)["metadata"]["resourceVersion"]
    versions: list[list[str]] = []
    with world.client.watch(
        PODS,
        world.namespace,
        resource_version=world.state(Removals).versions[pod],
        field_selector=f"metadata.name={pod}",
        timeout_seconds=_WATCH_SECONDS,
    ) as watch:
        for event in watch:
            if event.type == "MODIFIED":
                versions.append(names(event.object))
                if event.object["metadata"]["resourceVersion"] == last:
                    break
        else:
            raise Untestable(f"the watch of pod {pod} ended before its last version")
    without = [version for version in versions if kept not in version]
    world.check(not without, f"entries of the versions of pod {pod} without {kept}", expected=[], observed=without)
