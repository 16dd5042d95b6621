"""Writes the reports of a run into its folder. Each file is written aside and renamed, so it is always complete."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import orjson

from dra_conformance.core import documents, events
from dra_conformance.core.component_spec import CHOICES
from dra_conformance.report import junit, signature
from dra_conformance.report.build import build
from dra_conformance.report.model import Report, to_plain

EVENTS = "events.jsonl"
NAMES = ("report.json", "report.yaml", "junit.xml", "report.html")
FORMATS = {"json": "report.json", "yaml": "report.yaml", "junit": "junit.xml", "html": "report.html"}


def digest(path: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def from_folder(folder: Path) -> Report:
    """Compute the report from the event log of a folder."""
    path = folder / EVENTS
    return build(events.read(path), events_sha256=digest(path))


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file aside and rename it into place."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
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
        "report.yaml": lambda: documents.dump(to_plain(report)).encode(errors="replace"),
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
    if not (folder / EVENTS).is_file():
        return
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
