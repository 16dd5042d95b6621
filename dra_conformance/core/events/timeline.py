"""Turns events into lines that a person can follow: who did what, when, to which object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any

from dra_conformance.core.events.log import Event

LIMIT = 120


def lines(events: Iterable[Event]) -> Iterator[str]:
    """One line an event up to the scenario's clean-up; the middle of a long history is left out and counted."""
    story = takewhile(lambda event: event.kind != "teardown", events)
    told = [(event, text) for event in story if (text := tell(event))]
    if not told:
        return
    began = told[0][0].time
    kept: list[tuple[Event, str] | None] = list(told)
    if len(told) > LIMIT:
        kept = [*told[: LIMIT // 3], None, *told[-(LIMIT - LIMIT // 3) :]]
    for entry in kept:
        if entry is None:
            yield f"    ...     ({len(told) - LIMIT} events left out; events.jsonl has them)"
        else:
            yield f"+{entry[0].time - began:8.3f}  {entry[1]}"


def tell(event: Event) -> str:
    """One event in words; empty for those that say nothing to a reader."""
    data = event.data
    match event.kind:
        case "step":
            return f"{data['kind'].upper():<5}  {data['text']}"
        case "check":
            mark = "ok" if data["ok"] else "BROKEN"
            seen = "" if data["ok"] else f": expected {data['expected']}; saw {data['observed']}"
            return f"CHECK  {', '.join(data['rules'])} {mark}{seen}"
        case "api":
            code = data.get("status", "")
            reason = f" {data['reason']}" if data.get("reason") else ""
            return f"API    {data['agent']}: {data['method']} {data['path']} -> {code}{reason}"
        case "object":
            return f"WATCH  {data['type']} {data['resource']} {data['name']}{_brief(data.get('summary') or {})}"
        case "log":
            return f"LOG    {data['level']} {data['logger']}: {_short(str(data['text']).strip().splitlines()[-1])}"
        case "traceback":
            return "ERROR  " + str(data["text"]).strip().splitlines()[-1]
        case "scenario-started":
            return f"BEGIN  {data['name']}"
        case "scenario-finished":
            return f"END    {data['status']}" + (f": {data['reason']}" if data.get("reason") else "")
        case kind:
            return f"{kind.upper():<6} {_brief(data).strip()}"


def _brief(data: Mapping[str, Any]) -> str:
    parts = [f"{key}={_short(value)}" for key, value in data.items() if value not in (None, "", [], {})]
    return "  " + " ".join(parts) if parts else ""


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= 160 else text[:157] + "..."
