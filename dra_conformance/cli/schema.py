"""`dra-conformance schema`: prints the JSON Schema of dra-conformance.toml."""

from __future__ import annotations

import click
import orjson

from dra_conformance.core.errors import ExitCode
from dra_conformance.core.option_schema import schema


@click.command()
def command() -> int:
    """Print the JSON Schema of dra-conformance.toml.

    Editors use it for validation and completion, for example with the line
    `#:schema ./dra-conformance.schema.json` at the top of the file.

    \b
    Example:
      dra-conformance schema > dra-conformance.schema.json
    """
    click.echo(orjson.dumps(schema(), option=orjson.OPT_INDENT_2).decode())
    return ExitCode.OK
