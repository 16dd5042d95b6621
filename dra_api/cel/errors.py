"""Errors of CEL expressions: compilation fails, evaluation fails, or the cost limit is exceeded.

Messages follow cel-go 0.26 as Kubernetes 1.36 reports them, because conformance checks compare them.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CelCompileError", "CelError", "CelRuntimeError", "CostExceeded", "Issue", "render_issues"]


class CelError(Exception):
    """Any CEL error; ``message`` is the text that Kubernetes reports."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class CelCompileError(CelError):
    """The expression is invalid in its environment. ``issues`` is empty for a wrong result type."""

    def __init__(self, message: str, issues: tuple[Issue, ...] = ()) -> None:
        super().__init__(message)
        self.issues = issues


class CelRuntimeError(CelError):
    """Evaluation ended in an error value, for example ``no such key: x``."""


class CostExceeded(CelError):
    """Evaluation went over its cost limit. Not absorbed by ``||`` and ``&&``, unlike CelRuntimeError."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One error in the source: line from 1, column from 0 in code points. Line -1 means no position."""

    line: int
    column: int
    text: str


def render_issues(source: str, issues: list[Issue]) -> str:
    """Return all issues in source order, each with its line and a caret, in cel-go's format (common/error.go)."""
    return "\n".join(_render(source, issue) for issue in sorted(issues, key=lambda i: (i.line, i.column)))


def _render(source: str, issue: Issue) -> str:
    head = f"ERROR: <input>:{issue.line}:{issue.column + 1 if issue.line >= 0 else 0}: {issue.text}"
    lines = source.split("\n")
    if not 1 <= issue.line <= len(lines):
        return head
    line = lines[issue.line - 1].replace("\t", " ")
    if not line and not source:
        return head
    marks = "".join("．" if ord(ch) > 127 else "." for ch in line[: issue.column])
    caret = "＾" if issue.column < len(line) and ord(line[issue.column]) > 127 else "^"
    return f"{head}\n | {line}\n | {marks}{caret}"
