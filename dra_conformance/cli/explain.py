"""`dra-conformance explain RULE`: the rule, its source and window, the scenarios that judge it, common mistakes."""

from __future__ import annotations

import textwrap

import click

from dra_conformance.core.errors import ExitCode
from dra_conformance.core.rules import Catalogue


@click.command()
@click.argument("rule")
def command(rule: str) -> int:
    """Tell all about one rule.

    \b
    Example:
      dra-conformance explain DRA-258
    """
    from dra_conformance.core import assets, features
    from dra_conformance.engine import mutation

    found = Catalogue.load().find(rule)
    click.echo(f"{found.id}  {found.level}  binds the {found.component}\n")
    for line in textwrap.wrap(found.text, 96):
        click.echo(f"  {line}")
    click.echo("")
    window = " ".join(
        f"{word} {version}" for word, version in (("since", found.since), ("until", found.until)) if version
    )
    rows = [
        ("source", found.source),
        ("window", f"Kubernetes {window}" if window else "every supported Kubernetes"),
        ("gate", found.gate or ""),
        ("quirk", "describes what one release does, not what is intended" if found.quirk else ""),
        ("why", found.why),
        ("mistake", found.mistake),
        ("corrected", found.corrected),
    ]
    for name, value in rows:
        if value:
            wrapped = textwrap.wrap(value, 84) or [""]
            click.echo(f"{name:<10} {wrapped[0]}")
            for line in wrapped[1:]:
                click.echo(f"{'':<10} {line}")
    judging = [scenario for scenario in features.read_all() if found.id in scenario.rules]
    click.echo("")
    if not judging:
        click.echo("no scenario judges it yet")
    for scenario in judging:
        click.echo(f"{scenario.where}  {scenario.name}")
        for step in scenario.steps:
            if step.kind == "then" and (not step.rules or found.id in step.rules):
                click.echo(f"    Then {step.text}")
    for one in mutation.load() if assets.mutants().is_dir() else ():
        if one.rule == found.id:
            click.echo(f"mutant {one.id}: {one.purpose}")
    if judging:
        click.echo(f"\njudge it: dra-conformance run --rule {found.id}")
    return ExitCode.OK
