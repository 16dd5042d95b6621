"""Deletions: dry runs of them, and what becomes of the dependents of a deleted ResourceClaim."""

from __future__ import annotations

from dra_api.objects import RESOURCE_CLAIMS, Obj, name_of, uid_of
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, when, words
from dra_conformance.engine.world import World
from dra_conformance.steps.objects import attempt, draft

_DRY_RUN = [("dryRun", "All")]


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
