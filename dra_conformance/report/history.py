"""Lists the reports below a folder, oldest first, each with its change since the report before it."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from dra_conformance.core.errors import UsageError
from dra_conformance.core.plain_text import one_line
from dra_conformance.core.status import Status, Verdict
from dra_conformance.report import stored
from dra_conformance.report.comparison import BAD, Change, change_of
from dra_conformance.report.model import Report

MOST = 2_000
"""The number of reports that one history has, at most."""

_WORDS = {
    Change.NEW_FAILURE: "newly failed",
    Change.FIXED: "fixed",
    Change.NEWLY_JUDGED: "newly judged",
    Change.NO_LONGER_JUDGED: "no longer judged",
    Change.ADDED: "added",
    Change.REMOVED: "removed",
    Change.OTHER: "changed otherwise",
}


class Entry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One report. `changes` has the numbers of rules by change since the report before it of the same target.

    `changes` is None if there is no such report. `not_judged` counts the rules that did not pass, fail or get waived.
    """

    path: str
    started_at: str
    target: str
    suite: str
    verdict: Verdict
    interrupted: bool
    passed: int
    failed: int
    waived: int
    not_judged: int
    changes: dict[Change, int] | None


def find(folder: Path) -> list[Path]:
    """Return the report files below a folder: report.json, or report.yaml if there is no report.json beside it.

    Raises UsageError if the folder has none, or too many. Symbolic links to folders are not followed.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", hint="Name a folder with the report directories of several runs.")
    found = []
    for place, folders, names in os.walk(folder):
        folders.sort()
        present = [name for name in stored.NAMES if name in names]
        found += [Path(place) / name for name in present[:1]]
        if len(found) > MOST:
            raise UsageError(f"more than {MOST} reports below {folder}", hint="Name a folder with fewer reports.")
    if not found:
        raise UsageError(
            f"no report below {folder}: no folder has a {' or '.join(stored.NAMES)}",
            hint="`dra-conformance run --out DIR` writes the report of a run into DIR.",
        )
    return found


def read(paths: Iterable[Path]) -> tuple[list[Entry], list[UsageError]]:
    """Return the entries of all readable reports, oldest first, and the errors of the others."""
    read_, errors = [], []
    for path in paths:
        try:
            report = stored.read(path)
        except UsageError as error:
            errors.append(error)
        else:
            # Without scenarios and texts: all reports are in memory at once.
            statuses = {rule.id: rule.status for rule in report.rules}
            read_.append((_entry(path, report), statuses))
    read_.sort(key=lambda one: (one[0].started_at, one[0].path))
    return list(_with_changes(read_)), errors


def target_name(report: Report) -> str:
    """Return the components under test that are not the reference, the Kubernetes release and the control plane."""
    target = report.target
    others = [
        f"{component} {how}"
        for component, how in target.components.items()
        if component != "control-plane" and how not in ("reference", "none")
    ]
    parts = [", ".join(others) or "reference components", f"Kubernetes {target.kubernetes_version}"]
    return one_line("; ".join([*parts, target.control_plane]))


def changed(changes: dict[Change, int] | None) -> str:
    """Return the numbers of changed rules in words."""
    if changes is None:
        return "first report"
    words = [f"{changes[change]} {word}" for change, word in _WORDS.items() if changes.get(change)]
    return ", ".join(words) or "no change"


def render(entries: Iterable[Entry], *, width: int) -> Iterator[str]:
    """Yield the table in lines of `width` characters at most. The target has a line where it changes.

    The change since the report before has a line of its own if it does not fit beside the numbers.
    """
    yield f"{'date (UTC)':<16}  {'verdict':<14} {'passed':>6} {'failed':>6} {'not judged':>10}"
    target = ""
    for entry in entries:
        if entry.target != target:
            target = entry.target
            yield from textwrap.wrap(target, width, initial_indent="target: ", subsequent_indent="        ")
        date = entry.started_at[:16].replace("T", " ")
        row = f"{date:<16}  {entry.verdict:<14} {entry.passed:>6} {entry.failed:>6} {entry.not_judged:>10}"
        notes = "; ".join(
            [
                *(["interrupted"] if entry.interrupted else []),
                *([f"{entry.waived} waived"] if entry.waived else []),
                changed(entry.changes),
            ]
        )
        text = f"{notes}  ({one_line(entry.path)})"
        if len(row) + 2 + len(text) <= width:
            yield f"{row}  {text}"
        else:
            yield row
            yield from textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="    ")


def _entry(path: Path, report: Report) -> Entry:
    counts = Counter(rule.status for rule in report.rules)
    failed = sum(counts[status] for status in BAD)
    passed, waived = counts[Status.PASSED], counts[Status.WAIVED]
    return Entry(
        path=str(path),
        started_at=report.started_at,
        target=target_name(report),
        suite=report.suite.version,
        verdict=report.verdict,
        interrupted=report.interrupted,
        passed=passed,
        failed=failed,
        waived=waived,
        not_judged=counts.total() - passed - failed - waived,
        changes=None,
    )


def _with_changes(reports: Iterable[tuple[Entry, dict[str, Status]]]) -> Iterator[Entry]:
    latest: dict[str, dict[str, Status]] = {}
    for entry, statuses in reports:
        before = latest.get(entry.target)
        latest[entry.target] = statuses
        if before is None:
            yield entry
            continue
        changes = Counter(change_of(before.get(rule), statuses.get(rule)) for rule in {**before, **statuses})
        yield msgspec.structs.replace(entry, changes={change: changes[change] for change in Change if changes[change]})
