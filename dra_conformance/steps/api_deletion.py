"""Deletions: dry runs of them, and what becomes of the dependents of a deleted ResourceClaim."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from dra_api.objects import RESOURCE_CLAIMS, Obj, name_of, uid_of
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import World
from dra_conformance.steps.objects import attempt, draft

_DRY_RUN = [("dryRun", "All")]
_CLOCK_SLACK = timedelta(minutes=1)


@dataclass
class Ends:
    """The deletionTimestamp of the object after its first deletion."""

    first: datetime | None = None


def _reference(owner: Obj, *, blocks: bool) -> Obj:
    return {
        "apiVersion": RESOURCE_CLAIMS.api_version,
        "kind": RESOURCE_CLAIMS.kind,
        "name": name_of(owner),
        "uid": uid_of(owner),
        "blockOwnerDeletion": blocks,
    }


@given("ResourceClaims with owners:")
def _(world: World, datatable: list[list[str]]) -> None:
    """Create claims that other claims own.

    Columns: name; owners; blocks, yes or no: whether the references have blockOwnerDeletion; finalizer, or nothing.
    """
    for name, owners, blocks, finalizer in datatable[1:]:
        obj = world.manifest("claims/claim")
        several = [world.get(RESOURCE_CLAIMS, owner) for owner in words(owners)]
        obj["metadata"] |= {
            "name": name,
            "ownerReferences": [_reference(owner, blocks=blocks == "yes") for owner in several],
            "finalizers": [finalizer] if finalizer else [],
        }
        world.create(obj)


@when('the ResourceClaim "{name}" is deleted with the propagation policy {policy:word}')
def _(world: World, name: str, policy: str) -> None:
    """Delete a claim with the policy Foreground, Background or Orphan."""
    world.client.delete(RESOURCE_CLAIMS, name, world.namespace, propagation_policy=policy)
    world.settle()


@when("it is deleted with a grace period of {seconds:d} s")
def _(world: World, seconds: int) -> None:
    """Delete the object with `gracePeriodSeconds`."""
    obj, client = draft(world), world.client
    resource = manifests.resource_of(obj)
    attempt(world, lambda: client.delete(resource, name_of(obj), world.namespace, grace_period_seconds=seconds))


def _due(world: World) -> datetime | None:
    """Return the deletionTimestamp of the stored object; None if it has none or is gone."""
    obj = draft(world)
    found = world.client.find(manifests.resource_of(obj), name_of(obj), world.namespace)
    text = found["metadata"].get("deletionTimestamp") if found is not None else None
    return datetime.fromisoformat(text) if text else None


@then("its deletion is due in {seconds:d} s")
def _(world: World, seconds: int) -> None:
    """The deletionTimestamp of the stored object is so far in the future, give or take a minute."""
    due, wanted = _due(world), world.clock.now() + timedelta(seconds=seconds)
    ends = world.state(Ends)
    ends.first = ends.first or due
    met = due is not None and abs(due - wanted) <= _CLOCK_SLACK
    world.check(met, "the end of the grace period", expected=f"about {wanted:%FT%T}", observed=str(due))


@then("its deletion is due {seconds:d} s earlier than at first")
def _(world: World, seconds: int) -> None:
    """The deletionTimestamp of the stored object has moved by exactly so much since a step first compared it."""
    due, first = _due(world), world.state(Ends).first
    wanted = None if first is None else first - timedelta(seconds=seconds)
    world.check(
        due is not None and due == wanted, "the end of the grace period", expected=str(wanted), observed=str(due)
    )


@when("a dry run in the query deletes it")
def _(world: World) -> None:
    """Delete the object with `?dryRun=All` and without a body, as `kubectl delete --raw` does."""
    obj, client = draft(world), world.client
    path = client.wire(manifests.resource_of(obj)).path(world.namespace, name_of(obj))
    attempt(world, lambda: client.raw("DELETE", path, query=_DRY_RUN))


@when("a dry run deletes the collection of ResourceClaims")
def _(world: World) -> None:
    """Delete all claims of the namespace with `?dryRun=All`."""
    client = world.client
    path = client.wire(RESOURCE_CLAIMS).path(world.namespace)
    attempt(world, lambda: client.raw("DELETE", path, query=_DRY_RUN))
