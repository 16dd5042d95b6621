"""Findings as text and JSON: marks and colours on a terminal, one line per finding in a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec

from dra_conformance.doctor.finding import Finding, State

_GREEN, _RED, _YELLOW, _DIM, _BOLD = "32", "31", "33", "2", "1"
_WIDTH = 26


def text(findings: Sequence[Finding], *, fancy: bool, color: bool) -> str:
    """Return the whole report. `fancy`: with headings, for a terminal; else every line is complete."""
    lines = list(_fancy(findings, color=color) if fancy else _plain(findings))
    return "\n".join([*lines, "", summary(findings)]) + "\n"


def summary(findings: Sequence[Finding]) -> str:
    """Return the last line: whether the run can start, and the number of problems."""
    blocking = [each for each in findings if each.prevents_run]
    others = sum(not each.needed and each.state is not State.OK for each in findings)
    is_or_are = "is" if others == 1 else "are"
    rest = f"; {others} more {is_or_are} missing or wrong, but not needed for it" if others else ""
    if not blocking:
        return f"This run can start{rest}."
    return f"{_count(len(blocking))} this run{rest}."


def document(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the report for JSON."""
    return {
        "apiVersion": "dra-conformance/v1",
        "kind": "DoctorReport",
        "ready": not any(each.prevents_run for each in findings),
        "findings": msgspec.to_builtins(list(findings)),
    }


def _count(number: int) -> str:
    return "1 problem prevents" if number == 1 else f"{number} problems prevent"


def _fancy(findings: Sequence[Finding], *, color: bool) -> Iterator[str]:
    for area, grouped in groupby(findings, key=lambda each: each.area):
        rows = list(grouped)
        blocked = any(each.prevents_run for each in rows)
        idle = not any(each.needed for each in rows)
        title = f"{area} (not needed for this run)" if idle else area
        yield ""
        yield _paint(title, _RED if blocked else _BOLD, color)
        for each in rows:
            mark, tone = _mark(each)
            yield f"  {_paint(mark, tone, color)} {each.name:<{_WIDTH}} {each.found or each.cause}".rstrip()
            if each.state is not State.OK:
                if each.found:
                    yield f"    {'':<{_WIDTH}} {each.cause}"
                yield f"    {'':<{_WIDTH}} {_paint('→ ' + each.way_out, _DIM, color)}"


def _mark(each: Finding) -> tuple[str, str]:
    if each.state is State.OK:
        return "✓", _GREEN
    return ("✗", _RED) if each.needed else ("!", _YELLOW)


def _plain(findings: Sequence[Finding]) -> Iterator[str]:
    for each in findings:
        need = "" if each.needed or each.state is State.OK else " (not needed for this run)"
        details = "; ".join(part for part in (each.found, each.cause) if part)
        yield f"{each.state.value:<8} {each.area}: {each.name}: {details}{need}"
        if each.way_out and each.state is not State.OK:
            yield f"         way out: {each.way_out}"


def _paint(words: str, code: str, color: bool) -> str:
    return f"\033[{code}m{words}\033[0m" if color else words
