"""The logs of a run in shards (`run --shard`): whether they belong together, and the report that follows from them.

The directory of a merged report has the log of each shard in `shards/I/events.jsonl`, and no log of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from dra_conformance.core.errors import UsageError
from dra_conformance.core.events import Event, PlannedScenario, RunPlanned, RunStarted
from dra_conformance.core.events.log import parse
from dra_conformance.core.plain_text import one_line
from dra_conformance.core.shard import MOST, Shard, elsewhere
from dra_conformance.core.status import Status
from dra_conformance.report import files
from dra_conformance.report.build import Part, build_merged, shard_of
from dra_conformance.report.files import EVENTS, SHARDS
from dra_conformance.report.model import Report

_OWN_OPTIONS = frozenset({"shard", "out", "progress", "report", "sign-key", "durations"})
"""Options in which the shards of one run may differ: they change no result."""
_SAME_RUN = "Name the reports of all shards of one run: the same version, options and target."


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardLog:
    """The event log of one shard. `folder` is the report directory that it was read from."""

    folder: Path
    content: bytes
    events: Sequence[Event]
    started: RunStarted
    plan: RunPlanned
    shard: Shard

    @property
    def sha256(self) -> str:
        """The digest of the log."""
        return hashlib.sha256(self.content).hexdigest()


def is_merged(folder: Path) -> bool:
    """Return whether a folder is that of a merged report."""
    return not (folder / EVENTS).is_file() and bool(files.shard_folders(folder))


def read_all(folders: Sequence[Path]) -> list[ShardLog]:
    """Read the logs of shards, all together as large as that of one run at most. Raises UsageError."""
    if len(folders) > MOST:
        raise UsageError(f"{len(folders)} report directories: a run has at most {MOST} shards", hint=_SAME_RUN)
    left, found = files.LARGEST_LOG, []
    for folder in folders:
        content = files.read_log(folder, limit=left)
        left -= len(content)
        found.append(_shard_log(folder, content))
    return found


def _shard_log(folder: Path, content: bytes) -> ShardLog:
    events = list(parse(content, name=str(folder / EVENTS)))
    started = next((event for event in events if isinstance(event, RunStarted)), None)
    plan = next((event for event in events if isinstance(event, RunPlanned)), None)
    if started is None or plan is None:
        raise UsageError(f"{folder} has no plan of a run: it ended before it was planned", hint="Run this shard again.")
    shard = shard_of(started)
    if shard is None:
        raise UsageError(f"{folder} is the report of a run that is not a shard", hint="Run it with --shard I/N.")
    return ShardLog(folder=folder, content=content, events=events, started=started, plan=plan, shard=shard)


def from_folder(folder: Path) -> Report:
    """Compute a merged report from the logs in its folder. Raises UsageError if they do not belong together."""
    return report_of(in_order(read_all(files.shard_folders(folder)), partial=True))


def report_of(logs: Sequence[ShardLog]) -> Report:
    """Return the report of shards that belong together, in their order. Raises UsageError if it cannot be computed."""
    with files.events_of_a_run(logs[0].folder):
        return build_merged(
            Part(events=log.events, sha256=log.sha256, folder=f"{SHARDS}/{log.shard.index}/") for log in logs
        )


def in_order(logs: Sequence[ShardLog], *, partial: bool = False) -> list[ShardLog]:
    """Return the shards of one run by their number. `partial`: some may be missing.

    Raises UsageError if they do not belong together, one is there twice, or one is missing.
    """
    if not logs:
        raise UsageError("there is no report of a shard", hint=_SAME_RUN)
    ordered = sorted(logs, key=lambda log: log.shard)
    for one, other in pairwise(ordered):
        if one.shard.count != other.shard.count:
            raise UsageError(
                f"{one.folder} is shard {one.shard}, and {other.folder} is shard {other.shard}", hint=_SAME_RUN
            )
        if one.shard == other.shard:
            raise UsageError(
                f"{one.folder} and {other.folder} are both shard {one.shard}", hint="Name one report for each shard."
            )
    count = ordered[0].shard.count
    if not partial and len(ordered) != count:
        there = {log.shard.index for log in ordered}
        missing = [str(number) for number in range(1, count + 1) if number not in there]
        named = ", ".join(missing[:10]) + (f" and {len(missing) - 10} more" if len(missing) > 10 else "")
        raise UsageError(
            f"shard{'s' * (len(missing) > 1)} {named} of {count} {'are' if len(missing) > 1 else 'is'} missing",
            hint="Run them and name their reports too, or use --partial: the verdict is at most partial then.",
        )
    for log in ordered[1:]:
        for difference in _differences(ordered[0], log):
            raise UsageError(f"{log.folder} does not belong to {ordered[0].folder}: {difference}", hint=_SAME_RUN)
    if problem := next(_misplaced(ordered), None):
        raise UsageError(problem, hint="Run this shard again.")
    return ordered


def _differences(one: ShardLog, other: ShardLog) -> Iterator[str]:
    """Yield why two shards are not of one run."""
    if one.started.run_id == other.started.run_id:
        yield f"both have the run id {one_line(one.started.run_id)}, and each shard has its own"
    for what, of in _FACTS.items():
        first, second = of(one), of(other)
        for name in sorted({*first, *second}):
            if first.get(name) != second.get(name):
                yield f"{what} {one_line(name)} {_shown(first.get(name))} and {_shown(second.get(name))}"
    if one.plan.rules != other.plan.rules:
        yield "they judge different rules"
    if [_fixed(row) for row in one.plan.scenarios] != [_fixed(row) for row in other.plan.scenarios]:
        yield "they have different plans"


def _suite(log: ShardLog) -> dict[str, Any]:
    suite = log.started.suite
    return {"version": suite.version, "rules": suite.rules_sha256[:12], "features": suite.features_sha256[:12]}


def _options(log: ShardLog) -> dict[str, Any]:
    return {str(name): value for name, value in log.started.options.items() if name not in _OWN_OPTIONS}


def _target(log: ShardLog) -> dict[str, Any]:
    # Another machine can isolate programs in another way; a program that is not isolated limits the merged verdict.
    found: dict[str, Any] = msgspec.to_builtins(log.started.target)
    return {name: value for name, value in found.items() if name != "isolation"}


_FACTS: dict[str, Callable[[ShardLog], dict[str, Any]]] = {
    "the suite has": _suite,
    "the options have": _options,
    "the target has": _target,
}


def _shown(value: object) -> str:
    return one_line(repr(value))[:80]


def _fixed(row: PlannedScenario) -> PlannedScenario:
    """Return what all shards plan alike: everything of a scenario that no shard runs, else all but the decision."""
    return msgspec.structs.replace(row, status=None, reason="", of_rules={}) if row.shard else row


def _misplaced(logs: Sequence[ShardLog]) -> Iterator[str]:
    """Yield which scenarios a shard runs that are in another one, or leaves out although they are its own."""
    for log in logs:
        names = [row.id for row in log.plan.scenarios]
        if len(set(names)) != len(names):
            yield f"{log.folder}: the plan has a scenario twice"
        for row in log.plan.scenarios:
            left_out = (row.status, row.reason) == (Status.FILTERED, elsewhere(row.shard, log.shard.count))
            if not 0 <= row.shard <= log.shard.count or (row.shard == 0 and row.status is None):
                yield f"{log.folder}: {one_line(row.id)} is in no shard of {log.shard.count}"
            elif left_out != (row.shard not in (0, log.shard.index)):
                yield f"{log.folder}: {one_line(row.id)} is in shard {row.shard}, and its plan says otherwise"
