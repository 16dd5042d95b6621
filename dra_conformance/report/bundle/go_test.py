"""Tests in the forms of `go test -v` and `go test -json`. Both are one sequence of events, as for the real command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import orjson

from dra_conformance.report import stored
from dra_conformance.report.bundle.tree import PACKAGE, GoTest, Outcome
from dra_conformance.report.model import Report

_PREFIX = "report: "
"""Before each line of a test's own output: `--- PASS: X` in the text of a target is then no result."""


def log(tests: Sequence[GoTest], report: Report) -> str:
    """Return the output of `go test -v`."""
    return "".join(event["Output"] for event in _events(tests, report) if event["Action"] == "output")


def json_lines(tests: Sequence[GoTest], report: Report) -> bytes:
    """Return the output of `go test -json`: one event a line (`go doc test2json` describes them)."""
    return b"".join(orjson.dumps(event) + b"\n" for event in _events(tests, report))


def _events(tests: Sequence[GoTest], report: Report) -> Iterator[dict[str, Any]]:
    started, seconds = stored.started(report), 0.0

    def event(action: str, **fields: Any) -> dict[str, Any]:
        time = (started + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
        return {"Time": time, "Action": action, "Package": PACKAGE, **fields}

    yield event("start")
    for test in tests:
        for part in (test, *test.subtests):
            yield event("run", Test=part.name)
            yield event("output", Test=part.name, Output=f"=== RUN   {part.name}\n")
            for line in part.lines:
                yield event("output", Test=part.name, Output=f"    {_PREFIX}{line}\n")
        seconds += test.seconds
        yield event("output", Test=test.name, Output=_result(test, indent=""))
        for part in test.subtests:
            yield event("output", Test=part.name, Output=_result(part, indent="    "))
            yield event(part.outcome.value, Test=part.name, Elapsed=round(part.seconds, 2))
        yield event(test.outcome.value, Test=test.name, Elapsed=round(test.seconds, 2))
    failed = any(test.outcome is Outcome.FAIL for test in tests)
    yield event("output", Output="FAIL\n" if failed else "PASS\n")
    yield event("output", Output=f"{'FAIL' if failed else 'ok  '}\t{PACKAGE}\t{report.duration:.3f}s\n")
    yield event("fail" if failed else "pass", Elapsed=round(report.duration, 3))


def _result(test: GoTest, *, indent: str) -> str:
    return f"{indent}--- {test.outcome.value.upper()}: {test.name} ({test.seconds:.2f}s)\n"
