"""`dra-conformance again SCENARIO`: repeats one scenario of a run with the options of that run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from dra_conformance.core.configuration import from_mapping
from dra_conformance.core.errors import SuiteError, UsageError
from dra_conformance.core.events import PlannedScenario, RunPlanned, RunStarted
from dra_conformance.core.events.log import parse
from dra_conformance.core.options import redact
from dra_conformance.core.plain_text import one_line
from dra_conformance.core.status import Status
from dra_conformance.report import files, merged, repeat, stored

_FOLDER = Path("dra-report")
_GOOD = (Status.PASSED, Status.NOT_APPLICABLE, Status.NOT_SUPPORTED, Status.FILTERED)


def _complete(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a scenario of the report: at first those that did not pass."""
    try:
        report = stored.read(context.params.get("folder") or _FOLDER)
    except SuiteError:
        return []
    return [
        CompletionItem(row.id, help=f"{row.status}: {row.name}")
        for row in report.scenarios
        if (row.id.startswith(incomplete) if incomplete else row.status not in _GOOD)
    ]


@click.command()
@click.argument("scenario", shell_complete=_complete)
@click.argument("folder", metavar="[DIR]", type=click.Path(path_type=Path), default=_FOLDER)
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write the report of the repetition into this directory [default: DIR-again, next to DIR].",
)
@click.pass_context
def command(ctx: click.Context, scenario: str, folder: Path, out: Path | None) -> int:
    """Repeat one scenario of a run with exactly the options of that run.

    SCENARIO is the id of a scenario, its place (features/driver/prepare.feature:12) or its name, as reports have them.
    DIR is the report directory of the run (default dra-report). The options and the seed are those of its event log;
    dra-conformance.toml is not read. The report of the run stays as it is: the repetition writes its own report into
    DIR-again, where it replaces the report of an earlier repetition. Run the command in the working directory of the
    run if its options have relative paths. Exit codes are those of `run`.

    \b
    Examples:
      dra-conformance again 'driver/prepare#a-claim-is-prepared'
      dra-conformance again features/driver/prepare.feature:12 dra-report --out /tmp/again
    """
    started, rows = _run_of(folder)
    row = find(scenario, rows, folder)
    target = out or beside(folder)
    if target.resolve() == folder.resolve():
        raise UsageError(f"--out {target} is the report directory of the run", hint="Name another directory.")
    # The options of a log have any form.
    with files.events_of_a_run(folder):
        values = {**repeat.usable_options(row, started), "out": str(target)}
        options = from_mapping(values, where=str(folder / files.EVENTS))
    # Deferred: pytest and the step modules are slow to import, and a wrong scenario needs neither.
    from dra_conformance.pytest_plugin.launch import execute

    click.echo(one_line(f"again    {row.id} of run {started.run_id} in {folder}"))
    words = ["dra-conformance", *(ctx.obj or ())]
    return execute(options, command=redact(shlex.join(words)))


def _run_of(folder: Path) -> tuple[RunStarted, Sequence[PlannedScenario]]:
    """Return the first event and the plan of a run. Raises UsageError if the folder does not have them."""
    if not (folder / files.EVENTS).is_file():
        hint = "Name the report directory of a run, or run the suite first."
        if merged.is_merged(folder):
            hint = f"This is a merged report: name the folder of the shard that ran it, such as {folder}/shards/1."
        raise UsageError(f"{folder} is not a report directory: {files.EVENTS} is missing", hint=hint)
    started: RunStarted | None = None
    for event in parse(files.read_log(folder), name=str(folder / files.EVENTS)):
        if isinstance(event, RunStarted):
            started = event
        elif isinstance(event, RunPlanned) and started is not None:
            return started, event.scenarios
    raise UsageError(f"{folder} has no plan of a run: it ended before it was planned", hint="Run the suite again.")


def find(wanted: str, rows: Sequence[PlannedScenario], folder: Path) -> PlannedScenario:
    """Return the scenario with this id, place or name. Raises UsageError if there is none, or more than one."""
    found = [row for row in rows if row.id == wanted] or [row for row in rows if wanted in (row.where, row.name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{wanted!r} is the name of {len(found)} scenarios",
            hint=f"Name one of {_listed([row.id for row in found])}.",
        )
    parts = sorted((row.id for row in rows if wanted.lower() in row.id), key=lambda each: not each.startswith(wanted))
    near = parts or _nearest(wanted, rows)
    hint = f"Did you mean {_listed(near)}?" if near else f"`dra-conformance report {folder}` has the scenarios."
    raise UsageError(f"the run in {folder} has no scenario {wanted!r}", hint=hint)


def _nearest(wanted: str, rows: Sequence[PlannedScenario]) -> list[str]:
    ids = {text: row.id for row in rows for text in (row.name, row.where, row.id)}
    return list(dict.fromkeys(ids[text] for text in get_close_matches(wanted, ids, n=3)))


def _listed(ids: Sequence[str]) -> str:
    return one_line(", ".join(ids[:3])) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")


def beside(folder: Path) -> Path:
    """Return the folder for the repetition: not below the run's, whose reports `history` lists."""
    named = folder if folder.name not in ("", "..") else folder.resolve()
    return named.with_name(f"{named.name}-again")
