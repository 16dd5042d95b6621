"""`dra-conformance merge`: one report from those of all shards of a run.

Each shard is verified first. The merged report keeps their logs, from which `verify` computes it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dra_api import regular_file
from dra_conformance.core.errors import UsageError, cannot_write
from dra_conformance.report import files, merged
from dra_conformance.report.merged import ShardLog
from dra_conformance.report.model import Report
from dra_conformance.report.verify import verify_log

_KEPT = ("failures/*/objects.json", "logs/*.log")
_LARGEST_FILE = 64 << 20
_MOST_FILES = 10_000
_SHOWN = 3


def merge(folders: Sequence[Path], *, partial: bool = False) -> tuple[list[ShardLog], Report]:
    """Verify the reports of shards, and return their logs in order with the report of all of them.

    `partial`: shards may be missing. Raises UsageError if a report does not verify, or they do not belong together.
    """
    for folder in folders:
        for name in (files.EVENTS, "report.json"):
            if not (folder / name).is_file():
                hint = "Name the report directory of a shard that ended, or run the shard again."
                raise UsageError(f"{folder} has no finished run: {name} is missing", hint=hint)
    logs = merged.in_order(merged.read_all(folders), partial=partial)
    for log in logs:
        _, differences = verify_log(log.folder, log.content, log.events)
        if differences:
            more = f" and {len(differences) - _SHOWN} more" if len(differences) > _SHOWN else ""
            raise UsageError(
                f"{log.folder} is not verified: {'; '.join(differences[:_SHOWN])}{more}",
                hint=f"`dra-conformance verify {log.folder}` lists all differences. Run this shard again.",
            )
    return logs, merged.report_of(logs)


def write(logs: Sequence[ShardLog], report: Report, folder: Path) -> None:
    """Write a merged report with the logs and the files of its shards. Raises UsageError if that is not possible."""
    here = folder.resolve()
    for log in logs:
        # Files there are removed before the report is written.
        if log.folder.resolve() == here or log.folder.resolve().is_relative_to(here / files.SHARDS):
            raise UsageError(
                f"--out {folder} is where the report of a shard is: {log.folder}", hint="Write to another directory."
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files.clear(folder)
        for log in logs:
            own = folder / files.SHARDS / str(log.shard.index)
            own.mkdir(parents=True, exist_ok=True)
            files.write_atomically(own / files.EVENTS, log.content, mode=0o600)
            for name, content in _files(log.folder):
                (own / name).parent.mkdir(parents=True, exist_ok=True)
                files.write_atomically(own / name, content)
        files.write_all(report, folder)
    except OSError as error:
        raise cannot_write(error, folder) from None


def _files(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield name and content of the files beside the log of a shard; those that cannot be read are left out."""
    found = sorted(path for pattern in _KEPT for path in folder.glob(pattern))
    for path in found[:_MOST_FILES]:
        if path.is_symlink() or not path.resolve().is_relative_to(folder.resolve()):
            continue
        try:
            yield path.relative_to(folder), regular_file.read(path, limit=_LARGEST_FILE)
        except OSError:
            continue
