"""Writes the reports of a run into its folder. Each file is complete or not there: written aside, then renamed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import orjson

from dra_conformance import documents, events
from dra_conformance.report import junit
from dra_conformance.report.build import build
from dra_conformance.report.model import Report, to_plain

EVENTS = "events.jsonl"
NAMES = ("report.json", "report.yaml", "junit.xml", "report.html")


def digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def from_folder(folder: Path) -> Report:
    """The report that the event log of a folder yields now."""
    path = folder / EVENTS
    return build(events.read(path), events_sha256=digest(path))


def write_atomically(path: Path, text: str | bytes) -> None:
    """Write a file aside and rename it into place."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_bytes(text.encode() if isinstance(text, str) else text)
    os.replace(aside, path)


def write_all(report: Report, folder: Path) -> None:
    """Write report.json, report.yaml, junit.xml and report.html."""
    from dra_conformance.report.html import render as render_html

    plain = to_plain(report)
    write_atomically(folder / "report.json", orjson.dumps(plain, option=orjson.OPT_INDENT_2) + b"\n")
    write_atomically(folder / "report.yaml", documents.dump(plain))
    write_atomically(folder / "junit.xml", junit.render(report))
    write_atomically(folder / "report.html", render_html(report))
