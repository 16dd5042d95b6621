"""A Kubernetes client for plain dicts: kubectl's verbs over a `Transport`, with the server's error messages.

Callers that use a resource of resource.k8s.io in v1 always handle v1 objects: if the server does not serve v1, the
client converts requests and responses to the best version that it serves (`dra_api.versions`). Other versions are used
as given.

The client caches discovery only. It does not own its transport.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from dra_api import versions
from dra_api.objects import RESOURCE_CLAIMS, Obj, Resource, name_of, namespace_of
from dra_api.transport import Response, Stream, Transport, TransportError

PatchKind = Literal["merge", "json", "strategic", "apply"]

_PATCH_TYPES: Mapping[str, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


class ApiError(Exception):
    """An error response of the API server, with the Status object: code, reason, message, details."""

    def __init__(self, status: int, body: Obj, *, request: str = "") -> None:
        self.status = status
        self.body = body
        self.reason = str(body.get("reason") or "")
        self.message = str(body.get("message") or f"HTTP {status}")
        details = body.get("details")
        self.details: Obj = details if isinstance(details, dict) else {}
        self.request = request
        super().__init__(f"{request}: {status} {self.reason}: {self.message}" if request else self.message)

    @property
    def causes(self) -> list[Obj]:
        """`details.causes`: a list of {reason, message, field}."""
        found = self.details.get("causes")
        return found if isinstance(found, list) else []

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the server allows a retry, if it reports them."""
        seconds = self.details.get("retryAfterSeconds")
        return float(seconds) if seconds and isinstance(seconds, int | float) else None


class InvalidAnswer(TransportError):
    """A response with the code of success that is not a response of the Kubernetes API."""


class NotFound(ApiError):
    """404."""


class AlreadyExists(ApiError):
    """409 with reason AlreadyExists."""


class Conflict(ApiError):
    """409: the object has changed, or a precondition failed."""


class Invalid(ApiError):
    """422: the object is invalid; see `causes`."""


class Forbidden(ApiError):
    """403."""


class Gone(ApiError):
    """410: the resource version is too old; list again."""


class TooManyRequests(ApiError):
    """429."""


_LONGEST_SHOWN = 200
MOST_PAGES = 10_000
"""Pages of a list. The largest clusters have some hundred pages of pods."""
_EVENTS = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})
_BY_STATUS: Mapping[int, type[ApiError]] = {
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


def error_from(status: int, body: bytes, *, request: str = "") -> ApiError:
    """Return the ApiError of a response other than 2xx."""
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        # Not a Status: a proxy in front of the server may answer with HTML or plain text.
        parsed = {"message": body.decode(errors="replace")[:500]}
    if not isinstance(parsed, dict):
        parsed = {"message": str(parsed)[:500]}
    # Conflict has the same code; only the reason distinguishes them.
    if status == 409 and parsed.get("reason") == "AlreadyExists":
        return AlreadyExists(status, parsed, request=request)
    return _BY_STATUS.get(status, ApiError)(status, parsed, request=request)


@dataclass(frozen=True, slots=True)
class ObjList:
    """One list: its items, each with apiVersion and kind, and the resource version to watch from."""

    items: list[Obj]
    resource_version: str
    continue_token: str = ""


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One watch event. `type` is ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: Obj


class Watch:
    """An open watch; any thread may close it.

    Iteration yields events. It raises ApiError for an ERROR event, and InvalidAnswer for what is no event of an object
    with a name (bookmarks have none) and a resource version.
    """

    def __init__(self, stream: Stream, *, request: str, convert: Callable[[Obj], Obj] | None = None) -> None:
        self._stream = stream
        self._request = request
        self._convert = convert

    def __iter__(self) -> Iterator[WatchEvent]:
        for line in self._stream:
            event = _parsed(line, self._request)
            kind, obj = event.get("type"), event.get("object")
            if not isinstance(obj, dict) or not isinstance(kind, str):
                raise InvalidAnswer(f"{self._request}: an event without type or object: {_shown(line)}")
            if kind == "ERROR":
                code = obj.get("code")
                status = code if isinstance(code, int) and code else 500
                raise error_from(status, orjson.dumps(obj), request=self._request)
            if kind not in _EVENTS:
                raise InvalidAnswer(f"{self._request}: an event of unknown type: {_shown(line)}")
            if not _is_stored(obj, named=kind != "BOOKMARK"):
                raise InvalidAnswer(f"{self._request}: an object without name or resource version: {_shown(line)}")
            yield WatchEvent(kind, obj if self._convert is None else self._convert(obj))

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the watch."""
        self._stream.close()


class KubeClient:
    """kubectl's verbs on dicts.

    `user_agent` names the component in the server's logs. Thread-safe if its transport is.
    """

    def __init__(
        self, transport: Transport, *, user_agent: str = "dra-conformance", namespace: str | None = None
    ) -> None:
        self.transport = transport
        self.user_agent = user_agent
        self.namespace = namespace
        self._headers = {"User-Agent": user_agent}
        self._served: dict[str, Sequence[str]] = {}
        self._lock = threading.Lock()

    def as_agent(self, user_agent: str) -> KubeClient:
        """Return a client of the same connection with another user agent."""
        return self._sharing(self.transport, user_agent)

    def over(self, transport: Transport) -> KubeClient:
        """Return a client of the same API server that sends its requests through another transport."""
        return self._sharing(transport, self.user_agent)

    def _sharing(self, transport: Transport, user_agent: str) -> KubeClient:
        other = KubeClient(transport, user_agent=user_agent, namespace=self.namespace)
        # Shared, so that discovery is requested once for all of them.
        other._served, other._lock = self._served, self._lock
        return other

    # -- reading ---------------------------------------------------------------------------------------------------

    def get(self, res: Resource, name: str, namespace: str | None = None) -> Obj:
        """Read one object. Raises NotFound."""
        wire = self.wire(res)
        return _arrived(res, wire, self._call("GET", wire.path(self._ns(res, namespace), name)))

    def find(self, res: Resource, name: str, namespace: str | None = None) -> Obj | None:
        """Read one object, or return None if it does not exist."""
        try:
            return self.get(res, name, namespace)
        except NotFound:
            return None

    def list(
        self,
        res: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        resource_version: str | None = None,
    ) -> ObjList:
        """List objects; with `limit` (objects per page), read all pages."""
        query: list[tuple[str, str]] = []
        if label_selector:
            query.append(("labelSelector", label_selector))
        if field_selector:
            query.append(("fieldSelector", field_selector))
        if limit:
            query.append(("limit", str(limit)))
        if resource_version is not None:
            query.append(("resourceVersion", resource_version))
        items: list[Obj] = []
        token = ""
        used = set[str]()
        while True:
            page = self.page(res, namespace, query=query, token=token)
            items += page.items
            token = page.continue_token
            if not token:
                return ObjList(items, page.resource_version)
            if token in used:
                raise InvalidAnswer(f"list of {res}: the continue token {token[:_LONGEST_SHOWN]!r} is not new")
            used.add(token)
            if len(used) >= MOST_PAGES:
                raise InvalidAnswer(f"list of {res}: more than {MOST_PAGES} pages")

    def page(
        self,
        res: Resource,
        namespace: str | None = None,
        *,
        query: Sequence[tuple[str, str]] = (),
        token: str = "",
    ) -> ObjList:
        """Read one page of a list: the first one, or with the `continue_token` of a page the next one."""
        wire = self.wire(res)
        path = wire.path(namespace)
        page = self._call("GET", path, query=[*query, ("continue", token)] if token else query)
        items = []
        for item in _dicts(page.get("items"), f"GET {path}"):
            if not isinstance(item.get("metadata"), dict):
                raise InvalidAnswer(f"GET {path}: an object without metadata: {_shown(orjson.dumps(item))}")
            # The API server omits both in the items of a list.
            item.setdefault("apiVersion", wire.api_version)
            item.setdefault("kind", wire.kind)
            items.append(_arrived(res, wire, item))
        metadata = page.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        return ObjList(items, str(metadata.get("resourceVersion") or ""), str(metadata.get("continue") or ""))

    def watch(
        self,
        res: Resource,
        namespace: str | None = None,
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int | None = None,
        bookmarks: bool = True,
        initial_events: bool = False,
    ) -> Watch:
        """Watch from `resource_version`, or, if it is empty, from now after the existing objects. Raises Gone.

        With `initial_events`, the existing objects end with a bookmark (streaming list).
        """
        query = [("watch", "true")]
        if resource_version:
            query.append(("resourceVersion", resource_version))
        if label_selector:
            query.append(("labelSelector", label_selector))
        if field_selector:
            query.append(("fieldSelector", field_selector))
        if timeout_seconds is not None:
            query.append(("timeoutSeconds", str(timeout_seconds)))
        if bookmarks:
            query.append(("allowWatchBookmarks", "true"))
        if initial_events:
            query += [("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")]
        wire = self.wire(res)
        path = wire.path(namespace)
        opened = self.transport.stream(path, query=query, headers=self._headers)
        if isinstance(opened, Response):
            raise error_from(opened.status, opened.body, request=f"WATCH {path}")
        convert = None if wire == res else lambda obj: _arrived(res, wire, obj)
        return Watch(opened, request=f"WATCH {path}", convert=convert)

    def served(self, group: str) -> Sequence[str]:
        """Return the served versions of an API group, preferred first; empty if the group is not served."""
        # Held during the request: concurrent callers wait for one discovery instead of each sending their own.
        with self._lock:
            if group not in self._served:
                path = f"/apis/{group}" if group else "/api"
                answer = self.transport.request("GET", path, headers=self._headers)
                if answer.status == 404:
                    # Not stored: the group may be served later, for example after a CRD is installed.
                    return []
                self._raise(answer, "GET", path)
                found = _parsed(answer.body, f"GET {path}").get("versions")
                if group:
                    found = [entry.get("version") for entry in _dicts(found, f"GET {path}")]
                if not isinstance(found, list) or not all(isinstance(version, str) for version in found):
                    raise InvalidAnswer(f"GET {path}: no list of versions: {_shown(answer.body)}")
                self._served[group] = found
            return self._served[group]

    def serves(self, res: Resource) -> bool:
        """Whether the server serves this resource in this version."""
        path = f"/apis/{res.group}/{res.version}" if res.group else f"/api/{res.version}"
        answer = self.transport.request("GET", path, headers=self._headers)
        if answer.status == 404:
            return False
        self._raise(answer, "GET", path)
        found = _dicts(_parsed(answer.body, f"GET {path}").get("resources"), f"GET {path}")
        return any(entry.get("name") == res.plural for entry in found)

    def first_served(self, res: Resource, accepted: Sequence[str]) -> Resource | None:
        """Return the resource in the first of the `accepted` versions that the server serves, or None."""
        served = self.served(res.group)
        found = (res.at(version) for version in accepted if version in served)
        return next((resource for resource in found if self.serves(resource)), None)

    def wire(self, res: Resource) -> Resource:
        """Return the resource for requests: v1 of resource.k8s.io in the best served version, others unchanged."""
        if not versions.is_converted(res):
            return res
        try:
            served = self.served(res.group)
        except Forbidden:  # a user without access to discovery may still have access to objects
            return res
        return res.at(next((version for version in versions.VERSIONS if version in served), res.version))

    def carries(self, res: Resource) -> bool:
        """Whether the server serves the resource in the version that `wire` chooses."""
        return self.wire(res).version in self.served(res.group)

    def require(self, res: Resource) -> None:
        """Raise LookupError with the served versions unless the server serves this resource of resource.k8s.io."""
        if not self.carries(res):
            raise LookupError(
                f"the API server serves {res.group} in {', '.join(self.served(res.group)) or 'no version'}; "
                f"need one of {', '.join(versions.VERSIONS)}"
            )

    def version(self) -> Obj:
        """Return the server's /version document."""
        return self._call("GET", "/version")

    # -- writing ---------------------------------------------------------------------------------------------------

    def create(
        self,
        res: Resource,
        obj: Obj,
        *,
        dry_run: bool = False,
        subresource: str | None = None,
        name: str | None = None,
        field_validation: str | None = None,
    ) -> Obj:
        """Create an object (or POST to a subresource of `name`)."""
        query = [("dryRun", "All")] if dry_run else []
        if field_validation:
            query.append(("fieldValidation", field_validation))
        wire = self.wire(res)
        path = wire.path(self._ns(res, namespace_of(obj)), name, subresource)
        body = self._sent(res, wire, obj) if not subresource else obj
        return _arrived(res, wire, self._call("POST", path, body=body, query=query))

    def update(self, res: Resource, obj: Obj, *, subresource: str | None = None, dry_run: bool = False) -> Obj:
        """Replace an object or its subresource; a stale resourceVersion raises Conflict."""
        wire = self.wire(res)
        path = wire.path(self._ns(res, namespace_of(obj)), name_of(obj), subresource)
        query = [("dryRun", "All")] if dry_run else []
        return _arrived(res, wire, self._call("PUT", path, body=self._sent(res, wire, obj), query=query))

    def update_status(self, res: Resource, obj: Obj) -> Obj:
        """Replace the status subresource."""
        return self.update(res, obj, subresource="status")

    def patch(
        self,
        res: Resource,
        name: str,
        patch: Any,
        namespace: str | None = None,
        *,
        kind: PatchKind = "merge",
        subresource: str | None = None,
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
    ) -> Obj:
        """Patch an object; `kind` is the patch format. Raises ConversionError if the served version has no equivalent.

        A patch of a v1 object is converted to the served version; see `dra_api.versions`.
        """
        query: list[tuple[str, str]] = []
        # The server rejects an apply patch without a field manager.
        if field_manager or kind == "apply":
            query.append(("fieldManager", field_manager or self.user_agent))
        if force:
            query.append(("force", "true"))
        if dry_run:
            query.append(("dryRun", "All"))
        wire = self.wire(res)
        if isinstance(patch, dict):
            patch = self._referring(patch)
        answer = self._call(
            "PATCH",
            wire.path(self._ns(res, namespace), name, subresource),
            body=patch if wire == res else versions.patch_from_v1(res.kind, patch, wire.version),
            query=query,
            content_type=_PATCH_TYPES[kind],
        )
        return _arrived(res, wire, answer)

    def apply(self, res: Resource, obj: Obj, *, field_manager: str | None = None, force: bool = True) -> Obj:
        """Server-side apply."""
        return self.patch(
            res,
            name_of(obj),
            self._complete(res, obj),
            namespace_of(obj) or None,
            kind="apply",
            field_manager=field_manager,
            force=force,
        )

    def delete_collection(
        self, res: Resource, namespace: str | None = None, *, label_selector: str = "", field_selector: str = ""
    ) -> Obj:
        """Delete all objects of a collection, or those that both selectors match; return the list of them."""
        selectors = (("labelSelector", label_selector), ("fieldSelector", field_selector))
        return self._call(
            "DELETE", self.wire(res).path(namespace), query=[(key, value) for key, value in selectors if value]
        )

    def delete(
        self,
        res: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_period_seconds: int | None = None,
        propagation_policy: str | None = None,
        dry_run: bool = False,
    ) -> Obj:
        """Delete an object; preconditions on uid and resource version raise Conflict when they fail."""
        options: Obj = {"apiVersion": "v1", "kind": "DeleteOptions"}
        preconditions = {k: v for k, v in (("uid", uid), ("resourceVersion", resource_version)) if v}
        if preconditions:
            options["preconditions"] = preconditions
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        if propagation_policy:
            options["propagationPolicy"] = propagation_policy
        if dry_run:
            options["dryRun"] = ["All"]
        wire = self.wire(res)
        return _arrived(res, wire, self._call("DELETE", wire.path(self._ns(res, namespace), name), body=options))

    def delete_if_there(self, res: Resource, name: str, namespace: str | None = None) -> None:
        """Delete an object if it exists."""
        try:
            self.delete(res, name, namespace)
        except NotFound:
            return

    def bind(self, pod: Obj, node: str, *, annotations: Mapping[str, str] | None = None) -> None:
        """Bind a pod to a node through pods/binding, with the pod's uid as precondition.

        `annotations` are added to the pod in the same write (BindingREST.setPodNodeAndMetadata, 1.36).
        """
        metadata: Obj = {"name": name_of(pod), "namespace": namespace_of(pod)}
        if annotations:
            metadata["annotations"] = dict(annotations)
        if uid := (pod.get("metadata") or {}).get("uid"):
            metadata["uid"] = uid
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self._call("POST", f"/api/v1/namespaces/{namespace_of(pod)}/pods/{name_of(pod)}/binding", body=binding)

    def evict(self, pod: Obj, *, grace_period_seconds: int | None = None) -> None:
        """Evict a pod through pods/eviction."""
        eviction: Obj = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name_of(pod), "namespace": namespace_of(pod)},
        }
        if grace_period_seconds is not None:
            eviction["deleteOptions"] = {"gracePeriodSeconds": grace_period_seconds}
        self._call("POST", f"/api/v1/namespaces/{namespace_of(pod)}/pods/{name_of(pod)}/eviction", body=eviction)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _ns(self, res: Resource, namespace: str | None) -> str | None:
        return (namespace or self.namespace or "default") if res.namespaced else None

    def _sent(self, res: Resource, wire: Resource, obj: Obj) -> Obj:
        """Return the body of a write. An object with another apiVersion than v1 is sent unchanged."""
        whole = self._referring(self._complete(res, obj))
        if wire == res or whole["apiVersion"] != res.api_version:
            return whole
        return versions.from_v1(res.kind, whole, wire.version)

    def _referring(self, obj: Obj) -> Obj:
        """Return the object with references in versions that the server serves."""
        return versions.with_references(obj, self.wire(RESOURCE_CLAIMS).version) if versions.names_v1(obj) else obj

    @staticmethod
    def _complete(res: Resource, obj: Obj) -> Obj:
        if "kind" in obj and "apiVersion" in obj:
            return obj
        return {"apiVersion": res.api_version, "kind": res.kind, **obj}

    def raw(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        query: Sequence[tuple[str, str]] = (),
        content_type: str = "application/json",
        accept: str = "",
    ) -> Obj:
        """Send a request that the other methods cannot express; return the object of its response.

        Raises ApiError, and InvalidAnswer for a response that is no JSON object.
        """
        headers = {**self._headers, "Accept": accept} if accept else self._headers
        answer = self.transport.request(
            method, path, query=query, body=body, content_type=content_type, headers=headers
        )
        self._raise(answer, method, path)
        return _parsed(answer.body, f"{method} {path}") if answer.body else {}

    def _call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Sequence[tuple[str, str]] = (),
        content_type: str = "application/json",
    ) -> Obj:
        data = None if body is None else orjson.dumps(body)
        return self.raw(method, path, query=query, body=data, content_type=content_type)

    @staticmethod
    def _raise(answer: Response, method: str, path: str) -> None:
        if not 200 <= answer.status < 300:
            raise error_from(answer.status, answer.body, request=f"{method} {path}")


def _arrived(res: Resource, wire: Resource, obj: Obj) -> Obj:
    """Return a response in the requested version. A response of another kind (Status) is unchanged."""
    if wire == res or obj.get("kind") not in (res.kind, None):
        return obj
    return versions.to_v1(res.kind, obj, wire.version)


def _parsed(data: bytes, request: str) -> Obj:
    """Return the JSON object of a response. Raises InvalidAnswer."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidAnswer(f"{request}: the response is no JSON ({error}): {_shown(data)}") from None
    if not isinstance(found, dict):
        raise InvalidAnswer(f"{request}: the response is no JSON object: {_shown(data)}")
    return found


def _dicts(items: Any, request: str) -> list[Obj]:
    """Return the objects of a list in a response; null is an empty list. Raises InvalidAnswer."""
    if items is None:
        return []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InvalidAnswer(f"{request}: no list of objects: {_shown(orjson.dumps(items))}")
    return items


def _is_stored(obj: Obj, *, named: bool) -> bool:
    """Whether an object has the metadata of each object in a store."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("resourceVersion"), str):
        return False
    return not named or (isinstance(metadata.get("name"), str) and isinstance(metadata.get("namespace") or "", str))


def _shown(data: bytes) -> str:
    return repr(data[:_LONGEST_SHOWN].decode(errors="replace"))
