"""The API server: requests in, responses or watch streams out. Synchronous, thread-safe, no sockets.

`ApiServer` owns the store, the handlers and the controllers. `start` starts the thread of the controllers, `stop` ends
it and all watches. The endpoints (`https_endpoint`, `in_process`) pass requests to `handle`.
"""

from __future__ import annotations

import random
import re
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from urllib.parse import unquote

import orjson

from apiserver_emulator import deprecation, discovery, openapi, reviews, schemas
from apiserver_emulator.auth import ADMIN, Authenticator, RbacAuthorizer, denied, impersonated, named_by_selector
from apiserver_emulator.builtin import pod_groups
from apiserver_emulator.builtin import table as builtin_table
from apiserver_emulator.controllers import Controllers
from apiserver_emulator.core import Core
from apiserver_emulator.crd.controller import CrdController, crd_resource
from apiserver_emulator.dra.declared_features import DeclaredFeatures
from apiserver_emulator.failures import Failures
from apiserver_emulator.handlers.options import with_warnings
from apiserver_emulator.handlers.read import Reader
from apiserver_emulator.handlers.write import Writer
from apiserver_emulator.initial_objects import first_objects
from apiserver_emulator.node_lifecycle import NodeLifecycle
from apiserver_emulator.pods.subresources import PodSubresources
from apiserver_emulator.protobuf_responses import Answer, check_accepted, served
from apiserver_emulator.quotas.admission import QuotaAdmission
from apiserver_emulator.rendering import negotiate, to_yaml
from apiserver_emulator.resource_types import ResourceTable, ResourceType
from apiserver_emulator.store import HISTORY, Store
from apiserver_emulator.webhooks import ValidatingWebhooks
from dra_api.clock import Clock, RealClock
from dra_api.releases import DEFAULT_RELEASE
from dra_api.request import Request, RequestInfo, User, request_info
from dra_api.status import StatusError, method_not_allowed, not_found
from dra_api.transport import Response

Obj = dict[str, Any]

MAX_BODY = 3 * 1024 * 1024  # the API server's limit for a request body

_JSON = {"content-type": "application/json"}


class ApiServer:
    """One emulated API server.

    `kubernetes_version` is a minor ("1.37"); `feature_gates` override the defaults of the release;
    `seed` makes generated names repeatable; `history` bounds the events that a watch can be resumed from.
    """

    def __init__(
        self,
        *,
        kubernetes_version: str = DEFAULT_RELEASE,
        feature_gates: Mapping[str, bool] | None = None,
        clock: Clock | None = None,
        seed: int | None = None,
        history: int = HISTORY,
        watch_delay: Callable[[str], float] | None = None,
    ) -> None:
        self.kubernetes_version = ".".join(kubernetes_version.removeprefix("v").split(".")[:2])
        self.feature_gates: dict[str, bool] = dict(feature_gates or {})
        self.clock: Clock = clock or RealClock()
        self.store = Store(history=history)
        self.resources = ResourceTable()
        self.schemas = schemas.load(self.kubernetes_version)
        self.rbac = RbacAuthorizer(self.store, minor=int(self.kubernetes_version.split(".")[1]))
        self.authenticator = Authenticator(self._now)
        self.address = ""
        self.down = False
        """Whether the emulated process is dead: every endpoint then refuses connections."""
        self.failures = Failures()
        """Bugs of this server that showed in a request or in a thread; empty in a healthy run."""
        self.core = Core(
            store=self.store,
            resources=self.resources,
            schemas=self.schemas.index,
            clock=self.clock,
            kubernetes_version=self.kubernetes_version,
            feature_gates=self.feature_gates,
            authorizer=self.rbac,
            random=random.Random(seed),  # noqa: S311 - object name suffixes, not secrets
            watch_delay=watch_delay,
        )
        self.reader = Reader(self.core)
        self.writer = Writer(self.core, self.reader)
        self._handlers: dict[str, Callable[[ResourceType, Request, RequestInfo], Answer]] = {
            "get": self.reader.get,
            "list": self.reader.list,
            "watch": self.reader.watch,
            "create": self.writer.create,
            "update": self.writer.update,
            "patch": self.writer.patch,
            "delete": self.writer.delete,
            "deletecollection": self.writer.delete_collection,
        }
        self.webhooks = ValidatingWebhooks(self.core)
        # Quotas last, as upstream: they charge what all others have accepted.
        self.core.admission += [DeclaredFeatures(), self.webhooks, QuotaAdmission(self.core)]
        self._pods = PodSubresources(self.core)
        self._reviews = reviews.Reviews(self.core, self.authenticator, self.rbac)
        self._openapi = openapi.OpenApi(self.core, self.schemas)
        self.controllers = Controllers(self.core, self.failures)
        self._nodes = NodeLifecycle(self.core)
        self.resources.add(crd_resource())
        builtin_table.register(self.resources)
        pod_groups.register(
            self.resources, minor=int(self.kubernetes_version.split(".")[1]), feature_gates=self.feature_gates
        )
        self.crds = CrdController(self.core)
        # After the controllers: their queue must receive the namespaces, which need a default service account.
        for key, obj in first_objects(self.clock.now()):
            obj["metadata"]["uid"] = str(uuid.uuid4())
            self.store.create(key, ("", obj["metadata"]["name"]), obj)
        self._counts: Counter[tuple[str, str]] = Counter()
        self._counts_lock = threading.Lock()
        self._serving = 0
        self.clock.register(self)

    def _now(self) -> datetime:
        return self.clock.now()

    def is_idle(self) -> bool:
        """Return whether no request is served, the controllers have no work and every watch is drained."""
        return not self._serving and self.controllers.is_idle() and self.watches_drained()

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Count a request of another program from its arrival until its response is sent."""
        with self._counts_lock:
            self._serving += 1
        try:
            yield
        finally:
            with self._counts_lock:
                self._serving -= 1

    def watches_drained(self) -> bool:
        """Return whether the client of every open watch came back for more and found nothing."""
        return all(watcher.drained for watcher in self.store.watchers())

    # --- life --------------------------------------------------------------------------------------------------

    def set_release(self, kubernetes_version: str, feature_gates: Mapping[str, bool]) -> None:
        """Become the server of another release on the same objects, while it serves nothing.

        The caller registers the resources of resource.k8s.io again, whose versions depend on the release.
        """
        self.kubernetes_version = self.core.kubernetes_version = kubernetes_version
        minor = int(kubernetes_version.split(".")[1])
        self.feature_gates.clear()
        self.feature_gates.update(feature_gates)
        self.schemas = schemas.load(kubernetes_version)
        self.core.schemas = self.schemas.index
        self._openapi = openapi.OpenApi(self.core, self.schemas)
        self.rbac.set_release(minor)
        self.resources.remove("scheduling.k8s.io", "podgroups")
        pod_groups.register(self.resources, minor=minor, feature_gates=self.feature_gates)
        # Its cache of watches begins with what it reads now.
        self.store.compact()

    def start(self) -> None:
        """Start the controllers."""
        self.controllers.start()

    def stop(self) -> None:
        """Stop the controllers and end all watches. Idempotent."""
        self.controllers.stop()
        for watcher in self.store.watchers():
            watcher.close()
        self.webhooks.close()

    def __enter__(self) -> ApiServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- hooks for tests and components ---------------------------------------------------------------------------

    def compact(self) -> int:
        """Drop the history, as etcd's compaction does: older watches and continue tokens get 410."""
        return self.store.compact()

    def drop_watches(self, group: str | None = None, plural: str | None = None) -> int:
        """End open watches, all or those of one resource; clients must reconnect. Returns how many."""
        kind = None if plural is None else (group or "", plural)
        dropped = 0
        for watcher in self.store.watchers(kind):
            watcher.close()
            dropped += 1
        return dropped

    def counts(self) -> dict[tuple[str, str], int]:
        """Requests so far by (verb, "group/resource/subresource")."""
        with self._counts_lock:
            return dict(self._counts)

    def reset_counts(self) -> None:
        """Set all counters to zero."""
        with self._counts_lock:
            self._counts.clear()

    def may_block(self, request: Request) -> bool:
        """Return whether this request may wait for a webhook; an endpoint then serves it in a thread of its own."""
        return request.method != "GET" and self.webhooks.any()

    # --- requests ----------------------------------------------------------------------------------------------

    def handle(self, request: Request) -> Answer:
        """Serve one request."""
        return served(request, self._handled)

    def _handled(self, request: Request) -> Answer:
        try:
            if len(request.body) > MAX_BODY:
                raise StatusError(
                    413, "RequestEntityTooLarge", f"Request entity too large: limit is {MAX_BODY}", details={}
                )
            # In-process transports name the user themselves.
            if request.user is None:
                request.user = self.authenticator.authenticate(request.headers)
            info = request_info(request)
            if any(name.startswith("impersonate-") for name in request.headers):
                # Releases with ConstrainedImpersonation (1.36) name the impersonated request in the refusal.
                named = info if tuple(map(int, self.kubernetes_version.split("."))) >= (1, 36) else None
                request.user = impersonated(request.user, request.headers, self.rbac, request=named)
            self._count(info)
            attributes = named_by_selector(info)
            allowed, why_not = self.rbac.decide(request.user, attributes)
            if not allowed:
                raise denied(request.user, attributes, why_not)
            # A refusal is an answer here, so that node taints and deprecation warnings follow it too.
            answer = self._serve(request, info)
            self._nodes.settle()
            return self._warned(answer, info)
        except StatusError as error:
            return self._refusal(error)
        except Exception as error:
            # The client gets what a panic of a real API server looks like; the run reports it as a harness error.
            self.failures.record(f"request {request.method} {request.path}", error)
            return self._refusal(
                StatusError(
                    500,
                    "InternalError",
                    "Internal error occurred: this request caused apiserver to panic. Look in the logs for details.",
                )
            )

    def _serve(self, request: Request, info: RequestInfo) -> Answer:
        try:
            return self._dispatch(request, info)
        except StatusError as error:
            return with_warnings(self._refusal(error), request.warnings)

    def _warned(self, answer: Answer, info: RequestInfo) -> Answer:
        if not isinstance(answer, Response):
            return answer
        return deprecation.warned(answer, info, self.resources, kubernetes_version=self.kubernetes_version)

    @staticmethod
    def _refusal(error: StatusError) -> Response:
        return Response(error.code, {**_JSON, **error.headers}, orjson.dumps(error.body()))

    def _count(self, info: RequestInfo) -> None:
        name = "/".join(part for part in (info.group, info.resource, info.subresource) if part) or info.path
        with self._counts_lock:
            self._counts[(info.verb, name)] += 1

    def _dispatch(self, request: Request, info: RequestInfo) -> Answer:
        if not info.is_resource:
            return self._path(request, info)
        if (info.group, info.resource) in discovery.REVIEWS and info.version == "v1":
            return self._review(request, info)
        resource = self.resources.served(info.group, info.version, info.resource)
        if resource is None:
            if not self._routed(info.group, info.version):
                return _nothing_here()
            raise _no_resource()
        if info.subresource and info.subresource not in resource.subresources:
            raise not_found(info.group, info.resource, info.name) if resource.custom else _no_resource()
        _check_scope(resource, info)
        _check_method(request, info)
        if info.subresource and info.subresource not in _SUBRESOURCES_OF_OBJECTS:
            return self._pods.subresource(resource, request, info, self._reviews)
        return self._resource(resource, request, info)

    def _review(self, request: Request, info: RequestInfo) -> Answer:
        if info.resource == "bindings":
            return self._pods.legacy_binding(request, info)
        if info.verb != "create":
            raise method_not_allowed()
        return self._reviews.answer(request, info)

    def _resource(self, resource: ResourceType, request: Request, info: RequestInfo) -> Answer:
        verb = info.verb
        if info.resource == "namespaces" and info.namespace:
            # the namespace object is cluster-scoped; its own name is also the request's namespace for RBAC
            info = RequestInfo(
                verb,
                info.path,
                info.group,
                info.version,
                "",
                info.resource,
                info.name or info.namespace,
                info.subresource,
            )
        if verb not in resource.verbs:
            raise method_not_allowed()
        if info.subresource and verb not in ("get", "update", "patch"):
            raise method_not_allowed()
        check_accepted(request, verb, custom=resource.custom)
        if verb == "create" and info.name:
            raise method_not_allowed()
        handle = self._handlers.get(verb)
        if handle is None:
            raise method_not_allowed()
        return handle(resource, request, info)

    # --- paths that are not resources --------------------------------------------------------------------------

    def _path(self, request: Request, info: RequestInfo) -> Response:
        path = "/" + unquote(request.path).strip("/")
        # Checked on the original path: `strip` has removed the empty segment.
        if request.path.startswith("//"):
            return _nothing_here()
        if _HEALTH.fullmatch(path):
            return Response(200, {"content-type": "text/plain; charset=utf-8"}, b"ok")
        if info.verb != "get":
            raise method_not_allowed()
        if path == "/version":
            return self._document(discovery.version(self.kubernetes_version), request)
        if path.startswith("/openapi/"):
            return self._openapi.answer(path, request)
        parts = path.strip("/").split("/")
        accept = request.headers.get("accept", "").replace(" ", "")
        # The appended semicolon keeps v=v2beta1 from matching.
        if path in ("/api", "/apis") and "as=APIGroupDiscoveryList" in accept and "v=v2;" in accept + ";":
            found = discovery.aggregated(self.resources, core=path == "/api")
            body = orjson.dumps(found)
            return Response(200, {"content-type": discovery.AGGREGATED_V2, "etag": discovery.etag(found)}, body)
        document: Obj | None = None
        if path == "/api":
            document = discovery.api_versions(self.address)
        elif path == "/apis":
            document = discovery.api_group_list(self.resources)
        elif parts[0] == "api" and len(parts) == 2:
            document = discovery.resource_list(self.resources, "", parts[1])
        elif parts[0] == "apis" and len(parts) == 2:
            versions = discovery.groups(self.resources).get(parts[1])
            document = discovery.api_group(parts[1], versions) if versions else None
        elif parts[0] == "apis" and len(parts) == 3:
            document = discovery.resource_list(self.resources, parts[1], parts[2])
        elif path == "/":
            document = {
                "paths": ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]
            }
        if document is None:
            if parts[0] == "api" or (parts[0] == "apis" and len(parts) > 1 and self._routed(parts[1], parts[-1])):
                raise _no_resource()
            return _nothing_here()
        return self._document(document, request)

    def _routed(self, group: str, version: str) -> bool:
        """Return whether paths of a group version get a Status rather than plain text when nothing is found.

        They do in every version of a built-in group, even one that is not served, and in served versions of custom
        resources.
        """
        if version in discovery.groups(self.resources).get(group, ()):
            return True
        return any(each.group == group and not each.custom for each in self.resources.all())

    @staticmethod
    def _document(document: Obj, request: Request) -> Response:
        view = negotiate(request.headers.get("accept", ""))
        body = orjson.dumps(document)
        return Response(200, {"content-type": view.content_type}, to_yaml(body) if view.yaml else body)

    # --- objects instead of bytes ---------------------------------------------------------------------------

    def call(
        self,
        method: str,
        path: str,
        body: Obj | None = None,
        *,
        user: User = ADMIN,
        query: tuple[tuple[str, str], ...] = (),
        content_type: str = "application/json",
        user_agent: str = "dra-conformance",
    ) -> Obj:
        """One request with objects instead of bytes, for tests and components. Raises StatusError on a refusal."""
        headers = {"content-type": content_type, "user-agent": user_agent}
        raw = orjson.dumps(body) if body is not None else b""
        answer = self.handle(Request(method, path, query, headers, raw, user))
        if not isinstance(answer, Response):
            answer.close()
            raise TypeError("call does not open watches: use a transport's stream")
        found: Obj = orjson.loads(answer.body) if answer.body else {}
        if answer.status >= 400:
            raise StatusError(
                answer.status, found.get("reason", ""), found.get("message", ""), details=found.get("details")
            )
        return found


_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
_HEALTH = re.compile(r"/(healthz|livez|readyz)(/(ping|log|etcd|informer-sync))?")


# Served like the object itself; other subresources have handlers of their own.
_SUBRESOURCES_OF_OBJECTS = frozenset({"status", "finalize", "ephemeralcontainers", "resize"})


def _check_scope(resource: ResourceType, info: RequestInfo) -> None:
    """Raise 404 or 405 for a path with a namespace that should have none, or without one that needs it."""
    if not resource.namespaced:
        if info.namespace and info.resource != "namespaces":
            raise _no_resource()
        return
    if info.namespace:
        return
    if info.verb == "create":
        raise method_not_allowed()
    if info.name or info.verb not in ("list", "watch", "get"):
        raise _no_resource()


def _check_method(request: Request, info: RequestInfo) -> None:
    """Raise 405 for a method that no handler is registered for, and for a write to a collection that needs a name."""
    if request.method not in _METHODS or (not info.name and not info.namespace and info.verb == "patch"):
        raise method_not_allowed()
    if info.verb in ("update", "patch") and not (info.name or info.resource == "namespaces"):
        raise method_not_allowed()


def _nothing_here() -> Response:
    """Return the answer to a path that is not served at all: plain text, not a Status."""
    return Response(404, {"content-type": "text/plain; charset=utf-8"}, b"404 page not found\n")


def _no_resource() -> StatusError:
    return StatusError(404, "NotFound", "the server could not find the requested resource")
