"""The errors of the suite and the exit codes of its commands.

ExitCode is the only place in the project that defines an exit code.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from difflib import get_close_matches
from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of `dra-conformance`; docs/reference/reports-and-verdicts.md describes them."""

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
    """A problem described in one sentence, with an optional hint and the exit code of the command."""

    exit_code = ExitCode.HARNESS_ERROR

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = message
        self.hint = hint
        super().__init__(f"{message}\n  {hint}" if hint else message)


class UsageError(SuiteError):
    """The user's input is wrong: an option, tag, file or component."""

    exit_code = ExitCode.USAGE


class SpecificationError(SuiteError):
    """The specification contradicts itself: an undefined step, an unknown tag, a rule without a row."""

    exit_code = ExitCode.HARNESS_ERROR


class TargetUnreachable(SuiteError):
    """The system under test cannot be reached or started."""

    exit_code = ExitCode.TARGET_UNREACHABLE


class CheckFailed(AssertionError):
    """A check of the target failed. Carries the expected and the observed behaviour."""

    def __init__(self, message: str, *, expected: str, observed: str, rules: tuple[str, ...]) -> None:
        self.expected = expected
        self.observed = observed
        self.rules = rules
        super().__init__(message)


class StartFailed(Exception):
    """A reference component raised an error at its start that is not its user's to fix."""

    def __init__(self, component: str, error: BaseException) -> None:
        self.component = component
        self.problem = f"{type(error).__name__}: {error}"
        super().__init__(f"the {component} does not start: {self.problem}")


class Untestable(Exception):
    """A declared prerequisite of the target is missing, so the rules of the scenario cannot be judged."""


class NotApplicable(Exception):
    """The target has nothing that the rules of the scenario are about, for example only devices of another kind."""


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def cannot_write(error: OSError, folder: object = None) -> SuiteError:
    """Return the error for a file that cannot be written: of the harness if the disk is full, else of the usage."""
    kind = SuiteError if error.errno in _FULL else UsageError
    where = error.filename or folder
    return kind(f"cannot write to {where}: {error.strerror}", hint="Use --out for another directory.")


def unknown(noun: str, value: str, choices: Iterable[str], *, spellings: Iterable[str] = ()) -> UsageError:
    """Return the error for a value that is none of the choices; the hint is the nearest choice.

    Args:
        noun: what the value is, such as "profile".
        value: the value that the user wrote.
        choices: the accepted values, in the order of the message.
        spellings: the values to compare with for the hint, if they differ from the choices.
    """
    known = list(choices)
    near = get_close_matches(value, list(spellings) or known, n=1)
    return UsageError(
        f"unknown {noun} {value!r} (choose from {', '.join(known)})", hint=f"Did you mean {near[0]}?" if near else ""
    )
