"""Reads the report of a finished run from its file, which may be damaged or written by another program."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from dra_api import regular_file
from dra_conformance.core import documents
from dra_conformance.core.errors import UsageError
from dra_conformance.core.events import SuiteInfo, TargetInfo
from dra_conformance.core.plain_text import one_line
from dra_conformance.report.model import Report

LARGEST = 64 * 1024 * 1024
"""The size of a report file in bytes, at most. The report of all scenarios with many failures is about 10 MiB."""
NAMES = ("report.json", "report.yaml")
"""The report files of a run, in order of preference."""

_TIME = "%Y-%m-%dT%H:%M:%SZ"
_REWRITE = "`dra-conformance report DIR --format files` rewrites it from the event log of the run."


# Another version of the suite may have more fields.
class _Suite(SuiteInfo, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=False):
    pass


class _Target(TargetInfo, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=False):
    pass


class _Stored(Report, frozen=True, kw_only=True, rename="camel"):
    api_version: Literal["dra-conformance/v1alpha1"]
    kind: Literal["ConformanceReport"]
    suite: _Suite
    target: _Target


def read(path: Path) -> Report:
    """Return the report of a file (JSON, or YAML by its name), or of the folder of a run.

    Raises:
        UsageError: there is no such file, it is too large, or it is not a report.
    """
    if path.is_dir():
        path = _in_folder(path)
    content = _content(path)
    try:
        if path.suffix in (".yaml", ".yml"):
            report = msgspec.convert(_document(content, path), _Stored)
        else:
            report = msgspec.json.decode(content, type=_Stored)
        started(report)
    except UsageError as error:
        raise UsageError(one_line(error.message), hint=_REWRITE) from None
    except RecursionError:
        raise UsageError(f"{path} is not a report: it is nested too deeply", hint=_REWRITE) from None
    # UnicodeDecodeError and the error of a date are ValueErrors, as those of msgspec are.
    except ValueError as error:
        raise UsageError(f"{path} is not a report: {one_line(str(error))}", hint=_REWRITE) from None
    return report


def started(report: Report) -> datetime:
    """Return when the run started. Raises ValueError if the report has no valid time."""
    return datetime.strptime(report.started_at, _TIME).replace(tzinfo=UTC)


def _in_folder(folder: Path) -> Path:
    for name in NAMES:
        if (folder / name).is_file():
            return folder / name
    raise UsageError(f"{folder} has no report: {' or '.join(NAMES)} is missing", hint=_REWRITE)


def _content(path: Path) -> bytes:
    """Return the bytes of a file. A pipe or a device, which might never end, is refused."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a file", hint="Write the report to a file first.")
    try:
        return regular_file.read(path, limit=LARGEST)
    except regular_file.UnusableFileError:
        raise UsageError(f"{path} is not a report: it is larger than {LARGEST // 1024**2} MiB") from None
    except OSError as error:
        hint = "Name a report.json, a report.yaml, or the report directory of a run."
        raise UsageError(f"cannot read {path}: {error.strerror}", hint=hint) from None


def _document(content: bytes, path: Path) -> Any:
    found = documents.load_all(content.decode(), where=str(path))
    if len(found) != 1:
        raise UsageError(f"{path} is not a report: it has {len(found)} documents")
    return found[0]
