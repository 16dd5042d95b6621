"""The command `dra-conformance`.

Each subcommand is a module, which is imported when the subcommand runs, so that `list` and `--help` are fast.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

from dra_api import __version__
from dra_conformance.cli.terminal import say
from dra_conformance.core.errors import ExitCode, SuiteError, unknown
from dra_conformance.core.interrupts import Interrupts

NAME = "dra-conformance"

_COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("run", "Run scenarios against a target and write the report."),
    "again": ("again", "Repeat one scenario of a run with exactly its options."),
    "list": ("listing", "List rules, scenarios, profiles, steps or gaps."),
    "explain": ("explain", "Explain a rule."),
    "control-plane": ("control_plane", "Find, install or serve control planes."),
    "doctor": ("doctor", "Check prerequisites and suggest fixes (read-only)."),
    "rbac": ("rbac", "Print minimal RBAC permissions for a run on a cluster."),
    "cleanup": ("cleanup", "Delete objects left behind by an interrupted run."),
    "mutants": ("mutants", "Test the suite itself: run every mutant and print the scenario that fails on it."),
    "report": ("report", "Print or rewrite the report of a finished run."),
    "job": ("job", "Print the manifests of an Indexed Job that runs the suite in a cluster, in shards."),
    "sonobuoy": ("sonobuoy", "Run the suite as a plugin of Sonobuoy (job --sonobuoy prints the plugin)."),
    "merge": ("merge", "Merge the reports of all shards of a run (run --shard)."),
    "summary": ("summary", "Print a Markdown summary of a report, for a pull request."),
    "diff": ("diff", "Compare two reports."),
    "history": ("history", "List the reports below a folder, oldest first."),
    "badge": ("badge", "Print an SVG badge with the verdict of a run."),
    "bundle": ("bundle", "Write the evidence of a run for Kubernetes AI conformance."),
    "verify": ("verify", "Recompute the verdict of a finished run from its event log."),
    "check": ("check", "Check the allocated claims of a cluster, offline, from kubectl output."),
    "simulate": ("simulate", "Check whether pending claims and pods fit a cluster, and explain why not."),
    "schema": ("schema", "Print the JSON Schema of dra-conformance.toml."),
}
"""Module and one-line help of each subcommand."""


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        found = importlib.import_module(f"dra_conformance.cli.{_COMMANDS[cmd_name][0]}").command
        assert isinstance(found, click.Command)  # noqa: S101 - each module of the table defines one
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # Shell completion resolves incomplete command lines, which must not fail.
        if args and args[0] not in _COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise unknown("command", args[0], _COMMANDS)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        # click's own method imports every subcommand for its help text.
        return [
            CompletionItem(name, help=text) for name, (_, text) in _COMMANDS.items() if name.startswith(incomplete)
        ] or super().shell_complete(ctx, incomplete)


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 all scored checks passed, 1 failures, 2 interrupted, 3 harness error, 4 usage error, 5 no "
    "scenario selected, 10 target unreachable, 11 stale waiver, 12 verdict below --require or profile not judged, "
    "13 objects left behind.",
)
@click.version_option(
    __version__, prog_name="dra-conformance", message="%(prog)s %(version)s", help="Show the version."
)
def cli() -> None:
    """Conformance tests for Kubernetes Dynamic Resource Allocation (DRA).

    \b
    Examples:
      dra-conformance run                                       # test the reference components
      dra-conformance run --driver 'exec:./my-plugin' \\
          --driver-name gpu.example.com --profile driver-core   # test your driver
      dra-conformance explain DRA-258                           # explain a rule
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of the console script."""
    run_to_exit(cli, argv)


def run_to_exit(group: click.Group, argv: Sequence[str] | None = None, *, name: str = NAME) -> NoReturn:
    """Run a command line of a group of commands, by default that of this process, and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Print ? instead of a traceback when the terminal's encoding lacks a character such as ✗.
            stream.reconfigure(errors="replace")
    code = call(list(sys.argv[1:] if argv is None else argv), group, name=name)
    # CPython remembers a KeyboardInterrupt that leaves an exec of a text, which dataclasses are made with, even if it
    # is caught later, and `python -m` then dies of SIGINT whatever the exit code. The next exec makes it forget.
    exec("")  # noqa: S102
    sys.exit(code)


def _named(group: click.Group, argv: Sequence[str], name: str) -> str:
    """Return the command that a command line names, with its groups, for an error that click raises without it."""
    command: click.Command | None = group
    for word in argv:
        command = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        if command is None:
            break
        name = f"{name} {word}"
    return name


def call(argv: list[str], group: click.Group = cli, *, name: str = NAME) -> int:
    """Run one command line and return its exit code. `name` is what the user typed before it."""
    interrupts = Interrupts()
    interrupts.install()
    try:
        result = group.main(argv, prog_name=name, standalone_mode=False, obj=argv)
        return int(result) if isinstance(result, int) else ExitCode.OK
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "")
        return ExitCode.USAGE
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else _named(group, argv, name)
        say(f"error: {error.format_message()}", err=True)
        click.echo(f"  Run `{command} --help` for the options.", err=True)
        return ExitCode.USAGE
    except click.ClickException as error:
        say(f"error: {error.format_message()}", err=True)
        return ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return ExitCode.INTERRUPTED
    except SuiteError as error:
        say(f"error: {error.message}", err=True)
        if error.hint:
            say(f"  {error.hint}", err=True)
        return error.exit_code
    except BrokenPipeError:
        # The reader of the output has exited (`| head`). Redirect stdout, or Python fails to flush it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    finally:
        interrupts.restore()
