"""Users with permissions of their own: what the API server accepts from them. The harness impersonates them.

Their roles are deleted when the scenario ends.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from dra_api.client import KubeClient
from dra_api.objects import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    SERVICE_ACCOUNTS,
    Obj,
    Resource,
    name_of,
    namespace_of,
)
from dra_api.transport import HttpTransport, Transport, WithHeaders
from dra_conformance.control_plane import service_account
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import World
from dra_conformance.steps.objects import attempt, draft, mapping_of, value_of, with_field

REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
_IMPERSONATES = "{verb: impersonate, resource: users, name: guest}"
NODE_NAME = "authentication.kubernetes.io/node-name"


@dataclass
class User:
    """A user of the scenario: its name at the API server, its group, and the node to which its token is bound."""

    name: str
    group: str = ""
    node: str = ""
    connection: Transport | None = None
    """The connection of a user that authenticates itself; None: the harness impersonates it."""


@dataclass
class Users:
    """The users that a scenario names, and the number of roles that it has created."""

    known: dict[str, User] = field(default_factory=dict)
    roles: int = 0


class Impersonating(WithHeaders):
    """A transport that impersonates a user; the transport below is not closed with it."""

    def __init__(self, below: Transport, headers: Mapping[str, str]) -> None:
        super().__init__(below, lambda given: {**given, **headers})

    def close(self) -> None:
        """Do nothing: the transport below belongs to its owner."""


def user_called(world: World, user: str) -> User:
    """Return a user of the scenario; one that no step describes has a name of its own and no group."""
    return world.state(Users).known.setdefault(user, User(world.name(user)))


def client_of(world: World, user: str) -> KubeClient:
    """Return a client that impersonates a user of the scenario."""
    who = user_called(world, user)
    if who.connection is not None:
        return KubeClient(who.connection, user_agent="dra-conformance-user")
    headers = {"Impersonate-User": who.name}
    # Header names cannot have a slash: Kubernetes decodes %2f in the names of extra fields.
    if who.node:
        headers[f"Impersonate-Extra-{NODE_NAME.replace('/', '%2f')}"] = who.node
    if who.group:
        headers["Impersonate-Group"] = who.group
    return KubeClient(Impersonating(world.run.component_transport("user"), headers), user_agent="dra-conformance-user")


@given('user "{user}" is a service account of a pod on node "{node}"')
def _(world: World, user: str, node: str) -> None:
    """Let a user be a service account of the scenario's namespace whose token is bound to a pod on a node."""
    name = f"system:serviceaccount:{world.namespace}:{user}"
    world.state(Users).known[user] = User(name, node=world.name(node))


@given('user "{user}" is node "{node}"')
def _(world: World, user: str, node: str) -> None:
    """Let a user be the identity of a node's kubelet."""
    world.state(Users).known[user] = User(f"system:node:{world.name(node)}", group="system:nodes")


@given('user "{user}" authenticates itself, and has the rules of the manifest "{manifest}"')
def _(world: World, user: str, manifest: str) -> None:
    """Let a user be a service account with a token; the manifest has a ClusterRole, whose binding is created here."""
    account = world.name(user)
    role = world.create(world.manifest(manifest))
    world.create(
        {
            "apiVersion": CLUSTER_ROLE_BINDINGS.api_version,
            "kind": CLUSTER_ROLE_BINDINGS.kind,
            "metadata": {"name": account},
            "roleRef": {"apiGroup": CLUSTER_ROLES.group, "kind": CLUSTER_ROLES.kind, "name": name_of(role)},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": service_account.NAMESPACE}],
        }
    )
    world.track(SERVICE_ACCOUNTS, account, service_account.NAMESPACE)
    folder = Path(world.cleanup.enter_context(tempfile.TemporaryDirectory(prefix="dra-user-")))
    path = folder / "kubeconfig"
    service_account.write_kubeconfig(world.client, world.run.kubeconfig, path, name=account)
    connection = HttpTransport.from_kubeconfig(path)
    world.cleanup.callback(connection.close)
    world.state(Users).known[user] = User(service_account.user_of(account), connection=connection)
    review = {"user": service_account.user_of(account), "resourceAttributes": mapping_of(world, _IMPERSONATES)}
    if not comes_to_be_allowed(world, {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind, "spec": review}):
        raise Untestable(f"the API server does not allow {user} to impersonate users, although a role grants it")


@when('user "{user}" impersonates {who} and requests who it is')
def _(world: World, user: str, who: str) -> None:
    """Create a SelfSubjectReview with Impersonate-* headers: `user`, `uid`, `group` and values of `extra` by key."""
    fields = mapping_of(world, who)
    headers = {f"Impersonate-{key.title()}": str(value) for key, value in fields.items() if key != "extra"}
    headers |= {f"Impersonate-Extra-{key}": str(value) for key, value in (fields.get("extra") or {}).items()}
    connection = user_called(world, user).connection
    if connection is None:
        raise SpecificationError(f"{world.scenario.where}: {user} does not authenticate itself")
    client = KubeClient(Impersonating(connection, headers), user_agent="dra-conformance-user")
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    attempt(world, lambda: client.raw("POST", path, body=orjson.dumps(review)))


@given('user "{user}" may "{verbs}" {resource:word}')
def _(world: World, user: str, verbs: str, resource: str) -> None:
    """Grant a user verbs on a resource of resource.k8s.io (with or without subresource) in the whole cluster."""
    allow(world, user, verbs, resource, "")


@given('user "{user}" may "{verbs}" {resource:word} named "{name}"')
def _(world: World, user: str, verbs: str, resource: str, name: str) -> None:
    """Grant a user verbs on the objects of one name."""
    allow(world, user, verbs, resource, name)


def allow(world: World, user: str, verbs: str, resource: str, name: str) -> None:
    """Create a role for a user, and wait until the API server's authorizer has received it."""
    allowed = words(verbs)
    users = world.state(Users)
    users.roles += 1
    role = world.name(f"role-{users.roles}")
    rule = {"apiGroups": ["resource.k8s.io"], "resources": [resource], "verbs": allowed}
    world.create(
        {
            "apiVersion": CLUSTER_ROLES.api_version,
            "kind": CLUSTER_ROLES.kind,
            "metadata": {"name": role},
            "rules": [{**rule, **({"resourceNames": [name]} if name else {})}],
        }
    )
    world.create(
        {
            "apiVersion": CLUSTER_ROLE_BINDINGS.api_version,
            "kind": CLUSTER_ROLE_BINDINGS.kind,
            "metadata": {"name": role},
            "roleRef": {"apiGroup": CLUSTER_ROLES.group, "kind": CLUSTER_ROLES.kind, "name": role},
            "subjects": [{"apiGroup": CLUSTER_ROLES.group, "kind": "User", "name": user_called(world, user).name}],
        }
    )
    if not _comes_to_be_allowed(world, user, allowed[0], resource, name):
        raise Untestable(f"the API server does not allow {user} to {allowed[0]} {resource}, although a role grants it")


def _comes_to_be_allowed(world: World, user: str, verb: str, resource: str, name: str, *, namespace: str = "") -> bool:
    """Wait until a SubjectAccessReview allows a request, at most for the run's patience, and return whether it does."""
    plural, _, subresource = resource.partition("/")
    attributes = {
        "group": "resource.k8s.io",
        "resource": plural,
        "subresource": subresource,
        "name": name,
        "verb": verb,
        **({"namespace": namespace} if namespace else {}),
    }
    who = user_called(world, user)
    review = {
        "apiVersion": REVIEWS.api_version,
        "kind": REVIEWS.kind,
        "spec": {"user": who.name, "groups": [who.group] if who.group else [], "resourceAttributes": attributes},
    }
    return comes_to_be_allowed(world, review)


def comes_to_be_allowed(world: World, review: Obj) -> bool:
    """Create a SubjectAccessReview until it is allowed, at most for the run's patience; return whether it is."""
    # Polled: nothing reports when the authorizer has received a role.
    return world.poll(lambda: bool((world.client.create(REVIEWS, review).get("status") or {}).get("allowed")))


@then('user "{user}" may get the ResourceClaim "{claim}"')
def _(world: World, user: str, claim: str) -> None:
    """The API server comes to allow the user to get a claim of this name, whether there is one or not."""
    allowed = _comes_to_be_allowed(world, user, "get", RESOURCE_CLAIMS.plural, claim, namespace=world.namespace)
    world.check(
        allowed, f"{user} may get {claim}", expected="allowed", observed="allowed" if allowed else "not allowed"
    )


@given('the authorizer knows that it belongs to user "{user}"')
def _(world: World, user: str) -> None:
    """Wait until a node may delete the object, at most for the run's patience: the node authorizer uses a watch."""
    obj = draft(world)
    _comes_to_be_allowed(world, user, "delete", manifests.resource_of(obj).plural, name_of(obj))


@when('user "{user}" updates its status "{path}" to {value}')
def _(world: World, user: str, path: str, value: str) -> None:
    """Change one field of the object through the status subresource, as another user."""
    changed = with_field(world, path, value_of(world, value))
    resource = manifests.resource_of(changed)
    attempt(world, lambda: client_of(world, user).update(resource, changed, subresource="status"))


@when('user "{user}" patches its status with {fields}')
def _(world: World, user: str, fields: str) -> None:
    """Send a merge patch with these fields of the status to the subresource status, as another user."""
    obj = draft(world)
    resource, patch = manifests.resource_of(obj), {"status": mapping_of(world, fields)}
    client = client_of(world, user)
    attempt(world, lambda: client.patch(resource, name_of(obj), patch, namespace_of(obj) or None, subresource="status"))


@when('user "{user}" {verb:word} it')
def _(world: World, user: str, verb: str) -> None:
    """Create or apply the manifest, or delete the created object, as another user: `creates`, `applies`, `deletes`."""
    obj, client = draft(world), client_of(world, user)
    resource = manifests.resource_of(obj)
    if verb == "creates":
        # Before the request: the object is deleted even if the response is lost.
        world.track(resource, name_of(obj), namespace_of(obj))
        attempt(world, lambda: client.create(resource, obj))
    elif verb == "applies":
        world.track(resource, name_of(obj), namespace_of(obj))
        _apply(world, client, obj, user)
    elif verb == "deletes":
        attempt(world, lambda: client.delete(resource, name_of(obj), namespace_of(obj) or None))
    else:
        raise SpecificationError(f"a user creates, applies or deletes an object; {verb!r} is none of these")


def _apply(world: World, client: KubeClient, obj: Obj, manager: str) -> None:
    """Apply name, spec and a label of an object, which may exist."""
    resource = manifests.resource_of(obj)
    meta = {"name": name_of(obj), "namespace": world.namespace, "labels": {"applied": "yes"}}
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, "spec": obj["spec"]}
    attempt(
        world,
        lambda: client.patch(resource, name_of(obj), body, world.namespace, kind="apply", field_manager=manager),
    )


@when('user "{user}" {verb:word} ResourceSlices of "{fields}"')
def _(world: World, user: str, verb: str, fields: str) -> None:
    """List, watch or delete slices with a field selector, which may be empty: `lists`, `watches` or `deletes`."""
    selector, client = world.text(fields), client_of(world, user)

    def watch() -> Obj:
        with client.watch(RESOURCE_SLICES, field_selector=selector, timeout_seconds=1):
            return {}

    if verb == "lists":
        attempt(world, lambda: {"items": client.list(RESOURCE_SLICES, field_selector=selector).items})
    elif verb == "watches":
        attempt(world, watch)
    elif verb == "deletes":
        attempt(world, lambda: client.delete_collection(RESOURCE_SLICES, field_selector=selector))
    else:
        raise SpecificationError(f"a user lists, watches or deletes ResourceSlices; {verb!r} is none of these")
