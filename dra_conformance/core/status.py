"""The closed set of outcomes, and which of them count against a target."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How one scenario, or one rule, ended. Every status but `passed` carries a reason."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    NOT_SUPPORTED = "not-supported"
    NOT_APPLICABLE = "not-applicable"
    UNTESTABLE = "untestable"
    FILTERED = "filtered"
    WAIVED = "waived"
    FLAKY = "flaky"


# Worst first: a rule has the first of these that any of its scenarios has.
WORST_FIRST = (
    Status.ERROR,
    Status.FAILED,
    Status.UNTESTABLE,
    Status.FLAKY,
    Status.WAIVED,
    Status.FILTERED,
    Status.PASSED,
    Status.NOT_SUPPORTED,
    Status.NOT_APPLICABLE,
)


class Verdict(StrEnum):
    """What a run says of its target, worst last."""

    CONFORMANT = "conformant"
    PARTIAL = "partial"
    NOT_CONFORMANT = "not-conformant"
    INVALID = "invalid"
