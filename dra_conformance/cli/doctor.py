"""`dra-conformance doctor`: checks the prerequisites of a run."""

from __future__ import annotations

import os
import sys
from typing import Any

import click
import orjson

from dra_conformance.cli.option_decorators import GroupedCommand, run_options
from dra_conformance.core.configuration import options_of
from dra_conformance.core.errors import ExitCode
from dra_conformance.doctor import cluster, components, kubelet, machine, programs, show


@click.command(cls=GroupedCommand, epilog="Exit codes: 0 all prerequisites are met, 10 one is missing.")
@run_options(shared=True)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Select the output format.")
def command(form: str, **given: Any) -> int:
    """Check prerequisites and suggest fixes (read-only).

    Checks everything that `run` with the same options requires. Optional prerequisites, such as Docker or those of a
    real kubelet, are reported separately.

    \b
    Examples:
      dra-conformance doctor
      dra-conformance doctor --control-plane binaries --kubernetes-version 1.35
      dra-conformance doctor --control-plane kubeconfig:./config --profile api
      dra-conformance doctor --format json
    """
    options = options_of({name.replace("_", "-"): value for name, value in given.items()})
    findings = [
        *machine.look(options),
        *programs.look(options),
        *cluster.look(options),
        *components.look(options),
        *kubelet.look(needed=options.component("kubelet").kind == "kubelet", bin_dir=options.bin_dir),
    ]
    if form == "json":
        click.echo(orjson.dumps(show.document(findings), option=orjson.OPT_INDENT_2).decode())
    else:
        terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        color = terminal and "NO_COLOR" not in os.environ
        click.echo(show.text(findings, fancy=terminal, color=color), nl=False, color=color)
    return ExitCode.TARGET_UNREACHABLE if any(each.prevents_run for each in findings) else ExitCode.OK
