"""`dra-conformance mutants`: runs the suite against mutants of the reference components."""

from __future__ import annotations

import os
from pathlib import Path

import click
import orjson

from dra_conformance.cli.option_decorators import complete_rules
from dra_conformance.core.errors import ExitCode, UsageError
from dra_conformance.core.option_checks import validated
from dra_conformance.core.options import RunOptions
from dra_conformance.core.shard import Shard, resolved
from dra_conformance.engine import mutation
from dra_conformance.pytest_plugin import mutation_matrix


@click.command()
@click.option(
    "--rule",
    multiple=True,
    metavar="ID",
    help="Run only the mutants of this rule. May be repeated.",
    shell_complete=complete_rules,
)
@click.option("--focus", default="", metavar="TEXT", help="Run only mutants whose id contains TEXT.")
@click.option(
    "--jobs",
    type=click.IntRange(0, 256),
    default=0,
    help="Run N mutants at a time. [default: three for every two processors]",
)
@click.option(
    "--patience",
    type=float,
    default=1.5,
    show_default=True,
    metavar="S",
    help="Wait up to S seconds for an expected result.",
)
@click.option(
    "--limit",
    type=click.FloatRange(1),
    default=120.0,
    show_default=True,
    metavar="S",
    help="Stop a mutant after S seconds.",
)
@click.option(
    "--features", multiple=True, metavar="DIR", help="Also read the feature files of this directory. May be repeated."
)
@click.option(
    "--mutants",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Use the mutants of this directory instead of the suite's.",
)
@click.option(
    "--shard",
    default="1/1",
    metavar="I/N",
    help="Run only shard I of N. The id of a mutant alone decides its shard. [default: 1/1]",
)
@click.option("--list", "only_list", is_flag=True, help="List the mutants without running them.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Select the output format.")
def command(
    rule: tuple[str, ...],
    focus: str,
    jobs: int,
    patience: float,
    limit: float,
    features: tuple[str, ...],
    folder: Path | None,
    shard: str,
    only_list: bool,
    form: str,
) -> int:
    """Test the suite itself: run every mutant and print the scenario that fails on it.

    A mutant is a small deliberate fault in a reference component. It is killed when a scenario of its rule fails. A
    mutant that survives is retried alone. Exit codes: 0 all mutants are killed, 1 some survive.

    \b
    Examples:
      dra-conformance mutants --rule KAI-031
      dra-conformance mutants --format json
    """
    mutants = [one for one in mutation.load(folder) if (not rule or one.rule in rule) and focus in one.id]
    part = Shard.parse(resolved(shard, os.environ))
    mutants = [one for one in mutants if mutation.in_shard(one.id, part)]
    if not mutants:
        raise UsageError("no mutant matches", hint="Run `dra-conformance mutants --list` for all mutants.")
    if only_list:
        for one in mutants:
            click.echo(f"{one.rule:<9} {one.id:<48} {one.purpose}")
        click.echo(f"\n{len(mutants)} mutants")
        return ExitCode.OK
    outcomes = []
    options = validated(RunOptions(patience=patience, features=features))
    for outcome in mutation_matrix.matrix(mutants, options, jobs=jobs, limit=limit):
        outcomes.append(outcome)
        if form == "text":
            click.echo(f"{outcome.status:<9} {outcome.rule:<9} {outcome.id:<48} {outcome.scenario}")
        if outcome.status != "killed":
            click.echo(f"          {outcome.id} survived: {outcome.reason}", err=form == "json")
        elif outcome.again:
            click.echo(f"          {outcome.id} was killed only on retry, alone", err=form == "json")
    outcomes.sort(key=lambda outcome: (outcome.rule, outcome.id))
    survivors = [outcome for outcome in outcomes if outcome.status != "killed"]
    if form == "json":
        rows = [{"id": o.id, "rule": o.rule, "scenario": o.scenario, "status": o.status} for o in outcomes]
        click.echo(orjson.dumps({"mutants": rows}, option=orjson.OPT_INDENT_2).decode())
    else:
        late = sum(outcome.again for outcome in outcomes) - len(survivors)
        second = f", {late} of them only on retry" if late else ""
        click.echo(f"\n{len(outcomes) - len(survivors)} of {len(outcomes)} mutants killed{second}")
    return ExitCode.FAILURES if survivors else ExitCode.OK
