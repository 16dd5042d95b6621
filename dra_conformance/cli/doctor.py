"""`dra-conformance doctor`: what a run with these options needs, what is missing, and the way out."""

from __future__ import annotations

import os
import sys
from typing import Any

import click
import orjson

from dra_conformance.cli.option_decorators import GroupedCommand, run_options
from dra_conformance.core.configuration import options_of
from dra_conformance.core.errors import ExitCode


@click.command(
    cls=GroupedCommand, epilog="Exit code 0 when nothing stands in the way of this run, 10 when something does."
)
@run_options(shared=True)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="text or json.")
def command(form: str, **given: Any) -> int:
    """Look at everything that `run` with the same options needs. Writes nothing.

    What this run can do without is looked at too and told apart, such as Docker, or what a real kubelet would need.

    \b
    Examples:
      dra-conformance doctor
      dra-conformance doctor --control-plane binaries --kubernetes-version 1.35
      dra-conformance doctor --control-plane kubeconfig:./config --profile api
      dra-conformance doctor --format json
    """
    from dra_conformance.doctor import cluster, components, kubelet, machine, programs, show

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
    return ExitCode.TARGET_UNREACHABLE if any(each.stands_in_the_way for each in findings) else ExitCode.OK
