"""Writes that the API server completes or refuses for every kind: their namespace, name and options, and owners.

`it` is the object that the scenario created last (`dra_conformance.steps.objects`).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from urllib.parse import parse_qsl

import orjson

from dra_api import versions
from dra_api.client import InvalidAnswer
from dra_api.objects import DEVICE_CLASSES, LEASES, NAMESPACES, RESOURCE_CLAIMS, Obj, Resource, name_of, uid_of
from dra_conformance.core import manifests
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.objects import Requests, attempt, draft
from dra_conformance.steps.pods import create_other_namespace, other_namespace

_FINALIZER = "example.com/kept"
_EMPTIED_S = 60
"""kube-controller-manager begins five seconds after the deletion, and looks again after up to fifteen."""

Query = Sequence[tuple[str, str]]


def _send(world: World, method: str, path: str, body: Obj | None, query: Query = ()) -> None:
    data = None if body is None else orjson.dumps(body)
    attempt(world, lambda: world.client.raw(method, path, query=query, body=data))


def _path(world: World, resource: Resource, *, namespace: str = "", name: str = "") -> str:
    return world.client.wire(resource).path(namespace or world.namespace, name or None)


def _post(world: World, obj: Obj, *, namespace: str = "", query: Query = ()) -> None:
    """Send an object to the path of a namespace, by default the scenario's; v1 objects in the served version."""
    resource = manifests.resource_of(obj)
    wire = world.client.wire(resource)
    body = obj if wire == resource else versions.from_v1(resource.kind, obj, wire.version)
    _send(world, "POST", wire.path(namespace or world.namespace), body, query)


def _query(world: World, text: str) -> Query:
    return parse_qsl(world.text(text), strict_parsing=True)


# -- namespaces and names ----------------------------------------------------------------------------------------------


@when("it is created with a request for another namespace")
def _(world: World) -> None:
    """Send the object to the path of the scenario's second namespace; its metadata have the first one."""
    obj = copy.deepcopy(draft(world))
    obj["metadata"]["namespace"] = world.namespace
    _post(world, obj, namespace=create_other_namespace(world))


@when("it is created in a namespace that does not exist")
def _(world: World) -> None:
    """Send the object to the path of a namespace that was never created."""
    obj = _in_missing_namespace(world)
    _post(world, obj, namespace=obj["metadata"]["namespace"])


@when("a dry run creates it in a namespace that does not exist")
def _(world: World) -> None:
    """Send the object with `dryRun=All` to the path of a namespace that was never created."""
    obj = _in_missing_namespace(world)
    attempt(world, lambda: world.client.create(manifests.resource_of(obj), obj, dry_run=True))


def _in_missing_namespace(world: World) -> Obj:
    obj = copy.deepcopy(draft(world))
    obj["metadata"]["namespace"] = f"{world.namespace}-missing"
    return obj


@given(
    "another namespace is being deleted, in which a finalizer keeps the ResourceClaim {kept:word} and none {free:word}"
)
def _(world: World, kept: str, free: str) -> None:
    """Create a namespace with two claims, and delete it."""
    namespace = create_other_namespace(world)
    for name, finalizers in ((kept, [_FINALIZER]), (free, [])):
        obj = world.manifest("claims/claim")
        obj["metadata"] = {"name": name, "namespace": namespace, "finalizers": finalizers}
        world.create(obj)
    world.client.delete(NAMESPACES, namespace)


@when("it is created in the namespace that is being deleted")
def _(world: World) -> None:
    """Send the object to the scenario's second namespace."""
    _create_elsewhere(world, dry_run=False)


@when("a dry run creates it in the namespace that is being deleted")
def _(world: World) -> None:
    """Send the object with `dryRun=All` to the scenario's second namespace."""
    _create_elsewhere(world, dry_run=True)


def _create_elsewhere(world: World, *, dry_run: bool) -> None:
    obj = copy.deepcopy(draft(world))
    obj["metadata"]["namespace"] = other_namespace(world)
    attempt(world, lambda: world.client.create(manifests.resource_of(obj), obj, dry_run=dry_run))


@then("of the namespace that is being deleted only the ResourceClaim {kept:word} is left")
def _(world: World, kept: str) -> None:
    """All claims of the namespace but this one come to be deleted; it and the namespace stay."""
    namespace = other_namespace(world)

    wanted = [kept, "the namespace"]

    def left() -> list[str]:
        claims = sorted(map(name_of, world.client.list(RESOURCE_CLAIMS, namespace).items))
        return [*claims, *(["the namespace"] if world.client.find(NAMESPACES, namespace) is not None else [])]

    # Polled, as below: the harness does not watch other namespaces.
    world.poll(lambda: left() == wanted, _EMPTIED_S)
    seen = left()
    world.check(seen == wanted, "the namespace is emptied as far as finalizers allow", expected=wanted, observed=seen)


@then("the namespace goes with the finalizer of the ResourceClaim {kept:word}")
def _(world: World, kept: str) -> None:
    """When the finalizer is removed, the claim and its namespace come to be deleted."""
    namespace = other_namespace(world)
    world.client.patch(RESOURCE_CLAIMS, kept, {"metadata": {"finalizers": None}}, namespace)
    gone = world.poll(lambda: world.client.find(NAMESPACES, namespace) is None, _EMPTIED_S)
    world.check(gone, "the namespace is deleted", expected="gone", observed="gone" if gone else "there")


@when('it is updated under the name "{name}"')
def _(world: World, name: str) -> None:
    """Send the stored object to the path of another object, which exists."""
    obj = draft(world)
    resource = manifests.resource_of(obj)
    other = copy.deepcopy(obj)
    other["metadata"] = {"name": name, "namespace": world.namespace}
    world.create(other)
    changed = copy.deepcopy(obj)
    changed["metadata"] |= {"labels": {"changed": "yes"}}
    del changed["metadata"]["resourceVersion"]
    _send(world, "PUT", _path(world, resource, name=name), changed)


# -- options -----------------------------------------------------------------------------------------------------------


@when('it is created with the options "{query}"')
def _(world: World, query: str) -> None:
    """Create the object with options in the query, such as `dryRun=All`."""
    _post(world, draft(world), query=_query(world, query))


@when("it is created by a field manager of {length:d} characters")
def _(world: World, length: int) -> None:
    """Create the object with the option `fieldManager`, of letters."""
    _post(world, draft(world), query=[("fieldManager", "m" * length)])


@when('it is deleted with the options "{query}"')
def _(world: World, query: str) -> None:
    """Delete the object with options in the query and without a body."""
    obj = draft(world)
    _send(world, "DELETE", _path(world, manifests.resource_of(obj), name=name_of(obj)), None, _query(world, query))


@when('the ResourceClaim "{name}" is deleted with the options "{query}"')
def _(world: World, name: str, query: str) -> None:
    """Delete a claim with options in the query and without a body."""
    _send(world, "DELETE", _path(world, RESOURCE_CLAIMS, name=name), None, _query(world, query))
    world.settle()


def _request(world: World, query: Query) -> None:
    """List or watch the claims of the namespace with options; a watch that is accepted counts as an empty object."""

    def get() -> Obj:
        try:
            return world.client.raw("GET", _path(world, RESOURCE_CLAIMS), query=query)
        except InvalidAnswer:  # the stream of a watch
            return {}

    attempt(world, get)


@when('the ResourceClaims are requested with the options "{query}"')
def _(world: World, query: str) -> None:
    """List the claims with options in the query, or watch them with `watch=true`."""
    _request(world, _query(world, query))


@when('the second page of the ResourceClaims is requested with the options "{query}"')
def _(world: World, query: str) -> None:
    """List the claims with a limit of 1, and continue the list with further options."""
    first = world.client.raw("GET", _path(world, RESOURCE_CLAIMS), query=[("limit", "1")])
    token = str(first["metadata"].get("continue") or "")
    if not token:
        raise Untestable("the API server returns all objects in the first page")
    _request(world, [("limit", "1"), ("continue", token), *_query(world, query)])


@given("a Lease")
def _(world: World) -> None:
    """Create a Lease and work on it."""
    metadata = {"name": "subject", "namespace": world.namespace}
    lease = {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": metadata,
        "spec": {"holderIdentity": "a"},
    }
    world.state(Requests).draft = world.create(lease)


@when("it is sent in an update again")
def _(world: World) -> None:
    """Update the object as it was created, without uid and resourceVersion."""
    obj = copy.deepcopy(draft(world))
    for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
        obj["metadata"].pop(field, None)
    attempt(world, lambda: world.client.update(manifests.resource_of(obj), obj))


@then("it is another object than the deleted one")
def _(world: World) -> None:
    """The response of the last request has another uid than the object that the scenario created."""
    answer = world.state(Requests).answer or {"metadata": {}}
    former, seen = uid_of(draft(world)), answer["metadata"].get("uid")
    world.check(bool(seen) and seen != former, "the object is a new one", expected=f"not {former}", observed=seen)


@when('a dry run deletes the namespace "{name}"')
def _(world: World, name: str) -> None:
    """Delete a namespace of the control plane with `dryRun=All`, so that it stays in any case."""
    attempt(world, lambda: world.client.delete(NAMESPACES, name, dry_run=True))


@when("it is updated without a resourceVersion")
def _(world: World) -> None:
    """Add a label, and leave out metadata.resourceVersion."""
    obj = copy.deepcopy(draft(world))
    obj["metadata"]["labels"] = {"changed": "yes"}
    del obj["metadata"]["resourceVersion"]
    attempt(world, lambda: world.client.update(manifests.resource_of(obj), obj))


# -- owners ------------------------------------------------------------------------------------------------------------


def _own(world: World, owner: Obj, resource: Resource) -> None:
    reference = {"apiVersion": resource.api_version, "kind": resource.kind, "name": name_of(owner)}
    draft(world)["metadata"]["ownerReferences"] = [{**reference, "uid": uid_of(owner)}]


@given("it is owned by a DeviceClass")
def _(world: World) -> None:
    """Create a class, which has no namespace, and make it the owner of the manifest."""
    _own(world, world.create(world.manifest("claims/class")), DEVICE_CLASSES)


@given("it is owned by a ResourceClaim of another namespace")
def _(world: World) -> None:
    """Create a claim in the scenario's second namespace and make it the owner of the manifest."""
    obj = world.manifest("claims/claim")
    obj["metadata"] = {"name": "owner", "namespace": create_other_namespace(world)}
    _own(world, world.create(obj), RESOURCE_CLAIMS)


@then("it stays")
def _(world: World) -> None:
    """The object exists, and still does after some time."""
    obj = draft(world)

    def look() -> Seen[str]:
        there = world.seen(manifests.resource_of(obj), name_of(obj)) is not None
        return there, "there" if there else "gone"

    world.stays("the object stays", look, expected="there")


@when("its DeviceClass is deleted")
def _(world: World) -> None:
    """Delete the class that owns the object."""
    world.client.delete(DEVICE_CLASSES, str(draft(world)["metadata"]["ownerReferences"][0]["name"]))
