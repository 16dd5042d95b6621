"""Requests of any method and path: those that do not fit the API, and the forms of a body.

`it` is the object that the scenario created last (`dra_conformance.steps.objects`).
"""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import parse_qsl

import orjson

from dra_api.client import KubeClient, NotFound, error_from
from dra_api.objects import Obj, name_of
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import World
from dra_conformance.steps.objects import attempt, draft, value_of
from dra_conformance.steps.users import client_of

_PATCH = "application/merge-patch+json"
_PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"
"""The first bytes of an object in Kubernetes' protobuf form."""


def _send(
    world: World,
    client: KubeClient,
    method: str,
    path: str,
    *,
    body: bytes | None = None,
    content_type: str = "",
    accept: str = "",
) -> None:
    """Send a request; the path may have a query."""
    bare, _, query = world.text(path).partition("?")
    kind = content_type or (_PATCH if method == "PATCH" else "application/json")

    def request() -> Obj:
        return client.raw(method, bare, query=parse_qsl(query), body=body, content_type=kind, accept=accept)

    attempt(world, request)


def _json(world: World, body: str) -> bytes | None:
    found = value_of(world, body)
    return None if found is None else orjson.dumps(found)


@when('a {method:word} request is sent to "{path}" with the body {body}')
def _(world: World, method: str, path: str, body: str) -> None:
    """Send a request with a body in JSON, here YAML, or none (`null`); a PATCH is a merge patch."""
    _send(world, world.client, method, path, body=_json(world, body))


@when('a {method:word} request of type "{kind}" is sent to "{path}" with the text "{text}"')
def _(world: World, method: str, kind: str, path: str, text: str) -> None:
    """Send a request with this media type and text; single quotes stand for double ones."""
    raw = world.text(text).replace("'", '"').encode()
    _send(world, world.client, method, path, body=raw, content_type=kind)


@when('a {method:word} request that accepts "{accept}" is sent to "{path}"')
def _(world: World, method: str, accept: str, path: str) -> None:
    """Send a request without a body whose response may have this media type only."""
    _send(world, world.client, method, path, accept=accept)


@when('user "{user}" sends a {method:word} request to "{path}" with the body {body}')
def _(world: World, user: str, method: str, path: str, body: str) -> None:
    """Send a request as another user, with a body in JSON, here YAML, or none (`null`); a PATCH is a merge patch."""
    _send(world, client_of(world, user), method, path, body=_json(world, body))


@then('the object at "{path}" comes to be marked for deletion')
def _(world: World, path: str) -> None:
    """A GET of this path comes to return an object with a deletionTimestamp, which is there until then."""
    seen = "not marked"

    def marked() -> bool:
        nonlocal seen
        try:
            found = world.client.raw("GET", world.text(path))
        except NotFound:
            seen = "missing"
            return True
        seen = "marked" if found["metadata"].get("deletionTimestamp") else "not marked"
        return seen == "marked"

    # Polled: the suite watches no objects of the scenario's own definitions.
    world.poll(marked)
    world.check(seen == "marked", "the object is marked for deletion", expected="marked", observed=seen)


@then('the object at "{path}" comes to be missing')
def _(world: World, path: str) -> None:
    """A GET of this path comes to return 404."""

    def missing() -> bool:
        try:
            world.client.raw("GET", world.text(path))
        except NotFound:
            return True
        return False

    gone = world.poll(missing)
    world.check(gone, "the object is gone", expected="missing", observed="missing" if gone else "still there")


@when("it is read and written back in protobuf")
def _(world: World) -> None:
    """Update the created object with the bytes that the API server sends as its protobuf form."""
    _write_back(world, "")


@when("its status is read and written back in protobuf")
def _(world: World) -> None:
    """Update the status of the created object with the bytes that the API server sends as its protobuf form."""
    _write_back(world, "/status")


def _write_back(world: World, subresource: str) -> None:
    obj, client = draft(world), world.client
    path = client.wire(manifests.resource_of(obj)).path(world.namespace, name_of(obj))

    def request() -> Obj:
        headers = {"Accept": _PROTOBUF, "User-Agent": client.user_agent}
        read = client.transport.request("GET", path, headers=headers)
        if read.status != HTTPStatus.OK:
            raise error_from(read.status, read.body, request=f"GET {path}")
        begins = read.body[: len(_MAGIC)]
        world.check(begins == _MAGIC, "the response is in protobuf", expected=str(_MAGIC), observed=str(begins))
        return client.raw("PUT", path + subresource, body=read.body, content_type=_PROTOBUF, accept="application/json")

    attempt(world, request)
