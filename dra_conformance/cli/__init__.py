"""The command `dra-conformance`.

Each sub-command lives in a module of its own and is imported when it is called, so that `list` and `--help` are quick.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

import click

from dra_conformance.core.errors import ExitCode, SuiteError

_COMMANDS = {
    "run": "dra_conformance.cli.run",
    "list": "dra_conformance.cli.listing",
    "explain": "dra_conformance.cli.explain",
    "control-plane": "dra_conformance.cli.control_plane",
    "doctor": "dra_conformance.cli.doctor",
    "rbac": "dra_conformance.cli.rbac",
    "cleanup": "dra_conformance.cli.cleanup",
    "mutants": "dra_conformance.cli.mutants",
    "report": "dra_conformance.cli.report",
    "verify": "dra_conformance.cli.verify",
    "check": "dra_conformance.cli.check",
    "simulate": "dra_conformance.cli.simulate",
}
_SUMMARIES = {
    "run": "Run scenarios against a target and write the report.",
    "list": "Show rules, scenarios, profiles or steps.",
    "explain": "Tell all about one rule.",
    "control-plane": "Serve the emulation; find, fetch or build the programs of a real control plane.",
    "doctor": "Tell what a run needs, what is missing for it, and the way out. Writes nothing.",
    "rbac": "Print the least rights that a run on a cluster needs.",
    "cleanup": "Remove what a killed run left on a cluster.",
    "mutants": "Prove the judge: run every mutant and show which scenario kills it.",
    "report": "Show or re-render a finished run.",
    "verify": "Compute a finished run's verdict again from its event log.",
    "check": "Judge every allocated claim of a cluster, from files that kubectl wrote.",
    "simulate": "Tell whether claims and pods would fit, and if not, what stands in the way.",
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = _COMMANDS.get(cmd_name)
        if module is None:
            return None
        import importlib

        found = importlib.import_module(module).command
        assert isinstance(found, click.Command)  # noqa: S101 - each module above defines one
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], _COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else f" Commands: {', '.join(_COMMANDS)}."
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_SUMMARIES.items()))


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from dra_api import __version__

        click.echo(f"dra-conformance {__version__}")
        ctx.exit()


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 all scored checks passed, 1 failures, 2 interrupted, 3 harness error, 4 usage, 5 nothing "
    "selected, 10 target unreachable, 11 stale waiver, 12 verdict below --require, 13 objects left behind.",
)
@click.option("--version", is_flag=True, callback=_version, expose_value=False, is_eager=True, help="Show the version.")
def cli() -> None:
    """An executable specification of Kubernetes Dynamic Resource Allocation.

    \b
    Examples:
      dra-conformance run                                       the reference system, judged
      dra-conformance run --driver 'exec:./my-plugin' \\
          --driver-name gpu.example.com --profile driver-core   your driver, judged
      dra-conformance explain DRA-258                           what a rule means
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ✗ shows ? instead of a traceback
    sys.exit(call(list(sys.argv[1:] if argv is None else argv)))


def call(argv: list[str]) -> int:
    """Run one command line; its exit code."""
    try:
        result = cli.main(argv, prog_name="dra-conformance", standalone_mode=False, obj=argv)
        return int(result) if isinstance(result, int) else ExitCode.OK
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "")
        return ExitCode.USAGE
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "dra-conformance"
        click.echo(f"error: {error.format_message()}", err=True)
        click.echo(f"  `{command} --help` shows the options.", err=True)
        return ExitCode.USAGE
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        return ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return ExitCode.INTERRUPTED
    except SuiteError as error:
        click.echo(f"error: {error.message}", err=True)
        if error.hint:
            click.echo(f"  {error.hint}", err=True)
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing more to say, and no traceback at exit.
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
