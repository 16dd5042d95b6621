"""`dra-conformance explain RULE`: prints a rule and every place that belongs to it."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
import msgspec

from dra_conformance.cli.option_decorators import complete_rules
from dra_conformance.core.errors import ExitCode
from dra_conformance.core.rules import Catalogue, requirement_sets

if TYPE_CHECKING:
    from dra_conformance.cli.rule_places import RulePlaces
    from dra_conformance.core.rules import Rule

_WIDTH = 96


@click.command()
@click.argument("rule", shell_complete=complete_rules)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Select the output format.")
def command(rule: str, form: str) -> int:
    """Explain a rule.

    Prints the text and the source of the rule, and where it is in the suite: catalogue row, profiles, scenarios, step
    definitions, mutants, the code that implements it, and third-party programs that break it.

    \b
    Examples:
      dra-conformance explain DRA-258
      dra-conformance explain DRA-258 --format json
    """
    found = Catalogue.load().find(rule)
    # Deferred: imports all step definitions and mutants, which an unknown rule and --help do not need.
    from dra_conformance.cli import rule_places

    places = rule_places.find(found.id)
    if form == "json":
        document = {"rule": dataclasses.asdict(found), "places": msgspec.to_builtins(places)}
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
    else:
        for line in [*_rule(found), *_places(found.id, places)]:
            click.echo(line)
    return ExitCode.OK


def _rule(rule: Rule) -> Iterator[str]:
    yield f"{rule.id}  {rule.level}  {rule.component}"
    yield ""
    yield from (f"  {line}" for line in textwrap.wrap(rule.text, _WIDTH))
    yield ""
    window = _range(rule.since, rule.until)
    releases = _range(rule.driver_since, rule.driver_until)
    rows = [
        ("source", rule.source),
        ("releases", f"Kubernetes {window}" if window else "every supported Kubernetes release"),
        ("gate", ", ".join(rule.gates)),
        ("feature", rule.feature),
        ("driver", rule.driver),
        ("of driver", f"releases of NVIDIA's driver {releases}" if releases else ""),
        ("of KAI", f"since {rule.kai_since}" if rule.kai_since else ""),
        ("required", "; ".join(_sets(rule.id))),
        ("quirk", "known deviation of one release, not intended behaviour" if rule.quirk else ""),
        ("why", rule.why),
        ("mistake", rule.mistake),
        ("corrected", rule.corrected),
    ]
    for name, value in rows:
        yield from _row(name, value)


def _sets(rule: str) -> Iterator[str]:
    """Yield the frozen requirement sets that have a rule."""
    for release in requirement_sets.releases():
        found = requirement_sets.load(release)
        if found is not None and rule in found.rules:
            reason = found.rules[rule].provisional
            yield f"requirement set v{release}" + (f", provisional: {reason}" if reason else "")


def _range(since: str | None, until: str | None) -> str:
    return " ".join(f"{word} {version}" for word, version in (("since", since), ("until", until)) if version)


def _row(name: str, value: str) -> Iterator[str]:
    for number, line in enumerate(textwrap.wrap(value, _WIDTH - 11)):
        yield f"{name if number == 0 else '':<10} {line}"


def _places(rule: str, places: RulePlaces) -> Iterator[str]:
    yield from _row("catalogue", str(places.catalogue or ""))
    yield from _row("profiles", ", ".join(places.profiles))
    if places.scenarios:
        yield "\nscenarios"
    else:
        yield "\nno scenario tests this rule"
    for scenario in places.scenarios:
        yield f"  {scenario.place}  {scenario.name}"
        yield from (f"      Then {check}" for check in scenario.checks)
    sections = [
        ("step definitions", [(str(step.place), step.pattern) for step in places.steps]),
        ("mutants", [(str(mutant.place), f"{mutant.id}: {mutant.purpose}") for mutant in places.mutants]),
        ("code", [(str(target.place), target.name) for target in places.code]),
        (
            "third-party programs that break it",
            [(f"{each.program} {each.version}", f"{each.status}: {each.reason}") for each in places.third_party],
        ),
    ]
    for heading, rows in sections:
        if rows:
            yield f"\n{heading}"
            yield from (f"  {place}  {text}" for place, text in rows)
    if places.scenarios:
        yield f"\nrun its scenarios: dra-conformance run --rule {rule}"
