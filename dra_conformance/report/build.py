"""Computes a report from events: statuses of scenarios and rules, the verdict, the exit code.

Nothing but the events is read, so anybody who has the log can compute the same report.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from dra_conformance.core.errors import ExitCode, SpecificationError
from dra_conformance.core.events.log import Event
from dra_conformance.core.events.timeline import lines as timeline_lines
from dra_conformance.core.option_table import OPTIONS
from dra_conformance.core.status import WORST_FIRST, Status, Verdict
from dra_conformance.core.tags import ON_REQUEST
from dra_conformance.report.model import Check, Report, RuleResult, ScenarioResult

_EVERYTHING = f"all but {', '.join(sorted(ON_REQUEST))}"


def build(events: Iterable[Event], *, events_sha256: str = "") -> Report:
    """The report of a run. Raises SpecificationError when the log holds no run."""
    started: Mapping[str, Any] | None = None
    plan: Mapping[str, Any] = {"scenarios": [], "rules": {}}
    finished: Mapping[str, Any] = {}
    problems: list[dict[str, Any]] = []
    by_scenario: dict[str, list[Event]] = defaultdict(list)
    last = 0.0
    for event in events:
        last = max(last, event.time)
        if event.kind == "run-started":
            started = event.data
        elif event.kind == "plan":
            plan = event.data
        elif event.kind == "run-finished":
            finished = event.data
        elif event.kind == "problem":
            problems.append(dict(event.data))
        if event.scenario:
            by_scenario[event.scenario].append(event)
    if started is None:
        raise SpecificationError("the event log holds no run: its first event is missing")
    complete = bool(finished)
    scenarios = tuple(_scenario(row, by_scenario.get(row["id"], []), started, complete) for row in plan["scenarios"])
    waivers = _waivers(started)
    rules = tuple(_rules(plan, scenarios, waivers))
    statistics = _statistics(scenario.status for scenario in scenarios)
    if sum(statistics[status.value] for status in Status) != statistics["planned"]:
        raise SpecificationError("the statuses do not add up to the plan")  # a guard on this module itself
    interrupted = bool(finished.get("interrupted")) or not complete
    verdict = _verdict(rules, scenarios, problems, interrupted=interrupted)
    leftovers = tuple(finished.get("leftovers") or ())
    return Report(
        run_id=started["runId"],
        started_at=started["startedAt"],
        duration=round(last, 3),
        suite=dict(started["suite"]),
        target=dict(started["target"]),
        evidence_class=started["target"].get("evidence", "evidence"),
        profiles=tuple(started["options"].get("profile") or (_EVERYTHING,)),
        verdict=verdict,
        exit_code=_exit_code(rules, scenarios, problems, waivers, leftovers, verdict, started, interrupted=interrupted),
        interrupted=interrupted,
        statistics=statistics,
        rule_statistics=_statistics(rule.status for rule in rules),
        rules=rules,
        scenarios=scenarios,
        problems=tuple(problems),
        waivers=tuple(waivers.values()),
        leftovers=leftovers,
        seed=int(started["seed"]),
        command=started.get("command", ""),
        events_sha256=events_sha256,
    )


def _scenario(
    row: Mapping[str, Any], events: list[Event], started: Mapping[str, Any], complete: bool
) -> ScenarioResult:
    common = {
        "id": row["id"],
        "name": row["name"],
        "chapter": row["chapter"],
        "where": row["where"],
        "rules": tuple(row["rules"]),
    }
    if row.get("status"):
        decided = Status(row["status"])
        repeat = _repeat(row["id"], started) if decided is Status.UNTESTABLE else ""
        return ScenarioResult(**common, status=decided, reason=row["reason"], repeat=repeat)
    end = next((event for event in reversed(events) if event.kind == "scenario-finished"), None)
    checks = tuple(
        Check(
            rules=tuple(event.data["rules"]),
            status=Status.PASSED if event.data["ok"] else Status.FAILED,
            message=event.data["message"],
            expected=event.data["expected"],
            observed=event.data["observed"],
            step=event.data["step"],
            event=event.seq,
        )
        for event in events
        if event.kind == "check"
    )
    if end is None:
        return ScenarioResult(
            **common,
            status=Status.FILTERED,
            reason=_unfinished(events, complete),
            checks=checks,
            timeline=tuple(timeline_lines(events)),
            repeat=_repeat(row["id"], started),
            evidence=f"events.jsonl#{events[0].seq}-{events[-1].seq}" if events else "",
        )
    status = Status(end.data["status"])
    reason = end.data.get("reason") or ""
    if status is Status.PASSED:
        judged = {rule for check in checks for rule in check.rules}
        if unjudged := set(row["rules"]) - judged:
            status, reason = Status.ERROR, f"passed without a check of {', '.join(sorted(unjudged))}"
    bad = status not in (Status.PASSED, Status.NOT_SUPPORTED, Status.NOT_APPLICABLE)
    return ScenarioResult(
        **common,
        status=status,
        reason=reason,
        duration=float(end.data.get("duration") or 0.0),
        failed_step=end.data.get("step") or "",
        checks=checks,
        timeline=tuple(timeline_lines(events)) if bad else (),
        repeat=_repeat(row["id"], started) if bad else "",
        evidence=f"events.jsonl#{events[0].seq}-{events[-1].seq}",
    )


def _unfinished(events: list[Event], complete: bool) -> str:
    if not complete:
        return "the run was cut off before it ended"
    return "cut off in the middle: the run was interrupted" if events else "not reached: the run stopped before it"


def _repeat(scenario: str, started: Mapping[str, Any]) -> str:
    words = ["dra-conformance", "run"]
    for key, value in started["options"].items():
        if key in ("focus", "skip", "rule", "profile", "seed", "out", "progress", "waivers", "require", "dry-run"):
            continue
        if value in (None, False, "", [], ()) or value == _DEFAULTS.get(key):
            continue
        if value is True:
            words.append(f"--{key}")
        elif isinstance(value, dict):  # of a file that may not be there when the command is repeated
            words += [f"--{key}", json.dumps({name: item for name, item in value.items() if item})]
        elif isinstance(value, (list, tuple)):
            words += [word for item in value for word in (f"--{key}", str(item))]
        else:
            words += [f"--{key}", str(value)]
    pattern = "^" + "".join("\\" + c if c in r"\.^$*+?{}[]|()" else c for c in scenario) + " "
    words += ["--focus", pattern, "--seed", str(started["seed"])]
    return shlex.join(words)


_DEFAULTS: Mapping[str, Any] = {option.name: option.default for option in OPTIONS}


def _rule_in(rule: str, scenario: ScenarioResult, planned_checks: int) -> tuple[Status, str]:
    """What one scenario says of one rule."""
    checks = [check for check in scenario.checks if rule in check.rules]
    if failed := next((check for check in checks if check.status is Status.FAILED), None):
        if scenario.status is Status.FLAKY:
            return Status.FLAKY, scenario.reason
        return Status.FAILED, f"{scenario.id}: {failed.message}"
    if scenario.status is Status.FAILED:
        # The scenario broke on another rule. This one stands only if all of its own steps were judged before that.
        if planned_checks and len({check.step for check in checks}) >= planned_checks:
            return Status.PASSED, ""
        return Status.UNTESTABLE, f"{scenario.id} failed on another rule before this one was judged"
    return scenario.status, scenario.reason


def _rules(
    plan: Mapping[str, Any], scenarios: Iterable[ScenarioResult], waivers: Mapping[str, dict[str, Any]]
) -> Iterable[RuleResult]:
    planned = {row["id"]: row.get("checks") or {} for row in plan["scenarios"]}
    collected: dict[str, list[tuple[Status, str, str]]] = defaultdict(list)
    for scenario in scenarios:
        for rule in scenario.rules:
            status, reason = _rule_in(rule, scenario, planned[scenario.id].get(rule, 0))
            collected[rule].append((status, reason, scenario.id))
    for rule_id, row in plan["rules"].items():
        outcomes = collected.get(rule_id, [])
        if not outcomes:
            continue
        status, reason, _ = min(outcomes, key=lambda outcome: WORST_FIRST.index(outcome[0]))
        waiver = waivers.get(rule_id)
        if waiver:
            if waiver["state"] == "expired":
                pass
            elif status in (Status.FAILED, Status.UNTESTABLE):
                status, reason = Status.WAIVED, f"{waiver['owner']}: {waiver['reason']} (until {waiver['expires']})"
            elif status is Status.PASSED:
                waiver["state"] = "stale"
        if status is not Status.PASSED and not reason:
            raise SpecificationError(f"rule {rule_id} is {status} without a reason")
        yield RuleResult(
            id=rule_id,
            level=row["level"],
            component=row["component"],
            text=row["text"],
            source=row["source"],
            status=status,
            reason=reason,
            scenarios=tuple(scenario for _, _, scenario in outcomes),
        )


def _waivers(started: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    today = date.fromisoformat(started["startedAt"][:10])
    found = {}
    for waiver in started["options"].get("waivers") or ():
        expired = date.fromisoformat(waiver["expires"]) < today
        found[waiver["rule"]] = {**waiver, "state": "expired" if expired else "active"}
    return found


def _statistics(statuses: Iterable[Status]) -> dict[str, int]:
    counts = Counter(statuses)
    return {"planned": counts.total(), **{status.value: counts[status] for status in Status}}


_NOT_RUN = frozenset({Status.FILTERED, Status.NOT_APPLICABLE, Status.NOT_SUPPORTED})


def _verdict(
    rules: Iterable[RuleResult],
    scenarios: Iterable[ScenarioResult],
    problems: Iterable[Mapping[str, Any]],
    *,
    interrupted: bool,
) -> Verdict:
    statuses = {scenario.status for scenario in scenarios}
    scored = {rule.status for rule in rules if rule.level == "MUST"}
    if Status.ERROR in statuses or any(problems) or statuses <= _NOT_RUN:
        return Verdict.INVALID
    if scored & {Status.FAILED, Status.UNTESTABLE}:
        return Verdict.NOT_CONFORMANT
    if scored & {Status.FILTERED, Status.WAIVED, Status.FLAKY} or not scored - _NOT_RUN or interrupted:
        return Verdict.PARTIAL
    return Verdict.CONFORMANT


def _exit_code(
    rules: Iterable[RuleResult],
    scenarios: Iterable[ScenarioResult],
    problems: list[dict[str, Any]],
    waivers: Mapping[str, Mapping[str, Any]],
    leftovers: Iterable[str],
    verdict: Verdict,
    started: Mapping[str, Any],
    *,
    interrupted: bool,
) -> int:
    statuses = {scenario.status for scenario in scenarios}
    scored = {rule.status for rule in rules if rule.level == "MUST"}
    required = started["options"].get("require") or ""
    order = [Verdict.CONFORMANT, Verdict.PARTIAL, Verdict.NOT_CONFORMANT, Verdict.INVALID]
    if interrupted:
        return ExitCode.INTERRUPTED
    if problems:
        return int(problems[0].get("exit", ExitCode.HARNESS_ERROR))
    if statuses <= _NOT_RUN:
        return ExitCode.NOTHING_SELECTED
    if Status.ERROR in statuses:
        return ExitCode.HARNESS_ERROR
    if {Status.FAILED, Status.UNTESTABLE, Status.FLAKY} & scored:
        return ExitCode.FAILURES
    if any(waiver["state"] in ("stale", "expired") for waiver in waivers.values()):
        return ExitCode.STALE_WAIVER
    if required and order.index(verdict) > order.index(Verdict(required)):
        return ExitCode.BELOW_REQUIRED
    if any(leftovers):
        return ExitCode.LEFTOVERS
    return ExitCode.OK
