"""Send probes to a control plane and record its normalised responses."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from itertools import repeat
from typing import Any

import orjson

from apiserver_emulator.decoding import PROTOBUF
from apiserver_emulator.protobuf import MAGIC, ProtobufError, decode, decode_events, encode
from apiserver_emulator.protobuf_responses import STREAM
from dra_api.clock import RealClock, timestamp
from dra_api.transport import Response, Stream, Transport, TransportError
from verification.fidelity import masks
from verification.fidelity.probe import Probe, Step
from verification.fidelity.responder import Responder
from verification.fidelity.targets import Target

_REFERENCE = re.compile(r"\{(\d+)((?:\.[\w-]+)+)\}")
_AGO = re.compile(r"\{(\d+) s ago\}")
_PATIENCE = 30.0
_INTERVAL = 0.1
_TIMEOUT = 20.0  # of one request, in seconds
# The server derives the field manager of a write from it.
_AGENT = {"User-Agent": "fidelity/1"}

Record = list[Any]


class Prober:
    """Sends probes to one control plane. It owns the transports that it opens, and the server of webhooks."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._transports: dict[tuple[str, tuple[str, ...]] | None, Transport] = {}
        self._lock = threading.Lock()
        self._responder: Responder | None = None

    def run_all(
        self, probes: Sequence[Probe], *, workers: int = 4, stop: Callable[[str, Record], bool] | None = None
    ) -> dict[str, Record]:
        """Run probes on `workers` threads; return the responses by probe id.

        The steps with disabled gates follow those of all probes, after one restart of the API server. `stop` gets the
        responses of each finished probe; once it returns True, no other probe is begun, and the result has the finished
        ones only.
        """
        running = [_RunningProbe(self, probe) for probe in probes]
        stopped = threading.Event()

        def run(each: _RunningProbe, part: int) -> None:
            if stopped.is_set():
                return
            for step in each.parts[part]:
                each.take(step)
            if part == each.last_part:
                each.finished = True
                if stop is not None and stop(each.probe.id, each.record):
                    stopped.set()

        # Side by side: every probe has a namespace and names of its own.
        try:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(run, running, repeat(0)))
                later = [each for each in running if each.last_part == 1]
                if later and not stopped.is_set():
                    self.disable_gates()
                    list(pool.map(run, later, repeat(1)))
        finally:
            self.close()
        return {each.probe.id: each.record for each in running if each.finished}

    def disable_gates(self) -> None:
        """Restart the API server with every optional gate off, and connect again."""
        self._target.disable_gates()
        with self._lock:
            self._transports.clear()

    def close(self) -> None:
        """End the server of webhooks, if a probe has started it."""
        with self._lock:
            if self._responder is not None:
                self._responder.close()
                self._responder = None

    def responder(self) -> Responder:
        """Return the server of webhooks; start it at the first call."""
        with self._lock:
            if self._responder is None:
                self._responder = Responder()
            return self._responder

    def transport(self, user: tuple[str, tuple[str, ...]] | None) -> Transport:
        """Return the transport of a user; None is the administrator."""
        with self._lock:
            if user not in self._transports:
                self._transports[user] = self._target.connect(user)
            return self._transports[user]


class _RunningProbe:
    """One probe at one control plane."""

    def __init__(self, prober: Prober, probe: Probe) -> None:
        self.record: Record = []
        self._answers: list[Any] = []
        self.probe = probe
        self.parts = (probe.steps, probe.gates_off)
        self.last_part = 1 if probe.gates_off else 0
        self.finished = False
        self._prober = prober
        self._clock = RealClock()
        self._never = threading.Event()
        self._namespace = False

    def take(self, step: Step) -> None:
        if step.events:
            self._watch(step)
            return
        answer = self._send(step)
        deadline = self._clock.monotonic() + step.patience
        while not self._satisfied(step, answer) and self._clock.monotonic() < deadline:
            self._clock.wait(self._never, _INTERVAL)
            answer = self._send(step)
        self._answers.append(_parsed(answer))
        if step.keep != "none":
            only = (*step.only[:2], self._fill(step.only[2])) if step.only else None
            chosen = replace(step, at=tuple(self._fill(key) for key in step.at), only=only)
            self.record.append({"request": _request(step), **_kept(answer, chosen)})

    @staticmethod
    def _satisfied(step: Step, answer: Response | str) -> bool:
        """Return whether this is the response that the step waits for."""
        if step.until and (answer.status if isinstance(answer, Response) else 0) != step.until:
            return False
        body = _parsed(answer) if step.until_body else None
        return all(_at(body, path) == value for path, value in step.until_body.items())

    def _send(self, step: Step) -> Response | str:
        path, body, query = self._filled(step)
        try:
            return self._prober.transport(self._user(step)).request(
                step.method,
                path,
                query=query,
                body=body,
                content_type=step.content_type,
                headers=self._headers(step),
                timeout=_TIMEOUT,
            )
        except TransportError as error:
            return _no_answer(error)

    def _user(self, step: Step) -> tuple[str, tuple[str, ...]] | None:
        return (self._fill(step.user[0]), step.user[1]) if step.user else None

    def _headers(self, step: Step) -> dict[str, str]:
        return {**_AGENT, **{name: self._fill(value) for name, value in step.headers.items()}}

    def _watch(self, step: Step) -> None:
        path, _, query = self._filled(step)
        query = [("watch", "true"), ("timeoutSeconds", str(step.seconds)), *query]
        opened: Stream | Response | str
        try:
            opened = self._prober.transport(self._user(step)).stream(
                path, query=query, headers=self._headers(step), timeout=step.seconds + _TIMEOUT
            )
        except TransportError as error:
            opened = _no_answer(error)
        # The server refused the watch before it began, or did not answer.
        if isinstance(opened, Response | str):
            self._answers.append(_parsed(opened))
            self.record.append({"request": _request(step), **_kept(opened, step)})
            return
        # Later steps refer to answers by number.
        self._answers.append(None)
        events: list[Any] = []
        self.record.append({"request": _request(step), "events": events})
        for inner in step.during:
            self.take(inner)
        with contextlib.closing(opened):
            events += _events(opened, step)

    def _filled(self, step: Step) -> tuple[str, bytes | None, list[tuple[str, str]]]:
        path = self._fill(step.path)
        query = [(name, self._fill(text)) for name, text in step.query]
        if step.body is None or isinstance(step.body, bytes):
            return path, step.body, query
        filled = self._fill(step.body)
        return path, encode(filled) if step.content_type == PROTOBUF else orjson.dumps(filled), query

    def _fill(self, found: Any) -> Any:
        if isinstance(found, dict):
            return {self._fill(key): self._fill(each) for key, each in found.items()}
        if isinstance(found, list):
            return [self._fill(each) for each in found]
        if not isinstance(found, str) or "{" not in found:
            return found
        if "{ns}" in found:
            self._make_namespace()
        found = found.replace("{ns}", self.probe.slug).replace("{id}", self.probe.slug)
        if "{hook" in found:
            responder = self._prober.responder()
            found = found.replace("{hook}", responder.url).replace("{hook-ca}", responder.authority)
        found = _AGO.sub(self._time, found)
        return _REFERENCE.sub(self._referred, found)

    def _referred(self, match: re.Match[str]) -> str:
        found: Any = self._answers[int(match[1])]
        for key in match[2][1:].split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        return str(found)

    def _time(self, match: re.Match[str]) -> str:
        return timestamp(self._clock.now() - timedelta(seconds=int(match[1])))

    def _make_namespace(self) -> None:
        if self._namespace:
            return
        self._namespace = True
        name, admin = self.probe.slug, self._prober.transport(None)
        body = orjson.dumps({"metadata": {"name": name, "labels": dict(self.probe.labels)}})
        # Without its namespace the probe differs, and is run again.
        with contextlib.suppress(TransportError):
            admin.request("POST", "/api/v1/namespaces", body=body)
            if self.probe.pods:
                self._wait_for_account(admin)

    def _wait_for_account(self, admin: Transport) -> None:
        # kube-apiserver refuses pods until the service account exists.
        deadline = self._clock.monotonic() + _PATIENCE
        path = f"/api/v1/namespaces/{self.probe.slug}/serviceaccounts/default"
        while admin.request("GET", path).status != 200 and self._clock.monotonic() < deadline:
            self._clock.wait(self._never, _INTERVAL)


def _no_answer(error: TransportError) -> str:
    # Messages of errors differ between transports, the type can be compared.
    return f"no answer: {type(error.__cause__).__name__}"


def _request(step: Step) -> str:
    return f"{step.method} {step.path}"


def _parsed(answer: Response | str) -> Any:
    if isinstance(answer, str):
        return None
    try:
        if answer.headers.get("content-type") == STREAM:
            return [{"type": kind, "object": found} for kind, found in decode_events(answer.body)]
        return decode(answer.body) if answer.body.startswith(MAGIC) else orjson.loads(answer.body)
    except (orjson.JSONDecodeError, ProtobufError):
        return None


def _events(stream: Iterable[bytes], step: Step) -> Iterator[Any]:
    try:
        for count, line in enumerate(stream, start=1):
            event = orjson.loads(line)
            found = event.get("object") or {}
            kept: Any = masks.value(found, managed=step.managed)
            if step.keep == "status" and event["type"] != "ERROR":
                kept = (found.get("metadata") or {}).get("name")
            yield {"type": event["type"], "object": kept}
            if count >= step.events:
                return
    except TransportError:
        yield {"type": "(the connection broke)", "object": None}


def _kept(answer: Response | str, step: Step) -> dict[str, Any]:
    if isinstance(answer, str):
        return {"code": answer}
    kept: dict[str, Any] = {"code": answer.status}
    body = _parsed(answer)
    for key in step.at:
        body = body.get(key) if isinstance(body, Mapping) else None
    if step.keep == "code":
        return kept
    if warning := answer.headers.get("warning"):
        kept["warning"] = masks.text(warning)
    if isinstance(body, Mapping) and body.get("kind") == "Status" and body.get("status") == "Failure":
        kept["status"] = {"reason": body.get("reason")} if step.keep == "status" else _status(body)
    elif step.keep == "status":
        return kept
    elif step.only is not None:
        items, where, wanted = step.only
        kept["body"] = masks.value([item for item in _at(body, items) or () if _at(item, where) == wanted])
    elif isinstance(step.keep, tuple):
        kept["body"] = {path: masks.field(path, _at(body, path), managed=step.managed) for path in step.keep}
    elif body is None:
        kept["type"] = answer.headers.get("content-type", "")
        kept["text"] = masks.text(answer.body[:400].decode(errors="replace"))
    else:
        kept["body"] = masks.value(body, managed=step.managed)
    return kept


def _status(body: Mapping[str, Any]) -> Any:
    """Return a failure with its causes sorted by field: validation guarantees no order."""
    found = masks.value(dict(body))
    details = found.get("details") or {}
    if not details:
        found.pop("details", None)  # no client distinguishes {} from absent details
    if causes := details.get("causes"):
        details["causes"] = sorted(causes, key=lambda cause: (cause.get("field") or "", str(cause)))
        if len(causes) > 1:
            found["message"] = _sorted_message(found["message"], details["causes"])
    return found


def _sorted_message(message: str, causes: list[Mapping[str, Any]]) -> str:
    """Return the message with its causes sorted by field."""
    head, found, _ = message.partition(" is invalid: [")
    if not found:
        return message
    texts = dict.fromkeys(f"{cause.get('field')}: {cause.get('message')}" for cause in causes)
    lost = "" if all(text in message for text in texts) else " (not the causes)"
    return f"{head}{found}{', '.join(texts)}]{lost}"


def _at(body: Any, path: str) -> Any:
    for key in path.split("."):
        if isinstance(body, list):
            body = [_at(each, key) for each in body]
        else:
            body = body.get(key) if isinstance(body, Mapping) else None
    return body
