"""A transport that answers from a script and remembers what it was asked."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from dra_api.transport import Response, Stream, TransportError

Asked = tuple[str, str, dict[str, str]]


def answer(body: Any, status: int = 200) -> Response:
    return Response(status, {}, orjson.dumps(body))


def refusal(status: int, reason: str, message: str = "no", **details: Any) -> Response:
    return answer({"kind": "Status", "code": status, "reason": reason, "message": message, "details": details}, status)


def pod(name: str, version: int, uid: str = "u", **more: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": f"{uid}-{name}", "resourceVersion": str(version)},
        **more,
    }


def pods(version: int, *items: dict[str, Any], more: str = "") -> Response:
    return answer({"metadata": {"resourceVersion": str(version), "continue": more}, "items": list(items)})


class Feed(Stream):
    """A watch that says what it is told to, until it is ended or closed."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[bytes | Exception | None] = queue.SimpleQueue()
        self.closed = threading.Event()

    def say(self, kind: str, obj: dict[str, Any]) -> Feed:
        self._lines.put(orjson.dumps({"type": kind, "object": obj}))
        return self

    def end(self) -> Feed:
        self._lines.put(None)
        return self

    def break_off(self) -> Feed:
        self._lines.put(TransportError("the line broke"))
        return self

    def __iter__(self) -> Iterator[bytes]:
        while (line := self._lines.get()) is not None:
            if isinstance(line, Exception):
                raise line
            yield line

    def close(self) -> None:
        self.closed.set()
        self._lines.put(None)


class Scripted:
    """`lists` answers requests and `feeds` watches, in order; the last of each is repeated."""

    def __init__(self, lists: Sequence[Response | Exception] = (), feeds: Sequence[Stream | Response | Exception] = ()):
        self._lists = list(lists)
        self._feeds = list(feeds)
        self.asked: list[Asked] = []
        self.bodies: list[tuple[str, bytes | None, Mapping[str, str]]] = []
        self._changed = threading.Condition()

    def _next(self, script: list[Any]) -> Any:
        found = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(found, Exception):
            raise found
        return found

    def _note(self, method: str, path: str, query: Sequence[tuple[str, str]]) -> None:
        with self._changed:
            self.asked.append((method, path, dict(query)))
            self._changed.notify_all()

    def wait(self, look: Callable[[list[Asked]], bool], seconds: float = 60.0) -> None:
        """Until what was asked looks like that."""
        with self._changed:
            assert self._changed.wait_for(lambda: look(self.asked), seconds), self.asked

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] = {},
        timeout: float | None = None,
    ) -> Response:
        self.bodies.append((content_type, body, dict(headers)))
        try:
            found: Response = self._next(self._lists)
            return found
        finally:
            self._note(method, path, query)

    def stream(
        self,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] = {},
        timeout: float | None = None,
    ) -> Stream | Response:
        try:
            found: Stream | Response = self._next(self._feeds)
            return found
        finally:
            self._note("WATCH", path, query)

    def close(self) -> None:
        return
