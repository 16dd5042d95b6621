"""Prints rows as kubectl does: columns with upper-case titles, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import click

from dra_conformance.cli.terminal import say

FORMATS = click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", help="Select the output format."
)
"""The option of each command."""


def write(rows: Sequence[Any], kind: type[Any], form: str, *, nothing: str) -> None:
    """Print dataclass instances of one `kind` as a table or, in format json, as a list; `nothing` if there is none."""
    if form == "json":
        click.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    if not rows:
        say(nothing, err=True)
        return
    titles = [each.name for each in fields(kind)]
    lines = [[title.upper() for title in titles]] + [[_shown(getattr(row, title)) for title in titles] for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(titles))]
    for line in lines:
        say("   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "-"
    return str(value) if value not in ("", None) else "-"
