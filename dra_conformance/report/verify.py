"""Verifies a finished run: its event log by itself, and its report files against the log."""

from __future__ import annotations

from pathlib import Path

import orjson

from dra_conformance.core.errors import SuiteError, UsageError
from dra_conformance.core.events.log import parse
from dra_conformance.report import files, log_checks, signature
from dra_conformance.report.model import Report, to_plain


def verify(folder: Path) -> tuple[Report, list[str]]:
    """Return the report that follows from the log, and all reasons to doubt it.

    Raises UsageError if the folder has no finished run.
    """
    computed, differences = compare(folder)
    content = (folder / files.EVENTS).read_bytes()
    return computed, [*log_checks.findings(content, list(parse(content, name=files.EVENTS))), *differences]


def signed_by(folder: Path, allowed: Path) -> str:
    """Return who signed the report. `allowed` lists the signers. Raises SuiteError if none of them did."""
    path = folder / signature.NAME
    if not path.is_file():
        raise SuiteError(f"the report is not signed: {path.name} is missing")
    if not allowed.is_file():
        raise UsageError(f"--allowed-signers {allowed}: no such file")
    return signature.signer((folder / "report.json").read_bytes(), path, allowed)


def compare(folder: Path) -> tuple[Report, list[str]]:
    """Compute the report from the log, and return it with all differences from the files.

    Raises UsageError if the folder has no finished run.
    """
    for name in (files.EVENTS, "report.json"):
        if not (folder / name).is_file():
            raise UsageError(f"{folder} has no finished run: {name} is missing")
    computed = files.from_folder(folder)
    try:
        written = orjson.loads((folder / "report.json").read_bytes())
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{folder / 'report.json'} is not JSON: {error}") from None
    if not isinstance(written, dict):
        raise UsageError(f"{folder / 'report.json'} is not a report")
    # Through JSON once, so that numbers and text have the same form on both sides.
    expected = orjson.loads(orjson.dumps(to_plain(computed)))
    differences = []
    for key in sorted(set(expected) | set(written)):
        if expected.get(key) == written.get(key):
            continue
        if key in ("scenarios", "rules"):
            differences += _rows(key, expected.get(key) or [], written.get(key) or [])
        else:
            differences.append(f"{key}: the log has {expected.get(key)!r}, the report has {written.get(key)!r}")
    for name, text in files.render(computed).items():
        path = folder / name
        if name == "report.json":
            continue
        if not path.is_file():
            differences.append(f"{name}: missing")
        elif path.read_bytes() != text:
            differences.append(f"{name}: differs from the log")
    return computed, differences


def _rows(key: str, expected: list[dict[str, object]], written: list[dict[str, object]]) -> list[str]:
    ours = {row.get("id"): row for row in expected}
    theirs = {row.get("id"): row for row in written if isinstance(row, dict)}
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
