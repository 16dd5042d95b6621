"""Statuses of scenarios and rules, and verdicts of runs."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """The status of a scenario or a rule. Every status but `passed` has a reason."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"  # the harness failed
    NOT_SUPPORTED = "not-supported"  # the rule is marked with a feature or gate that the target does not support
    NOT_APPLICABLE = "not-applicable"  # the version or the topology of the target cannot have the behaviour
    UNTESTABLE = "untestable"  # binds the target, but this run cannot observe it: counts as a failure
    FILTERED = "filtered"  # left out by the user's selection
    WAIVED = "waived"  # failed, with a waiver that has an owner, a reason and an expiry date
    FLAKY = "flaky"  # passed only when it was retried: counts as a failure


# A rule has the first of these statuses that any of its scenarios has.
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


class ProfileStatus(StrEnum):
    """The status of a profile: a verdict, or `not-judged`."""

    CONFORMANT = "conformant"
    PARTIAL = "partial"
    NOT_CONFORMANT = "not-conformant"
    NOT_JUDGED = "not-judged"  # no MUST rule of the profile that binds the target was judged


class Verdict(StrEnum):
    """The verdict on a target, worst last."""

    CONFORMANT = "conformant"
    PARTIAL = "partial"
    NOT_CONFORMANT = "not-conformant"
    INVALID = "invalid"
