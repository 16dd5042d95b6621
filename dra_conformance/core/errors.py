"""The suite's own errors and the exit codes that they end in.

One enum holds every exit code; nothing else in the project names a number.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What `dra-conformance` says to the shell."""

    OK = 0
    FAILURES = 1
    INTERRUPTED = 2
    HARNESS_ERROR = 3
    USAGE = 4
    NOTHING_SELECTED = 5
    TARGET_UNREACHABLE = 10
    STALE_WAIVER = 11
    BELOW_REQUIRED = 12
    LEFTOVERS = 13


class SuiteError(Exception):
    """A problem told in one sentence, with the exit code that it ends in."""

    exit_code = ExitCode.HARNESS_ERROR

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = message
        self.hint = hint
        super().__init__(f"{message}\n  {hint}" if hint else message)


class UsageError(SuiteError):
    """The user asked for something that cannot be: a wrong option, tag, file or component."""

    exit_code = ExitCode.USAGE


class SpecificationError(SuiteError):
    """The specification contradicts itself: an undefined step, an unknown tag, a rule without a row."""

    exit_code = ExitCode.HARNESS_ERROR


class TargetUnreachable(SuiteError):
    """The system under test cannot be reached or started."""

    exit_code = ExitCode.TARGET_UNREACHABLE


class CheckFailed(AssertionError):
    """A check found the target wrong. Carries what was expected and what was seen."""

    def __init__(self, message: str, *, expected: str, observed: str, rules: tuple[str, ...]) -> None:
        self.expected = expected
        self.observed = observed
        self.rules = rules
        super().__init__(message)


class Untestable(Exception):
    """A prerequisite that the target declared is missing, so the scenario's rules cannot be judged."""
