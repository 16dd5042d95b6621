"""Computes the verdict and the exit code of a run."""

from __future__ import annotations

from dataclasses import dataclass

from dra_conformance.core.errors import ExitCode
from dra_conformance.core.status import Status, Verdict
from dra_conformance.report.model import Problem, RuleResult, ScenarioResult, WaiverResult

_NOT_RUN = frozenset({Status.FILTERED, Status.NOT_APPLICABLE, Status.NOT_SUPPORTED})
_WORST_LAST = (Verdict.CONFORMANT, Verdict.PARTIAL, Verdict.NOT_CONFORMANT, Verdict.INVALID)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The results of a run. `required` is the verdict of --require, empty without the option.

    `isolated`: no program under test could have changed the results.
    """

    rules: tuple[RuleResult, ...]
    scenarios: tuple[ScenarioResult, ...]
    problems: tuple[Problem, ...]
    waivers: tuple[WaiverResult, ...]
    leftovers: tuple[str, ...]
    interrupted: bool
    required: str
    isolated: bool = True

    @property
    def statuses(self) -> set[Status]:
        """The statuses of scenarios that occur."""
        return {scenario.status for scenario in self.scenarios}

    @property
    def scored(self) -> set[Status]:
        """The statuses of MUST rules that occur."""
        return {rule.status for rule in self.rules if rule.level == "MUST"}


def verdict(outcome: Outcome) -> Verdict:
    """Return the verdict on the target."""
    # A run without a judged scenario says nothing; the empty set is a subset too.
    if Status.ERROR in outcome.statuses or outcome.problems or outcome.statuses <= _NOT_RUN:
        return Verdict.INVALID
    scored = outcome.scored
    if scored & {Status.FAILED, Status.UNTESTABLE}:
        return Verdict.NOT_CONFORMANT
    # A run that has judged no MUST rule is not conformant either.
    if scored & {Status.FILTERED, Status.WAIVED, Status.FLAKY} or not scored - _NOT_RUN or outcome.interrupted:
        return Verdict.PARTIAL
    if not outcome.isolated:
        return Verdict.PARTIAL
    return Verdict.CONFORMANT


def exit_code(outcome: Outcome) -> int:
    """Return the exit code: the first that applies, the most serious first."""
    if outcome.interrupted:
        return ExitCode.INTERRUPTED
    if outcome.problems:
        return outcome.problems[0].exit
    if outcome.statuses <= _NOT_RUN:
        return ExitCode.NOTHING_SELECTED
    if Status.ERROR in outcome.statuses:
        return ExitCode.HARNESS_ERROR
    if {Status.FAILED, Status.UNTESTABLE, Status.FLAKY} & outcome.scored:
        return ExitCode.FAILURES
    if any(waiver.state in ("stale", "expired") for waiver in outcome.waivers):
        return ExitCode.STALE_WAIVER
    if outcome.required and _WORST_LAST.index(verdict(outcome)) > _WORST_LAST.index(Verdict(outcome.required)):
        return ExitCode.BELOW_REQUIRED
    if outcome.leftovers:
        return ExitCode.LEFTOVERS
    return ExitCode.OK
