"""A request to the API server, and the meaning of its path and verb.

The HTTPS endpoint and the in-process transport create one `Request` per call. `RequestInfo` follows the rules of
k8s.io/apiserver pkg/endpoints/request (verbs, API prefixes, subresources).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, slots=True)
class User:
    """The user of a request: `user.Info` of the API server."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_master(self) -> bool:
        """Whether the user is in `system:masters`, which every authorizer allows."""
        return "system:masters" in self.groups


@dataclass(slots=True)
class Request:
    """One request: method, decoded path, query pairs, lower-case headers, body, and the user if the endpoint knows it.

    `protobuf`: the response is encoded as protobuf, regardless of the headers. `warnings` are those of the response.
    """

    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    user: User | None = None
    protobuf: bool = False
    warnings: list[str] = field(default_factory=list)

    def param(self, name: str, default: str = "") -> str:
        """Return the first value of a query parameter."""
        for key, value in self.query:
            if key == name:
                return value
        return default

    def params(self, name: str) -> list[str]:
        """Return all values of a query parameter."""
        return [value for key, value in self.query if key == name]

    def flag(self, name: str) -> bool:
        """Return a boolean query parameter, converted as in Go: "", "0" and "false" are false."""
        for key, value in self.query:
            if key == name:
                return value.lower() not in ("false", "0")
        return False

    @property
    def user_agent(self) -> str:
        """The client's User-Agent."""
        return self.headers.get("user-agent", "")


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """Attributes of a request: `verb` is the authorization verb; `resource` is empty for non-resource paths."""

    verb: str
    path: str
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    name: str = ""
    subresource: str = ""
    field_selector: str = ""

    @property
    def is_resource(self) -> bool:
        """Whether the path names a resource."""
        return bool(self.resource)


def request_info(request: Request) -> RequestInfo:
    """Return the attributes that method, path and query contain."""
    parts = [unquote(part) for part in request.path.strip("/").split("/")]
    verb = _VERBS.get(request.method, request.method.lower())
    if verb in ("get", "head"):
        verb = "get"
    plain = RequestInfo(verb=verb, path=request.path)
    if request.path.startswith("//"):
        return plain
    if parts[0] == "api" and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return plain
    watched = rest[0] == "watch" and len(rest) > 1  # /api/v1/watch/…, deprecated since 1.11 and still served
    if watched:
        rest = rest[1:]
    namespace = ""
    if rest[0] == "namespaces":
        if len(rest) > 1:
            namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
        else:
            # the namespace object itself: upstream reports the namespace too, which RBAC rules rely on
            pass
    resource = rest[0]
    name = rest[1] if len(rest) > 1 else ""
    subresource = "/".join(rest[2:])
    if watched:
        verb = "watch"
    elif not name:
        if verb == "get":
            verb = "watch" if request.flag("watch") else "list"
        elif verb == "delete":
            verb = "deletecollection"
    selector = request.param("fieldSelector") if not name else ""
    return RequestInfo(verb, request.path, group, version, namespace, resource, name, subresource, selector)
