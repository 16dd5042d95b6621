"""Writes the reports of a run into its folder. Each file is complete or not there: written aside, then renamed."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

import orjson

from dra_conformance import documents, events
from dra_conformance.report import junit
from dra_conformance.report.build import build
from dra_conformance.report.model import Report, to_plain
from dra_conformance.seats.spec import CHOICES

EVENTS = "events.jsonl"
NAMES = ("report.json", "report.yaml", "junit.xml", "report.html")


def digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def from_folder(folder: Path) -> Report:
    """The report that the event log of a folder yields now."""
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


def render(report: Report) -> dict[str, bytes]:
    """The content of every report file, by name."""
    from dra_conformance.report.html import render as render_html

    plain = to_plain(report)
    made = {
        "report.json": orjson.dumps(plain, option=orjson.OPT_INDENT_2) + b"\n",
        "report.yaml": documents.dump(plain).encode(errors="replace"),
        "junit.xml": junit.render(report).encode(),
        "report.html": render_html(report).encode(errors="replace"),
    }
    return {name: made[name] for name in NAMES}


def write_all(report: Report, folder: Path) -> None:
    """Write report.json, report.yaml, junit.xml and report.html."""
    for name, content in render(report).items():
        write_atomically(folder / name, content)


def clear(folder: Path) -> None:
    """Remove what an earlier run left in its folder, and nothing else: the folder may hold other things too."""
    if not (folder / EVENTS).is_file():
        return
    own = [folder / name for name in NAMES]
    own += folder.glob("events*.jsonl")
    own += folder.glob("failures/*/objects.json")
    own += [folder / "logs" / f"{seat}.log" for seat in CHOICES]
    own += folder.glob("logs/driver-*.log")
    for path in own:
        path.unlink(missing_ok=True)
    for path in [*folder.glob("failures/*"), folder / "failures", folder / "logs"]:
        with contextlib.suppress(OSError):  # not empty: somebody keeps things of their own there
            path.rmdir()
