"""Formats events as the lines of a timeline.

A line leads with what happened to which object, and has JSON values whole. Paths of sockets, which differ for every
scenario, are in the event log only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import msgspec
import orjson

from dra_api.request import Request, request_info
from dra_conformance.core.events.kinds import (
    ApiWrite,
    CheckMade,
    CleanupStarted,
    Event,
    InventoryUsed,
    KubeletCall,
    KubeletEvent,
    KubeletLogCall,
    LogRecord,
    ObjectChanged,
    ProgramOutput,
    ScenarioFinished,
    ScenarioStarted,
    StepStarted,
    Traceback,
)

LIMIT = 120
LONGEST = 4000
"""The length of a value in characters; a longer one is not shown in part, because half a JSON value misleads."""
_ENVELOPE = ("kind", "seq", "prev", "t", "scenario")
_FIRST = ("step", "pod", "claim", "driver")
_NOT_SHOWN = ("endpoint", "socket", "uid", "node", "traceback")


def lines(events: Iterable[Event]) -> Iterator[str]:
    """Return one line for each event up to the scenario's clean-up.

    The middle of a long history is left out; one line has the number of events that are missing.
    """
    shown = story(events)
    began = 0.0
    for number, event in enumerate(shown.events):
        if event is None:
            yield f"    ...     ({shown.left_out} events left out; events.jsonl has them)"
        else:
            began = event.time if number == 0 else began
            yield f"+{event.time - began:8.3f}  {describe(event)}"


@dataclass(frozen=True, slots=True)
class Story:
    """The events of a scenario before its clean-up. None stands for the middle of a long history, `left_out` events."""

    events: tuple[Event | None, ...]
    left_out: int = 0


def story(events: Iterable[Event]) -> Story:
    """Return the events of a scenario up to its clean-up."""
    before = takewhile(lambda event: not isinstance(event, CleanupStarted), events)
    # The outputs of programs and the GPUs have places of their own in the report.
    found = tuple(event for event in before if not isinstance(event, (ProgramOutput, InventoryUsed)))
    if len(found) <= LIMIT:
        return Story(found)
    return Story((*found[: LIMIT // 3], None, *found[-(LIMIT - LIMIT // 3) :]), len(found) - LIMIT)


def describe(event: Event) -> str:
    """Return one event as text."""
    match event:
        case StepStarted():
            return f"{event.keyword.upper():<5}  {event.text}"
        case CheckMade():
            # The report shows expected and observed beside the timeline.
            mark = "ok" if event.ok else f"FAILED: {event.message}"
            return f"CHECK  {', '.join(event.rules)} {mark}"
        case KubeletCall():
            return f"CALL   {call(event)}  {event.driver}{_at(event)}, {event.service}"
        case KubeletLogCall():
            answer = f"error {_short(event.error)}" if event.error else _short(event.response)
            return f"CALL   {event.method} {_short(event.request)} -> {answer}  {event.driver}{_at(event)}"
        case ApiWrite():
            return f"API    {write(event)}  by {event.agent}"
        case ObjectChanged():
            return f"WATCH  {event.type} {event.resource} {event.name}{_brief(event.summary)}"
        case LogRecord():
            return f"LOG    {event.level} {event.logger}: {_short(_last_line(event.text))}"
        case Traceback():
            return f"ERROR  {_last_line(event.text)}"
        case ScenarioStarted():
            return f"BEGIN  {event.name}"
        case ScenarioFinished():
            return f"END    {event.status}" + (f": {event.reason}" if event.reason else "")
        case KubeletEvent():
            return f"{_kind(event).removeprefix('KUBELET-'):<6} {brief(event)}{_at(event)}"
        case _:
            return f"{_kind(event):<6} {_brief(_fields(event)).strip()}"


def call(event: KubeletCall) -> str:
    """Return a call of the kubelet: method, claims, the answer for each claim, gRPC code and duration."""
    answers: Mapping[str, Any] = event.response.get("claims") or {}
    claims = event.request.get("claims") or ()
    parts = [_claim(claim, answers.get(claim.get("uid"))) for claim in claims]
    # Answers for claims that were not in the request are what a faulty driver sends.
    asked = {claim.get("uid") for claim in claims}
    parts += [f"unknown claim {uid}: {_short(answer)}" for uid, answer in answers.items() if uid not in asked]
    code = event.code if event.code == "OK" else f"{event.code} {_short(event.error)}"
    return f"{event.method} {'; '.join(parts) or 'without claims'} -> {code} in {event.seconds:.3f} s"


def _claim(claim: Mapping[str, Any], answer: Any) -> str:
    name = f"claim {claim.get('name')}"
    if not isinstance(answer, Mapping):
        return name if answer is None else f"{name}: {_short(answer)}"
    if answer.get("error"):
        return f"{name}: error {_short(answer['error'])}"
    devices = [device for device in answer.get("devices") or () if isinstance(device, Mapping)]
    if not devices:
        return name
    shown = [f"{device.get('device_name')} {_short(device.get('cdi_device_ids') or [])}" for device in devices]
    return f"{name}: {', '.join(shown)}"


def write(event: ApiWrite) -> str:
    """Return a write: method, object, status and the reason of a refusal."""
    info = request_info(Request(event.method, event.path, ()))
    if info.is_resource:
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        name = "/".join(part for part in (info.namespace, info.name) if part)
        what = f"{resource} {name}".rstrip()
    else:
        what = event.path
    refusal = ": ".join(text for text in (event.reason, _short(event.message)) if text)
    return f"{event.method} {what} -> {event.status} {refusal}".rstrip()


def brief(event: KubeletEvent) -> str:
    """Return an event of the kubelet: its step, its object, and the other values without paths of sockets."""
    fields = _fields(event)
    head = " ".join(_short(fields.pop(name)) for name in _FIRST if fields.get(name))
    rest = {name: value for name, value in fields.items() if name not in (*_NOT_SHOWN, *_FIRST)}
    return f"{head}{_brief(rest)}".strip()


def _at(event: KubeletEvent) -> str:
    return f" on {event.node}" if event.node else ""


def _fields(event: Event) -> dict[str, Any]:
    fields = msgspec.to_builtins(event, str_keys=True, enc_hook=str)
    return {name: fields[name] for name in fields if name not in _ENVELOPE}


def _kind(event: Event) -> str:
    return str(event.__struct_config__.tag).upper()


def _last_line(text: str) -> str:
    found = text.strip().splitlines()
    return found[-1] if found else ""


def _brief(data: Mapping[str, Any]) -> str:
    parts = [f"{key}={_short(value)}" for key, value in data.items() if value not in (None, "", [], {}, ())]
    return "  " + " ".join(parts) if parts else ""


def _short(value: Any) -> str:
    """Return a value on one line: text as it is, everything else as JSON."""
    text = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"({len(text)} characters; events.jsonl has them)"
