"""Computes the result of one scenario from its row of the plan and its events."""

from __future__ import annotations

from typing import Any

from dra_conformance.core.events import (
    MACHINE,
    CheckMade,
    Event,
    NvmlChanged,
    PlannedScenario,
    ProgramOutput,
    RunStarted,
    ScenarioFinished,
    ScenarioRetried,
)
from dra_conformance.core.events.timeline import lines
from dra_conformance.core.status import Status
from dra_conformance.report.exchanges import exchanges
from dra_conformance.report.model import Check, Output, ScenarioResult
from dra_conformance.report.repeat import command_line

_GOOD = (Status.PASSED, Status.NOT_SUPPORTED, Status.NOT_APPLICABLE)
_LIKE = 40  # characters of an observed value that two failures hardly have in common by chance


def scenario_result(
    row: PlannedScenario, events: list[Event], started: RunStarted, *, complete: bool, folder: str = ""
) -> ScenarioResult:
    """Return the result of a scenario. `complete`: the run reached its end. `folder`: the place of its log and files.

    `folder` is empty, or a path in the report directory with a slash at the end.
    """
    if row.status is not None:
        repeat = command_line(row, started) if row.status is Status.UNTESTABLE else ""
        return _result(row, row.status, row.reason, repeat=repeat)
    checks = tuple(_check(event) for event in events if isinstance(event, CheckMade))
    evidence = f"{folder}events.jsonl#{events[0].seq}-{events[-1].seq}" if events else ""
    end = next((event for event in reversed(events) if isinstance(event, ScenarioFinished)), None)
    status, reason = (end.status, end.reason) if end else (Status.FILTERED, _unfinished(events, complete=complete))
    if status is Status.PASSED:
        judged = {rule for check in checks for rule in check.rules}
        if unjudged := set(row.rules) - judged:
            status, reason = Status.ERROR, f"passed without a check of {', '.join(sorted(unjudged))}"
    good = status in _GOOD
    return _result(
        row,
        status,
        reason,
        duration=end.duration if end else 0.0,
        cpu=end.cpu if end else 0.0,
        failed_step=end.step if end else "",
        crash=end.crash if end else "",
        checks=checks,
        timeline=() if good else tuple(lines(events)),
        outputs=() if good else _outputs(events, folder),
        objects=f"{folder}{end.objects}" if end and end.objects and not good else "",
        exchanges=() if good else exchanges(events),
        inventories=() if good else _inventories(events),
        repeat="" if good else command_line(row, started),
        evidence=evidence,
    )


def _result(row: PlannedScenario, status: Status, reason: str, **more: Any) -> ScenarioResult:
    return ScenarioResult(
        id=row.id,
        name=row.name,
        chapter=row.chapter,
        where=row.where,
        rules=row.rules,
        status=status,
        reason=reason,
        **more,
    )


def _check(event: CheckMade) -> Check:
    return Check(
        rules=event.rules,
        status=Status.PASSED if event.ok else Status.FAILED,
        message=event.message,
        expected=event.expected,
        observed=event.observed,
        step=event.step,
        event=event.seq,
    )


def broken_check(scenario: ScenarioResult) -> Check | None:
    """Return the check that ended a scenario, if one did."""
    return next((check for check in scenario.checks if check.status is Status.FAILED), None)


def cause_of(scenario: ScenarioResult) -> str:
    """Return what two failures have in common if they have the same cause; empty if that cannot be said."""
    broken = broken_check(scenario)
    cause = scenario.crash or (broken.observed if broken is not None else scenario.reason)
    return cause if scenario.crash or len(cause) >= _LIKE else ""


def further_reason(scenario: ScenarioResult) -> str:
    """Return the part of a scenario's reason that its failed check does not have, such as missing permissions."""
    broken = broken_check(scenario)
    if broken is None:
        return scenario.reason
    said = f"{broken.message}: expected {broken.expected}; saw {broken.observed}"
    return scenario.reason.replace(said, "", 1).strip("; ")


def _outputs(events: list[Event], folder: str) -> tuple[Output, ...]:
    """Return the outputs of programs, of the last attempt that has any."""
    found: list[Output] = []
    begins = False
    for event in events:
        begins = begins or isinstance(event, ScenarioRetried)
        if isinstance(event, ProgramOutput):
            if begins:
                found, begins = [], False
            found.append(Output(program=event.program, file=f"{folder}{event.file}", lines=event.lines))
    return tuple(found)


def _inventories(events: list[Event]) -> tuple[str, ...]:
    """Return the names of the GPUs of a scenario, each once."""
    named = (event for event in events if isinstance(event, NvmlChanged))
    return tuple(dict.fromkeys(MACHINE if event.real else event.inventory for event in named))


def _unfinished(events: list[Event], *, complete: bool) -> str:
    if not complete:
        return "the run ended before it was complete"
    return "not finished: the run was interrupted" if events else "not reached: the run stopped before it"
