"""The terminal of the command."""

from __future__ import annotations

import shutil
import sys

import click

from dra_conformance.core.plain_text import printable


def say(text: str, *, err: bool = False) -> None:
    """Print text that may have names and messages of others, without control characters."""
    click.echo(printable(text), err=err)


def width() -> int:
    """Return the width of the terminal or of COLUMNS: 80 if the output is no terminal, and at least 40."""
    return max(shutil.get_terminal_size().columns, 40)


def width_of_terminal() -> int | None:
    """Return the width of the terminal; None if the output is no terminal, whose lines are read by programs."""
    return width() if sys.stdout.isatty() else None
