"""Writes the reports of a run into its folder. Each file is written aside and renamed, so it is always complete."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import orjson

from dra_api import regular_file
from dra_conformance.core.component_spec import CHOICES
from dra_conformance.core.errors import SpecificationError, UsageError
from dra_conformance.core.events import Event
from dra_conformance.core.events.log import parse
from dra_conformance.core.plain_text import one_line
from dra_conformance.report import junit, signature, yaml_text
from dra_conformance.report.build import build
from dra_conformance.report.model import Report, to_plain

EVENTS = "events.jsonl"
SHARDS = "shards"
"""The folder with the logs of shards in the folder of a merged report."""
NAMES = ("report.json", "report.yaml", "junit.xml", "report.html")
_DAMAGED = "The log is damaged, or from another version of the suite. Run the suite again."
FORMATS = {"json": "report.json", "yaml": "report.yaml", "junit": "junit.xml", "html": "report.html"}


LARGEST_LOG = 1 << 30
"""The size of an event log in bytes, at most. That of a run of all scenarios is about 60 MiB."""


def from_folder(folder: Path) -> Report:
    """Compute the report from the event log of a folder.

    Raises:
        UsageError: there is no such log, it is too large or damaged, or its events are not those of a run.
    """
    content = read_log(folder)
    return build_from(list(parse(content, name=EVENTS)), content, folder)


def shard_folders(folder: Path) -> list[Path]:
    """Return the folders with the logs of shards in the folder of a merged report, in their order."""
    found = [path.parent for path in folder.glob(f"{SHARDS}/*/{EVENTS}") if path.parent.name.isdecimal()]
    return sorted(found, key=lambda path: (len(path.name), path.name))


def read_log(folder: Path, *, limit: int = LARGEST_LOG) -> bytes:
    """Return the content of the event log of a folder. Raises UsageError if it cannot be read."""
    path = folder / EVENTS
    try:
        return regular_file.read(path, limit=limit)
    except OSError as error:
        hint = "Name the report directory of a run."
        raise UsageError(f"cannot read {path}: {error.strerror}", hint=hint) from None


def build_from(log: Sequence[Event], content: bytes, folder: Path) -> Report:
    """Compute the report from the events of a log and its content. Raises UsageError as `from_folder` does."""
    with events_of_a_run(folder):
        return build(log, events_sha256=hashlib.sha256(content).hexdigest())


@contextlib.contextmanager
def events_of_a_run(folder: Path) -> Iterator[None]:
    """Raise UsageError if the events of a folder's log, each of which has its form, do not fit together."""
    try:
        yield
    except UsageError:
        raise
    except SpecificationError as error:
        raise UsageError(f"{folder / EVENTS}: {error.message}", hint=_DAMAGED) from None
    # Options of a run have any form, for example; what reads them expects that of this suite.
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        cause = one_line(f"{type(error).__name__}: {error}")
        raise UsageError(f"{folder / EVENTS} is not the log of a run: {cause}", hint=_DAMAGED) from None


def write_atomically(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file aside and rename it into place. `mode` is limited by the umask."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.touch(mode=mode)
        aside.write_bytes(content)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def render(report: Report, only: Sequence[str] = ()) -> dict[str, bytes]:
    """Return the content of the report files by name: all, or `only` some formats (json, yaml, junit, html)."""

    def page() -> bytes:
        # jinja2 is not needed to list, plan or explain.
        from dra_conformance.report.html import render as render_html

        return render_html(report).encode(errors="replace")

    makers: dict[str, Callable[[], bytes]] = {
        "report.json": lambda: orjson.dumps(to_plain(report), option=orjson.OPT_INDENT_2) + b"\n",
        "report.yaml": lambda: yaml_text.render(to_plain(report)).encode(errors="replace"),
        "junit.xml": lambda: junit.render(report).encode(),
        "report.html": page,
    }
    wanted = {FORMATS[form] for form in only} or set(NAMES)
    return {name: makers[name]() for name in NAMES if name in wanted}


def write_all(report: Report, folder: Path, only: Sequence[str] = ()) -> None:
    """Write report.json, report.yaml, junit.xml and report.html, or `only` those formats."""
    for name, content in render(report, only).items():
        write_atomically(folder / name, content)


def write_signature(report: Report, folder: Path, key: Path) -> None:
    """Sign the report and write report.json.sig. Raises SuiteError if it cannot be signed."""
    # The bytes from memory: another program may have changed the file.
    content = render(report, ["json"])["report.json"]
    write_atomically(folder / signature.NAME, signature.sign(content, key))


def clear(folder: Path) -> None:
    """Remove the files of an earlier run from its folder, and no others."""
    # Without a log the folder is not that of a run, and files with these names may be the user's.
    shards = shard_folders(folder)
    if not (folder / EVENTS).is_file() and not shards:
        return
    for shard in shards:
        clear(shard)
    for path in [*shards, folder / SHARDS]:
        with contextlib.suppress(OSError):  # as below
            path.rmdir()
    own = [folder / name for name in (*NAMES, signature.NAME)]
    own += folder.glob("events*.jsonl")
    own += folder.glob("failures/*/objects.json")
    for component in CHOICES:  # with the name of a node or of a worker
        own += [folder / "logs" / f"{component}.log", *folder.glob(f"logs/{component}-*.log")]
    for path in own:
        path.unlink(missing_ok=True)
    for path in [*folder.glob("failures/*"), folder / "failures", folder / "logs"]:
        with contextlib.suppress(OSError):  # not empty: it has files of others
            path.rmdir()
