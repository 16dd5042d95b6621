"""Reads the files of a command that works on the output of kubectl."""

from __future__ import annotations

from collections.abc import Sequence

import click

from dra_conformance.oracle import dumps
from dra_conformance.oracle.dumps import Dump


def read(files: Sequence[str]) -> Dump:
    """Return the objects of files and folders; `-` is standard input.

    Objects that only have the kind of one that the commands read, such as a Node of another API group, are reported on
    standard error: the apiVersion may be misspelt. Raises UsageError for unreadable files and invalid objects.
    """
    dump = dumps.read(files)
    if dump.foreign:
        first, more = dump.foreign[0], len(dump.foreign) - 1
        others = f", and {more} more such objects" if more else ""
        click.echo(f"not read: {first.title} of {first.obj['apiVersion']}, another API group{others}", err=True)
    return dump
