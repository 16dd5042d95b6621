"""Restricts a run on an existing cluster to its own objects.

The transport adds the run's id as a label to every object that it creates. It rejects writes to other objects with 403
without sending them. The run's own objects are those that it created, everything in namespaces that it created, objects
with its label, and ResourceSlices of its nodes. It creates objects only in its own namespaces and in the one of the
ComputeDomain driver: reference components also receive the pods of others, and would create their claims and
BindRequests. With the labels `dra-conformance cleanup` finds the objects of a killed run.

External programs (`exec:`, `cluster`) have their own connections, which are not restricted.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence

import orjson

from dra_api.request import Request, RequestInfo, request_info
from dra_api.transport import JSON, NO_HEADERS, Response, Transport, TransportAround
from dra_conformance.core.labels import RUN_LABEL

CLEANER = "dra-conformance-cleanup"
"""User agent of the cleanup, which has a ClusterRole of its own."""

_QUESTIONS = frozenset({"authorization.k8s.io", "authentication.k8s.io"})  # reviews are answered, not stored
_READS = frozenset({"get", "list", "watch"})
_APPLY = "application/apply-patch"

_Key = tuple[str, str, str, str]


class Ledger:
    """The objects that one run has created. Thread-safe."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self._made: set[_Key] = set()
        self._borrowed: set[str] = set()
        self._lock = threading.Lock()

    def add(self, group: str, plural: str, namespace: str, name: str) -> None:
        """Add an object that the run has created."""
        with self._lock:
            self._made.add((group, plural, namespace, name))

    def borrow(self, node: str) -> None:
        """Add an existing node whose kubelet the run replaces: the run writes to it, but does not delete it."""
        with self._lock:
            self._borrowed.add(node)

    def borrows(self, node: str) -> bool:
        """Whether a node is borrowed."""
        with self._lock:
            return node in self._borrowed

    def forget(self, group: str, plural: str, namespace: str, name: str) -> None:
        """Remove a deleted object: a new one of the same name does not belong to the run."""
        with self._lock:
            self._made.discard((group, plural, namespace, name))

    def holds(self, group: str, plural: str, namespace: str, name: str) -> bool:
        """Whether the run has created this object or its namespace."""
        with self._lock:
            return (group, plural, namespace, name) in self._made or (
                bool(namespace) and ("", "namespaces", "", namespace) in self._made
            )


class OwnObjectsTransport(TransportAround):
    """Adds the run's label to new objects, and rejects writes to objects of others.

    All runs may create objects in the namespace `shared`.
    """

    def __init__(self, inner: Transport, ledger: Ledger, *, shared: str) -> None:
        super().__init__(inner)
        self._ledger = ledger
        self._shared = shared

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
        content_type: str = JSON,
        headers: Mapping[str, str] = NO_HEADERS,
        timeout: float | None = None,
    ) -> Response:
        """Send a request, unless it would change an object that does not belong to the run."""

        def send(sent: bytes | None) -> Response:
            return self._inner.request(
                method, path, query=query, body=sent, content_type=content_type, headers=headers, timeout=timeout
            )

        info = request_info(Request(method, path, query))
        if info.verb in _READS or not info.is_resource or info.group in _QUESTIONS:
            return send(body)
        if info.verb == "create" and not info.subresource:
            if not self._may_create(info, body):
                return self._refusal(info)
            answer = send(self._labelled(body))
            self._remember(info, answer, query)
            return answer
        own = self._own(info, headers)
        if own is False:
            return self._refusal(info)
        if own is None and content_type.startswith(_APPLY) and not self._may_create(info, body):
            return self._refusal(info)
        if own is None and (content_type.startswith(_APPLY) or info.verb == "update"):  # either may create it
            answer = send(self._labelled(body) if not info.subresource else body)
            self._remember(info, answer, query)
            return answer
        # Both would remove the run's label if their body lacked it.
        whole = info.verb == "update" or content_type.startswith(_APPLY)
        # Not labelled, so that the cleanup does not delete the user's node.
        lent = info.resource == "nodes" and self._ledger.borrows(info.name)
        answer = send(self._labelled(body) if whole and not info.subresource and not lent else body)
        # What is left in a namespace under deletion still belongs to the run.
        if info.verb == "delete" and not info.subresource and info.resource != "namespaces" and _is_gone(answer):
            self._ledger.forget(*_key(info, info.name))
        return answer

    # -- inside ----------------------------------------------------------------------------------------------------

    def _labelled(self, body: bytes | None) -> bytes | None:
        """Return the body with the run's label.

        The server rejects bodies that are not objects with metadata. It also decides about a field that is there twice,
        which the label would need to be written without.
        """
        try:
            obj = json.loads(body or b"", object_pairs_hook=_fields)
        except (ValueError, RecursionError):
            return body
        if not isinstance(obj, dict) or not isinstance(metadata := obj.setdefault("metadata", {}), dict):
            return body
        labels = metadata.get("labels")
        if labels is None:
            labels = metadata["labels"] = {}
        if not isinstance(labels, dict):
            return body
        labels[RUN_LABEL] = self._ledger.run_id
        return orjson.dumps(obj)

    def _remember(self, info: RequestInfo, answer: Response, query: Sequence[tuple[str, str]]) -> None:
        if answer.status not in (200, 201) or ("dryRun", "All") in query:
            return
        name = str((orjson.loads(answer.body).get("metadata") or {}).get("name") or info.name)
        self._ledger.add(*_key(info, name))

    def _may_create(self, info: RequestInfo, body: bytes | None) -> bool:
        """Whether a new object would be cluster-wide, in a namespace of the run, or an event that is in no other."""
        if not info.namespace or info.resource == "namespaces" or info.namespace == self._shared:
            return True
        if self._ledger.holds("", "namespaces", "", info.namespace):
            return True
        return info.resource == "events" and info.namespace == "default" and _is_about_the_cluster(body)

    def _own(self, info: RequestInfo, headers: Mapping[str, str]) -> bool | None:
        """Whether an object belongs to the run; None if it does not exist, so that the server reports that."""
        key = _key(info, info.name)
        if self._ledger.holds(*key):
            return True
        if info.resource == "nodes" and not info.group and self._ledger.borrows(info.name):
            return info.verb != "delete"
        if not info.name:  # a whole collection, in a namespace of others
            return False
        # Not created by this transport: by a program on one of the run's nodes, or by another process of the run.
        answer = self._read(info, headers)
        if answer.status != 200:
            return None if answer.status == 404 else False
        items = orjson.loads(answer.body).get("items") or ()
        if not items:
            return None
        found = items[0]
        labels = (found.get("metadata") or {}).get("labels") or {}
        node = (found.get("spec") or {}).get("nodeName") if info.resource == "resourceslices" else None
        own = labels.get(RUN_LABEL) == self._ledger.run_id or bool(
            node and self._ledger.holds("", "nodes", "", str(node))
        )
        if own:
            self._ledger.add(*key)
        return own

    def _read(self, info: RequestInfo, headers: Mapping[str, str]) -> Response:
        """Return a list with the object: the roles that write a resource may list it, but not always get it."""
        path = info.path.removesuffix(f"/{info.subresource}") if info.subresource else info.path
        named = [("fieldSelector", f"metadata.name={info.name}")]
        return self._inner.request("GET", path.rpartition("/")[0], query=named, headers=headers)

    def _refusal(self, info: RequestInfo) -> Response:
        what = f"{info.resource}{f'.{info.group}' if info.group else ''} {info.name!r}"
        if not info.name:  # of a new object
            what = f"namespace {info.namespace!r}"
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": f"the harness did not send this {info.verb}: {what} was not made by run {self._ledger.run_id}",
            "reason": "Forbidden",
            "details": {"name": info.name, "group": info.group, "kind": info.resource},
            "code": 403,
        }
        return Response(403, {"content-type": JSON}, orjson.dumps(status))


def _key(info: RequestInfo, name: str) -> _Key:
    namespace = "" if info.resource == "namespaces" else info.namespace
    return info.group, info.resource, namespace, name


def _fields(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the fields of a JSON object. Raises ValueError if one is there twice."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field twice")
    return fields


def _is_about_the_cluster(body: bytes | None) -> bool:
    """Whether an event is about an object without a namespace; such events are in the namespace default."""
    try:
        event = orjson.loads(body or b"")
    except orjson.JSONDecodeError:
        return False
    about = (event.get("regarding") or event.get("involvedObject")) if isinstance(event, dict) else None
    return isinstance(about, dict) and not about.get("namespace")


def _is_gone(answer: Response) -> bool:
    """Whether a deletion is complete: the server then returns a Status, or the object without finalizers."""
    if answer.status != 200:
        return False
    metadata = orjson.loads(answer.body).get("metadata") or {}
    return not metadata.get("finalizers") and not metadata.get("deletionGracePeriodSeconds")
