"""`dra-conformance mutants`: the kill matrix."""

from __future__ import annotations

from pathlib import Path

import click

from dra_conformance.core.errors import ExitCode, UsageError


@click.command()
@click.option("--rule", multiple=True, metavar="ID", help="Only mutants of this rule.")
@click.option("--focus", default="", metavar="TEXT", help="Only mutants whose id contains this.")
@click.option(
    "--jobs", type=click.IntRange(0, 256), default=0, help="How many at a time (default: three for two processors)."
)
@click.option("--patience", type=float, default=1.5, metavar="S", help="Seconds that a check waits.")
@click.option("--limit", type=click.FloatRange(1), default=120.0, metavar="S", help="Seconds that one may take.")
@click.option("--features", multiple=True, metavar="DIR", help="More features, beside the suite's own.")
@click.option(
    "--mutants",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Mutants of your own, in the place of the suite's.",
)
@click.option("--list", "only_list", is_flag=True, help="Name the mutants; run nothing.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def command(
    rule: tuple[str, ...],
    focus: str,
    jobs: int,
    patience: float,
    limit: float,
    features: tuple[str, ...],
    folder: Path | None,
    only_list: bool,
    form: str,
) -> int:
    """Prove the judge: run every mutant and show which scenario kills it.

    A mutant is a small deliberate fault in the reference. One that survives is asked again, alone; exits 1 when it
    survives then too.

    \b
    Examples:
      dra-conformance mutants --rule KAI-031
      dra-conformance mutants --format json
    """
    from dra_conformance.core.option_checks import validated
    from dra_conformance.core.options import RunOptions
    from dra_conformance.engine import mutation
    from dra_conformance.pytest_plugin import mutation_matrix

    mutants = [one for one in mutation.load(folder) if (not rule or one.rule in rule) and focus in one.id]
    if not mutants:
        raise UsageError("no mutant matches", hint="`dra-conformance mutants --list` shows all of them.")
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
            click.echo(f"          {outcome.id} was killed only when it was asked again, alone", err=form == "json")
    outcomes.sort(key=lambda outcome: (outcome.rule, outcome.id))
    survivors = [outcome for outcome in outcomes if outcome.status != "killed"]
    if form == "json":
        import orjson

        rows = [{"id": o.id, "rule": o.rule, "scenario": o.scenario, "status": o.status} for o in outcomes]
        click.echo(orjson.dumps({"mutants": rows}, option=orjson.OPT_INDENT_2).decode())
    else:
        late = sum(outcome.again for outcome in outcomes) - len(survivors)
        second = f", {late} of them only at the second try" if late else ""
        click.echo(f"\n{len(outcomes) - len(survivors)} of {len(outcomes)} mutants killed{second}")
    return ExitCode.FAILURES if survivors else ExitCode.OK
