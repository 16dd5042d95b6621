"""Formats events as the lines of a timeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any

import msgspec

from dra_conformance.core.events.kinds import (
    ApiWrite,
    CheckMade,
    CleanupStarted,
    Event,
    LogRecord,
    ObjectChanged,
    ScenarioFinished,
    ScenarioStarted,
    StepStarted,
    Traceback,
)

LIMIT = 120
_ENVELOPE = ("kind", "seq", "prev", "t", "scenario")


def lines(events: Iterable[Event]) -> Iterator[str]:
    """Return one line for each event up to the scenario's clean-up.

    The middle of a long history is left out; one line has the number of events that are missing.
    """
    story = list(takewhile(lambda event: not isinstance(event, CleanupStarted), events))
    if not story:
        return
    began = story[0].time
    kept: list[Event | None] = list(story)
    if len(story) > LIMIT:
        kept = [*story[: LIMIT // 3], None, *story[-(LIMIT - LIMIT // 3) :]]
    for event in kept:
        if event is None:
            yield f"    ...     ({len(story) - LIMIT} events left out; events.jsonl has them)"
        else:
            yield f"+{event.time - began:8.3f}  {describe(event)}"


def describe(event: Event) -> str:
    """Return one event as text."""
    match event:
        case StepStarted():
            return f"{event.keyword.upper():<5}  {event.text}"
        case CheckMade():
            mark = "ok" if event.ok else f"BROKEN: expected {event.expected}; saw {event.observed}"
            return f"CHECK  {', '.join(event.rules)} {mark}"
        case ApiWrite():
            reason = f" {event.reason}" if event.reason else ""
            return f"API    {event.agent}: {event.method} {event.path} -> {event.status}{reason}"
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
        case _:
            fields = msgspec.to_builtins(event, str_keys=True, enc_hook=str)
            kind = str(fields["kind"]).upper()
            return f"{kind:<6} {_brief({name: fields[name] for name in fields if name not in _ENVELOPE}).strip()}"


def _last_line(text: str) -> str:
    found = text.strip().splitlines()
    return found[-1] if found else ""


def _brief(data: Mapping[str, Any]) -> str:
    parts = [f"{key}={_short(value)}" for key, value in data.items() if value not in (None, "", [], {})]
    return "  " + " ".join(parts) if parts else ""


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= 160 else text[:157] + "..."
