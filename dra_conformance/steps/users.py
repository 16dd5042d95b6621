"""Other users than the harness: what they may do, and what they write. They are impersonated, and have no passwords.

Roles are the scenario's own and end with it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from dra_api.client import KubeClient
from dra_api.objects import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    RESOURCE_SLICES,
    Obj,
    Resource,
    name_of,
    namespace_of,
)
from dra_api.transport import Transport, WithHeaders
from dra_conformance.core import manifests
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, when, words
from dra_conformance.engine.world import World
from dra_conformance.steps.claim_status import with_field
from dra_conformance.steps.objects import attempt, draft

REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
NODE_NAME = "authentication.kubernetes.io/node-name"


class Impersonating(WithHeaders):
    """A transport that speaks as somebody else; the one below stays its owner's."""

    def __init__(self, below: Transport, headers: Mapping[str, str]) -> None:
        super().__init__(below, lambda given: {**given, **headers})

    def close(self) -> None:
        """Nothing of its own is open, and the one below stays."""


def user_name(world: World, user: str) -> str:
    """The name under which a user of the scenario is known to the API server."""
    return str(world.memory.get(f"name of {user}") or world.name(user))


def client_of(world: World, user: str) -> KubeClient:
    """A client that speaks as a user of the scenario."""
    headers = {"Impersonate-User": user_name(world, user)}
    if node := world.memory.get(f"node of {user}"):
        headers[f"Impersonate-Extra-{NODE_NAME.replace('/', '%2f')}"] = str(node)
    if group := world.memory.get(f"group of {user}"):
        headers["Impersonate-Group"] = str(group)
    return KubeClient(Impersonating(world.run.component_transport("user"), headers), user_agent="dra-conformance-user")


@given('user "{user}" is a service account of a pod on node "{node}"')
def _(world: World, user: str, node: str) -> None:
    """Let a user be a service account of the scenario's namespace whose token is bound to a pod on a node."""
    world.memory[f"name of {user}"] = f"system:serviceaccount:{world.namespace}:{user}"
    world.memory[f"node of {user}"] = world.name(node)


@given('user "{user}" is node "{node}"')
def _(world: World, user: str, node: str) -> None:
    """Let a user be the identity of a node's kubelet."""
    world.memory[f"name of {user}"] = f"system:node:{world.name(node)}"
    world.memory[f"group of {user}"] = "system:nodes"


@given('user "{user}" may "{verbs}" {resource:word}')
def _(world: World, user: str, verbs: str, resource: str) -> None:
    """Let a user do something with a resource of resource.k8s.io (with or without subresource) in the whole cluster."""
    allow(world, user, verbs, resource, "")


@given('user "{user}" may "{verbs}" {resource:word} named "{name}"')
def _(world: World, user: str, verbs: str, resource: str, name: str) -> None:
    """The same for objects of one name."""
    allow(world, user, verbs, resource, name)


def allow(world: World, user: str, verbs: str, resource: str, name: str) -> None:
    """Make a role for a user, and wait until the API server honours it."""
    allowed = words(verbs)
    count = int(world.memory.get("roles", 0)) + 1
    world.memory["roles"] = count
    role = world.name(f"role-{count}")
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
            "subjects": [{"apiGroup": CLUSTER_ROLES.group, "kind": "User", "name": user_name(world, user)}],
        }
    )
    if not _comes_to_be_allowed(world, user, allowed[0], resource, name):
        raise Untestable(f"the API server does not let {user} {allowed[0]} {resource}, although a role says so")


def _comes_to_be_allowed(world: World, user: str, verb: str, resource: str, name: str) -> bool:
    """Wait until the API server would let a user do something, at most the run's patience: whether it comes so far."""
    plural, _, subresource = resource.partition("/")
    asked = {
        "group": "resource.k8s.io",
        "resource": plural,
        "subresource": subresource,
        "name": name,
        "verb": verb,
    }
    groups = [world.memory[f"group of {user}"]] if f"group of {user}" in world.memory else []
    review = {
        "apiVersion": REVIEWS.api_version,
        "kind": REVIEWS.kind,
        "spec": {"user": user_name(world, user), "groups": groups, "resourceAttributes": asked},
    }
    deadline = world.log.clock.monotonic() + world.run.patience
    while not (world.client.create(REVIEWS, review).get("status") or {}).get("allowed"):
        if world.log.clock.monotonic() > deadline:
            return False
        world.log.clock.wait(threading.Event(), 0.05)
    return True


@given('the API server had the time to learn that it is of user "{user}"')
def _(world: World, user: str) -> None:
    """Wait until a node may delete the object, at most the run's patience: an authorizer knows objects by a watch."""
    obj = draft(world)
    _comes_to_be_allowed(world, user, "delete", manifests.resource_of(obj).plural, name_of(obj))


@when('user "{user}" updates its status "{path}" to {value}')
def _(world: World, user: str, path: str, value: str) -> None:
    """Change one field of the object through the status subresource, as another user."""
    changed = with_field(world, path, manifests.parse_value(world.text(value)))
    resource = manifests.resource_of(changed)
    attempt(world, lambda: client_of(world, user).update(resource, changed, subresource="status"))


@when('user "{user}" creates it')
def _(world: World, user: str) -> None:
    """Send the manifest to the API server as another user."""
    obj = draft(world)
    resource = manifests.resource_of(obj)
    world.track(resource, name_of(obj), namespace_of(obj))
    attempt(world, lambda: client_of(world, user).create(resource, obj))


@when('user "{user}" deletes it')
def _(world: World, user: str) -> None:
    """Delete the created object as another user."""
    obj = draft(world)
    resource = manifests.resource_of(obj)
    attempt(world, lambda: client_of(world, user).delete(resource, name_of(obj), namespace_of(obj) or None))


@when('user "{user}" lists ResourceSlices of "{fields}"')
def _(world: World, user: str, fields: str) -> None:
    """List slices with a field selector, which may be empty."""
    selector = world.text(fields)
    attempt(world, lambda: {"items": client_of(world, user).list(RESOURCE_SLICES, field_selector=selector).items})


@when('user "{user}" watches ResourceSlices of "{fields}"')
def _(world: World, user: str, fields: str) -> None:
    """Open a watch on slices with a field selector, which may be empty, and close it."""
    selector = world.text(fields)

    def watch() -> Obj:
        with client_of(world, user).watch(RESOURCE_SLICES, field_selector=selector, timeout_seconds=1):
            return {}

    attempt(world, watch)
