"""A Kubernetes client of dicts: kubectl's verbs over a `Transport`, errors with the server's own words.

The client keeps no state but what discovery told it. It does not own the transport it was given.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from dra_api.objects import Obj, Resource, name_of, namespace_of
from dra_api.transport import Response, Stream, Transport

PatchKind = Literal["merge", "json", "strategic", "apply"]

_PATCH_TYPES: Mapping[str, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


class ApiError(Exception):
    """The API server said no. Carries the Status object: code, reason, message, details."""

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
        """Seconds that the server asks to wait, if it does."""
        seconds = self.details.get("retryAfterSeconds")
        return float(seconds) if seconds else None


class NotFound(ApiError):
    """404."""


class AlreadyExists(ApiError):
    """409 with reason AlreadyExists."""


class Conflict(ApiError):
    """409: the object was changed meanwhile, or a precondition failed."""


class Invalid(ApiError):
    """422: validation refused the object; see `causes`."""


class Forbidden(ApiError):
    """403."""


class Gone(ApiError):
    """410: the resource version is too old; list again."""


class TooManyRequests(ApiError):
    """429."""


_BY_STATUS: Mapping[int, type[ApiError]] = {
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


def error_from(status: int, body: bytes, *, request: str = "") -> ApiError:
    """Turn a non-2xx answer into the ApiError that names it."""
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        parsed = {"message": body.decode(errors="replace")[:500]}
    if not isinstance(parsed, dict):
        parsed = {"message": str(parsed)[:500]}
    if status == 409 and parsed.get("reason") == "AlreadyExists":
        return AlreadyExists(status, parsed, request=request)
    return _BY_STATUS.get(status, ApiError)(status, parsed, request=request)


@dataclass(frozen=True, slots=True)
class ObjList:
    """One list: its items (each with apiVersion and kind filled in) and the version to watch from."""

    items: list[Obj]
    resource_version: str
    continue_token: str = ""


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One watch event. `type` is ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: Obj


class Watch:
    """An open watch: iterate it; close it from any thread. An ERROR event raises its ApiError."""

    def __init__(self, stream: Stream, *, request: str) -> None:
        self._stream = stream
        self._request = request

    def __iter__(self) -> Iterator[WatchEvent]:
        for line in self._stream:
            event = orjson.loads(line)
            if event["type"] == "ERROR":
                status = event["object"]
                raise error_from(int(status.get("code") or 500), orjson.dumps(status), request=self._request)
            yield WatchEvent(event["type"], event["object"])

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the watch."""
        self._stream.close()


class KubeClient:
    """kubectl's verbs on dicts.

    `user_agent` names the component in the server's records. Thread-safe as far as its transport is.
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
        """The same connection under another component's name."""
        return KubeClient(self.transport, user_agent=user_agent, namespace=self.namespace)

    # -- reading ---------------------------------------------------------------------------------------------------

    def get(self, res: Resource, name: str, namespace: str | None = None) -> Obj:
        """Read one object. Raises NotFound."""
        return self._call("GET", res.path(self._ns(res, namespace), name))

    def find(self, res: Resource, name: str, namespace: str | None = None) -> Obj | None:
        """Read one object, or None where there is none."""
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
        """List objects; all pages are read when `limit` (objects a page) is given."""
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
        while True:
            page = self._call("GET", res.path(namespace), query=[*query, ("continue", token)] if token else query)
            for item in page.get("items") or ():
                item.setdefault("apiVersion", res.api_version)
                item.setdefault("kind", res.kind)
                items.append(item)
            metadata = page.get("metadata") or {}
            token = metadata.get("continue") or ""
            if not token:
                return ObjList(items, str(metadata.get("resourceVersion") or ""))

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
    ) -> Watch:
        """Watch from `resource_version` (empty: from now, preceded by what exists). Raises Gone when it is too old."""
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
        path = res.path(namespace)
        opened = self.transport.stream(path, query=query, headers=self._headers)
        if isinstance(opened, Response):
            raise error_from(opened.status, opened.body, request=f"WATCH {path}")
        return Watch(opened, request=f"WATCH {path}")

    def served(self, group: str) -> Sequence[str]:
        """Versions of an API group that the server serves, preferred first; empty when the group is not there."""
        with self._lock:
            if group not in self._served:
                path = f"/apis/{group}" if group else "/api"
                answer = self.transport.request("GET", path, headers=self._headers)
                if answer.status == 404:
                    return []
                self._raise(answer, "GET", path)
                body = orjson.loads(answer.body)
                versions = body["versions"] if not group else [entry["version"] for entry in body["versions"]]
                self._served[group] = list(versions)
            return self._served[group]

    def serves(self, res: Resource) -> bool:
        """Whether the server serves this very resource and version."""
        path = f"/apis/{res.group}/{res.version}" if res.group else f"/api/{res.version}"
        answer = self.transport.request("GET", path, headers=self._headers)
        if answer.status == 404:
            return False
        self._raise(answer, "GET", path)
        return any(entry["name"] == res.plural for entry in orjson.loads(answer.body)["resources"])

    def best(self, res: Resource, accepted: Sequence[str] = ("v1", "v1beta2", "v1beta1")) -> Resource:
        """The resource in the first of `accepted` versions that the server serves. Raises LookupError if none."""
        served = self.served(res.group)
        for version in accepted:
            if version in served:
                return res.at(version)
        raise LookupError(f"the API server serves {res.group} in {served or 'no version'}; need one of {accepted}")

    def version(self) -> Obj:
        """The server's /version document."""
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
        path = res.path(self._ns(res, namespace_of(obj)), name, subresource)
        return self._call("POST", path, body=self._complete(res, obj) if not subresource else obj, query=query)

    def update(self, res: Resource, obj: Obj, *, subresource: str | None = None, dry_run: bool = False) -> Obj:
        """Replace an object or its subresource; a stale resourceVersion raises Conflict."""
        path = res.path(self._ns(res, namespace_of(obj)), name_of(obj), subresource)
        return self._call("PUT", path, body=self._complete(res, obj), query=[("dryRun", "All")] if dry_run else [])

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
        """Patch an object; `kind` names the patch format."""
        query: list[tuple[str, str]] = []
        if field_manager or kind == "apply":
            query.append(("fieldManager", field_manager or self.user_agent))
        if force:
            query.append(("force", "true"))
        if dry_run:
            query.append(("dryRun", "All"))
        return self._call(
            "PATCH",
            res.path(self._ns(res, namespace), name, subresource),
            body=patch,
            query=query,
            content_type=_PATCH_TYPES[kind],
        )

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
        return self._call("DELETE", res.path(self._ns(res, namespace), name), body=options)

    def delete_if_there(self, res: Resource, name: str, namespace: str | None = None) -> None:
        """Delete an object; one that is gone already is fine."""
        try:
            self.delete(res, name, namespace)
        except NotFound:
            return

    def bind(self, pod: Obj, node: str) -> None:
        """Bind a pod to a node through pods/binding, with the pod's uid as precondition."""
        metadata: Obj = {"name": name_of(pod), "namespace": namespace_of(pod)}
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

    @staticmethod
    def _complete(res: Resource, obj: Obj) -> Obj:
        if "kind" in obj and "apiVersion" in obj:
            return obj
        return {"apiVersion": res.api_version, "kind": res.kind, **obj}

    def _call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Sequence[tuple[str, str]] = (),
        content_type: str = "application/json",
    ) -> Obj:
        answer = self.transport.request(
            method,
            path,
            query=query,
            body=None if body is None else orjson.dumps(body),
            content_type=content_type,
            headers=self._headers,
        )
        self._raise(answer, method, path)
        parsed: Obj = orjson.loads(answer.body) if answer.body else {}
        return parsed

    @staticmethod
    def _raise(answer: Response, method: str, path: str) -> None:
        if not 200 <= answer.status < 300:
            raise error_from(answer.status, answer.body, request=f"{method} {path}")
