"""Computes the verdict and the exit code of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from dra_conformance.core.errors import ExitCode
from dra_conformance.core.status import ProfileStatus, Status, Verdict
from dra_conformance.report.model import Problem, ProfileResult, RuleResult, ScenarioResult, ShardResult, WaiverResult

_NOT_RUN = frozenset({Status.FILTERED, Status.NOT_APPLICABLE, Status.NOT_SUPPORTED})
_WORST_LAST = (Verdict.CONFORMANT, Verdict.PARTIAL, Verdict.NOT_CONFORMANT, Verdict.INVALID)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The results of a run. `required` is the verdict of --require, or empty.

    `ran`: the plan has scenarios to run. `isolated`: no program under test could have changed the results.
    `elsewhere`: the number of scenarios that run in shards that the report does not have.
    """

    rules: tuple[RuleResult, ...]
    scenarios: tuple[ScenarioResult, ...]
    profiles: tuple[ProfileResult, ...]
    problems: tuple[Problem, ...]
    waivers: tuple[WaiverResult, ...]
    leftovers: tuple[str, ...]
    interrupted: bool
    required: str
    ran: bool = True
    isolated: bool = True
    elsewhere: int = 0

    @property
    def statuses(self) -> set[Status]:
        """The statuses of scenarios that occur."""
        return {scenario.status for scenario in self.scenarios}

    @property
    def scored(self) -> set[Status]:
        """The statuses of MUST rules that occur."""
        return {rule.status for rule in self.rules if rule.level == "MUST"}

    @property
    def not_judged(self) -> list[str]:
        """The selected profiles of which no MUST rule was judged, although the user's selection left none out."""
        return [one.name for one in self.profiles if one.status is ProfileStatus.NOT_JUDGED and not one.deselected]


def verdict(outcome: Outcome) -> Verdict:
    """Return the verdict on the target."""
    # A run without a judged scenario says nothing; the empty set is a subset too.
    nothing = not outcome.ran or outcome.statuses <= _NOT_RUN
    if Status.ERROR in outcome.statuses or outcome.problems or nothing:
        return Verdict.INVALID
    scored, profiles = outcome.scored, {profile.status for profile in outcome.profiles}
    if scored & {Status.FAILED, Status.UNTESTABLE} or ProfileStatus.NOT_CONFORMANT in profiles:
        return Verdict.NOT_CONFORMANT
    # A run that has judged no MUST rule is not conformant either.
    if scored & {Status.FILTERED, Status.WAIVED, Status.FLAKY} or not scored - _NOT_RUN or outcome.interrupted:
        return Verdict.PARTIAL
    if not outcome.isolated or outcome.elsewhere:
        return Verdict.PARTIAL
    return Verdict.CONFORMANT if profiles <= {ProfileStatus.CONFORMANT} else Verdict.PARTIAL


def exit_code(outcome: Outcome) -> int:
    """Return the exit code: the first that applies, the most serious first."""
    if outcome.interrupted:
        return ExitCode.INTERRUPTED
    if outcome.problems:
        return outcome.problems[0].exit
    if not outcome.ran or outcome.statuses <= _NOT_RUN:
        return ExitCode.NOTHING_SELECTED
    if Status.ERROR in outcome.statuses:
        return ExitCode.HARNESS_ERROR
    failed = any(profile.status is ProfileStatus.NOT_CONFORMANT for profile in outcome.profiles)
    if failed or {Status.FAILED, Status.UNTESTABLE, Status.FLAKY} & outcome.scored:
        return ExitCode.FAILURES
    if any(waiver.state in ("stale", "expired") for waiver in outcome.waivers):
        return ExitCode.STALE_WAIVER
    if outcome.not_judged:
        return ExitCode.BELOW_REQUIRED
    if outcome.required and _WORST_LAST.index(verdict(outcome)) > _WORST_LAST.index(_required(outcome)):
        return ExitCode.BELOW_REQUIRED
    if outcome.leftovers:
        return ExitCode.LEFTOVERS
    return ExitCode.OK


def _required(outcome: Outcome) -> Verdict:
    """Return the verdict of --require. A shard cannot be better than partial: the merged report is required to be."""
    return Verdict.PARTIAL if outcome.elsewhere else Verdict(outcome.required)


def caveats(
    outcome: Outcome, *, simulated: tuple[str, ...], rehearsal: bool, shards: tuple[ShardResult, ...] = ()
) -> Iterator[str]:
    """Yield the limits of the verdict, one sentence part each.

    Args:
        outcome: the results of the run.
        simulated: the parts of the system that the suite simulates.
        rehearsal: whether the control plane is simulated.
        shards: the shards of the report.
    """
    if shards and (elsewhere := outcome.elsewhere):
        there, count = sorted(one.index for one in shards), shards[0].count
        named = f"shard{'s' * (len(there) > 1)} {', '.join(map(str, there))} of {count}"
        yield f"{named}: {elsewhere} of {len(outcome.scenarios)} scenarios are in other shards"
    if len(shards) > 1:
        yield f"merged from {len(shards)} shards"
    if names := outcome.not_judged:
        yield f"not judged: {', '.join(names)}"
    counts = Counter(scenario.status for scenario in outcome.scenarios)
    if left_out := counts[Status.FILTERED] - outcome.elsewhere:
        yield f"selection: {left_out} of {len(outcome.scenarios)} scenarios left out"
    if flaky := counts[Status.FLAKY]:
        yield f"retries: {flaky} scenario{'s' * (flaky > 1)} passed on a retry only"
    if waived := sum(rule.status is Status.WAIVED for rule in outcome.rules):
        yield f"waived: {waived} rule{'s' * (waived > 1)}"
    if rehearsal:
        yield "rehearsal on a simulated control plane, not evidence"
    if others := [part for part in simulated if part != "control plane"]:
        yield f"simulated: {', '.join(others)}"
