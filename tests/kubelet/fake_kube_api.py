"""A minimal API server as a Transport: stores, lists with the kubelet's selectors, watches, strategic status patches.

It knows no schema and no validation; tests of the kubelet need only what is here. Each test owns one.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from dra_api.transport import JSON, NO_HEADERS, Response

Obj = dict[str, Any]


class FakeStream:
    def __init__(self, api: FakeApi, plural: str, selector: dict[str, str]) -> None:
        self._api, self.plural, self.selector = api, plural, selector
        self._events: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._matching: set[str] = set()

    def seed(self, objects: list[Obj]) -> None:
        self._matching = {o["metadata"]["uid"] for o in objects if matches(o, self.selector)}

    def put(self, kind: str, obj: Obj) -> None:
        uid, fits = obj["metadata"]["uid"], matches(obj, self.selector)
        if kind != "DELETED":
            kind = ("MODIFIED" if uid in self._matching else "ADDED") if fits else "DELETED"
        if not fits and uid not in self._matching:
            return
        (self._matching.discard if kind == "DELETED" else self._matching.add)(uid)
        self._events.put(orjson.dumps({"type": kind, "object": obj}))

    def __iter__(self) -> Iterator[bytes]:
        while (event := self._events.get()) is not None:
            yield event

    def close(self) -> None:
        self._events.put(None)


def matches(obj: Obj, selector: Mapping[str, str]) -> bool:
    for path, wanted in selector.items():
        value: Any = obj
        for part in path.split("."):
            value = (value or {}).get(part)
        if (value or "") != wanted:
            return False
    return True


class FakeApi:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.objects: dict[tuple[str, str, str], Obj] = {}
        self.streams: list[FakeStream] = []
        self.refuse: dict[tuple[str, str], int] = {}
        self._versions = itertools.count(1)

    # -- Transport -----------------------------------------------------------------------------------------------

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
        if path.count("/") == 2 and path.startswith("/apis/"):
            if ("GET", "") in self.refuse:
                return self._answer(self.refuse[("GET", "")], {"reason": "NotFound"})
            return self._answer(200, {"versions": [{"version": "v1", "groupVersion": "resource.k8s.io/v1"}]})
        plural, namespace, name, _ = parse(path)
        with self.lock:
            if (status := self.refuse.get((method, plural))) is not None:
                return self._answer(status, {"message": "refused by the test", "reason": "InternalError"})
            data = orjson.loads(body) if body else {}
            if method == "GET" and name is None:
                found = self._select(plural, namespace, dict(query))
                version = str(next(self._versions))
                return self._answer(200, {"metadata": {"resourceVersion": version}, "items": found})
            if method == "POST":
                return self._create(plural, namespace, data)
            key = (plural, namespace, str(name))
            obj = self.objects.get(key)
            if obj is None:
                return self._answer(404, {"reason": "NotFound", "message": f"{plural} {name} not found"})
            if method == "GET":
                return self._answer(200, obj)
            if method == "DELETE":
                return self._delete(key, obj, data)
            if method == "PATCH":
                uid = data.get("metadata", {}).get("uid")
                if uid and uid != obj["metadata"]["uid"]:
                    return self._answer(409, {"reason": "Conflict", "message": "uid differs"})
                merged = orjson.loads(orjson.dumps(obj))
                merged["status"] = strategic(merged.get("status") or {}, data.get("status") or {})
                return self._answer(200, self.put(plural, merged))
            return self._answer(405, {"message": method})

    def stream(
        self,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] = NO_HEADERS,
        timeout: float | None = None,
    ) -> FakeStream:
        plural, _, _, _ = parse(path)
        selector = selector_of(dict(query))
        with self.lock:
            stream = FakeStream(self, plural, selector)
            objects = [o for (kind, _, _), o in self.objects.items() if kind == plural]
            since = int(dict(query).get("resourceVersion") or 0)
            stream.seed([o for o in objects if int(o["metadata"]["resourceVersion"]) <= since])
            for obj in objects:
                if int(obj["metadata"]["resourceVersion"]) > since:
                    stream.put("MODIFIED", obj)
            self.streams.append(stream)
        return stream

    def close(self) -> None:
        for stream in self.streams:
            stream.close()

    # -- for tests -----------------------------------------------------------------------------------------------

    def put(self, plural: str, obj: Obj) -> Obj:
        with self.lock:
            meta = obj["metadata"]
            meta["resourceVersion"] = str(next(self._versions))
            meta.setdefault("uid", f"uid-{plural}-{meta['name']}-{meta['resourceVersion']}")
            self.objects[(plural, meta.get("namespace", ""), meta["name"])] = obj
            self._emit("MODIFIED", plural, obj)
            return obj

    def get(self, plural: str, name: str, namespace: str = "default") -> Obj | None:
        with self.lock:
            return self.objects.get((plural, namespace, name)) or self.objects.get((plural, "", name))

    def force_delete(self, plural: str, name: str, namespace: str = "default") -> None:
        with self.lock:
            obj = self.objects.pop((plural, namespace, name))
            self._emit("DELETED", plural, obj)

    def all(self, plural: str) -> list[Obj]:
        with self.lock:
            return [o for (kind, _, _), o in sorted(self.objects.items()) if kind == plural]

    # -- inside --------------------------------------------------------------------------------------------------

    def _create(self, plural: str, namespace: str, data: Obj) -> Response:
        meta = data["metadata"]
        if "generateName" in meta:
            meta["name"] = f"{meta['generateName']}{len(self.objects)}"
        key = (plural, namespace, meta["name"])
        if key in self.objects:
            return self._answer(409, {"reason": "AlreadyExists", "message": "exists"})
        return self._answer(201, self.put(plural, data))

    def _delete(self, key: tuple[str, str, str], obj: Obj, options: Obj) -> Response:
        wanted = options.get("preconditions", {}).get("uid")
        if wanted and wanted != obj["metadata"]["uid"]:
            return self._answer(409, {"reason": "Conflict", "message": "uid differs"})
        graceful = key[0] == "pods" and obj["spec"].get("nodeName") and options.get("gracePeriodSeconds") != 0
        if graceful:
            marked = orjson.loads(orjson.dumps(obj))
            marked["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            return self._answer(200, self.put(key[0], marked))
        del self.objects[key]
        self._emit("DELETED", key[0], obj)
        return self._answer(200, obj)

    def _select(self, plural: str, namespace: str, query: dict[str, str]) -> list[Obj]:
        selector = selector_of(query)
        return [
            obj
            for (kind, where, _), obj in sorted(self.objects.items())
            if kind == plural and (not namespace or where == namespace) and matches(obj, selector)
        ]

    def _emit(self, kind: str, plural: str, obj: Obj) -> None:
        for stream in self.streams:
            if stream.plural == plural:
                stream.put(kind, obj)

    @staticmethod
    def _answer(status: int, body: Obj) -> Response:
        return Response(status, {}, orjson.dumps(body))


def selector_of(query: dict[str, str]) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in query.get("fieldSelector", "").split(",") if pair)


def parse(path: str) -> tuple[str, str, str | None, str | None]:
    """Plural, namespace, name, subresource."""
    parts = path.strip("/").split("/")
    parts = parts[3:] if parts[0] == "apis" else parts[2:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2:
        namespace, parts = parts[1], parts[2:]
    return parts[0], namespace, parts[1] if len(parts) > 1 else None, parts[2] if len(parts) > 2 else None


def strategic(old: Obj, patch: Obj) -> Obj:
    merged = dict(old)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif key == "conditions":
            held = {c["type"]: c for c in old.get("conditions") or ()}
            for condition in value:
                held[condition["type"]] = strategic(held.get(condition["type"], {}), condition)
            merged[key] = list(held.values())
        else:
            merged[key] = value
    return merged
