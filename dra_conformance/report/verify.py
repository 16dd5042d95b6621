"""Verifies a finished run: its event log by itself, and its report files against the log.

A merged report has the logs of its shards; each is checked, and the report is computed from all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson

from dra_conformance.core.errors import SuiteError, UsageError
from dra_conformance.core.events import Event
from dra_conformance.core.events.log import parse
from dra_conformance.report import files, log_checks, merged, signature
from dra_conformance.report.model import Report, to_plain


def verify(folder: Path) -> tuple[Report, list[str]]:
    """Return the report that follows from the log, and all reasons to doubt it.

    Raises UsageError if the folder has no finished run.
    """
    if merged.is_merged(folder):
        return _verify_merged(folder)
    _require_finished(folder)
    # Read once: the checks of the log and the report are about the same bytes.
    content = files.read_log(folder)
    return verify_log(folder, content, list(parse(content, name=files.EVENTS)))


def verify_log(folder: Path, content: bytes, log: Sequence[Event]) -> tuple[Report, list[str]]:
    """Return the report that follows from a log that was read, and all reasons to doubt it. Raises UsageError."""
    computed = files.build_from(log, content, folder)
    with files.events_of_a_run(folder):
        found = log_checks.findings(content, log)
        return computed, [*found, *differences(computed, folder)]


def _verify_merged(folder: Path) -> tuple[Report, list[str]]:
    """Check the log of each shard, and the merged report against all of them."""
    if not (folder / "report.json").is_file():
        raise UsageError(f"{folder} has no merged report: report.json is missing")
    logs = merged.in_order(merged.read_all(files.shard_folders(folder)), partial=True)
    found = []
    for log in logs:
        place = log.folder.relative_to(folder)
        if log.folder.name != str(log.shard.index):
            found.append(f"{place}: the log is that of shard {log.shard}")
        with files.events_of_a_run(log.folder):
            found += [f"{place}: {finding}" for finding in log_checks.findings(log.content, log.events)]
    computed = merged.report_of(logs)
    return computed, [*found, *differences(computed, folder)]


def signed_by(folder: Path, allowed: Path) -> str:
    """Return who signed the report. `allowed` lists the signers. Raises SuiteError if none of them did."""
    path = folder / signature.NAME
    if not path.is_file():
        raise SuiteError(f"the report is not signed: {path.name} is missing")
    if not allowed.is_file():
        raise UsageError(f"--allowed-signers {allowed}: no such file")
    return signature.signer((folder / "report.json").read_bytes(), path, allowed)


def _require_finished(folder: Path) -> None:
    for name in (files.EVENTS, "report.json"):
        if not (folder / name).is_file():
            raise UsageError(f"{folder} has no finished run: {name} is missing")


def differences(computed: Report, folder: Path) -> list[str]:
    """Return how the report files of a folder differ from the report that follows from its log.

    Raises UsageError if report.json is not a report.
    """
    try:
        written = orjson.loads((folder / "report.json").read_bytes())
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{folder / 'report.json'} is not JSON: {error}") from None
    if not isinstance(written, dict):
        raise UsageError(f"{folder / 'report.json'} is not a report")
    # Through JSON once, so that numbers and text have the same form on both sides.
    expected = orjson.loads(orjson.dumps(to_plain(computed)))
    found = []
    for key in sorted(set(expected) | set(written)):
        if expected.get(key) == written.get(key):
            continue
        if key in ("scenarios", "rules"):
            found += _rows(key, expected.get(key) or [], written.get(key))
        else:
            found.append(f"{key}: the log has {expected.get(key)!r}, the report has {written.get(key)!r}")
    # With `run --report json` the others were not written.
    there = [form for form, name in files.FORMATS.items() if form != "json" and (folder / name).exists()]
    for name, text in (files.render(computed, there) if there else {}).items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != text:
            found.append(f"{name}: differs from the log")
    return found


def _rows(key: str, expected: list[dict[str, object]], written: object) -> list[str]:
    ours = {str(row.get("id")): row for row in expected}
    rows = written if isinstance(written, list) else []
    theirs = {str(row.get("id")): row for row in rows if isinstance(row, dict)}
    differences = []
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        if name not in theirs:
            differences.append(f"{key}: {name} is in the log but not in the report")
        elif name not in ours:
            differences.append(f"{key}: {name} is in the report but not in the log")
        elif ours[name] != theirs[name]:
            fields = sorted(f for f in {*ours[name], *theirs[name]} if ours[name].get(f) != theirs[name].get(f))
            shown = ", ".join(f"{f}: log {ours[name].get(f)!r}, report {theirs[name].get(f)!r}" for f in fields)
            differences.append(f"{key}: {name}: {shown[:300]}")
    return differences
