"""`dra-conformance list`: lists rules, scenarios, profiles, step definitions and gaps."""

from __future__ import annotations

from collections import Counter, defaultdict

import click
import orjson

from dra_conformance.cli.option_decorators import complete_names
from dra_conformance.core import features
from dra_conformance.core.errors import ExitCode, unknown
from dra_conformance.core.rules import Catalogue, gaps
from dra_conformance.core.rules.catalogue import COMPONENTS
from dra_conformance.core.tags import PROFILES


@click.command()
@click.argument(
    "what", type=click.Choice(["rules", "scenarios", "profiles", "steps", "requirements", "gaps"]), default="rules"
)
@click.option(
    "--profile",
    default=None,
    metavar="NAME",
    help="List only the entries of this profile.",
    shell_complete=complete_names(PROFILES),
)
@click.option(
    "--component",
    default=None,
    metavar="NAME",
    help="List only the entries of this component.",
    shell_complete=complete_names(COMPONENTS),
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Select the output format.")
def command(what: str, profile: str | None, component: str | None, form: str) -> int:
    """List rules (the default), scenarios, profiles, steps, requirements or gaps.

    Requirements are the tags @needs:NAME of scenarios; gaps are known rules that no scenario tests.

    \b
    Examples:
      dra-conformance list rules --component driver
      dra-conformance list scenarios --profile driver-core
    """
    if profile is not None and profile not in PROFILES:
        raise unknown("profile", profile, PROFILES)
    if component is not None and component not in COMPONENTS:
        raise unknown("component", component, COMPONENTS)
    rows = _LISTINGS[what](profile, component)
    if form == "json":
        click.echo(orjson.dumps({what: rows}, option=orjson.OPT_INDENT_2).decode())
        return ExitCode.OK
    for row in rows:
        click.echo(_text(what, row))
    click.echo(f"\n{len(rows)} {what}")
    return ExitCode.OK


def _text(what: str, row: dict[str, object]) -> str:
    match what:
        case "rules":
            return f"{row['id']:<9} {row['level']:<6} {row['component']:<16} {row['scenarios']:>2}  {row['text']}"
        case "scenarios":
            rules = row["rules"]
            named = ", ".join(rules) if isinstance(rules, (list, tuple)) else ""
            return f"{row['id']}\n    {row['name']}  [{named}]"
        case "profiles":
            return f"{row['id']:<16} {row['rules']:>3} rules {row['scenarios']:>3} scenarios  {row['purpose']}"
        case "requirements":
            return f"{row['id']:<22} {row['purpose']}"
        case "gaps":
            return f"{row['id']:<9} {row['text']}\n          not covered: {row['reason']}"
        case _:
            return f"{str(row['kind']).capitalize():<6} {row['pattern']}\n         {row['purpose']}"


def _rules(profile: str | None, component: str | None) -> list[dict[str, object]]:
    counts: Counter[str] = Counter()
    for scenario in features.read_all():
        if profile is None or profile in scenario.tags.profiles:
            counts.update(scenario.rules)
    return [
        {
            "id": rule.id,
            "level": rule.level,
            "component": rule.component,
            "since": rule.since,
            "until": rule.until,
            "gates": list(rule.gates),
            "feature": rule.feature,
            "driver": rule.driver,
            "driver-since": rule.driver_since,
            "driver-until": rule.driver_until,
            "kai-since": rule.kai_since,
            "quirk": rule.quirk,
            "scenarios": counts[rule.id],
            "text": rule.text,
            "source": rule.source,
        }
        for rule in Catalogue.load().values()
        if (component is None or rule.component == component) and (profile is None or counts[rule.id])
    ]


def _scenarios(profile: str | None, component: str | None) -> list[dict[str, object]]:
    return [
        {"id": s.id, "name": s.name, "where": s.where, "rules": list(s.rules), "profiles": list(s.tags.profiles)}
        for s in features.read_all()
        if (profile is None or profile in s.tags.profiles) and (component is None or component in s.tags.components)
    ]


def _profiles(profile: str | None, component: str | None) -> list[dict[str, object]]:
    rules: dict[str, set[str]] = defaultdict(set)
    scenarios: Counter[str] = Counter()
    for scenario in features.read_all():
        for name in scenario.tags.profiles:
            rules[name].update(scenario.rules)
            scenarios[name] += 1
    return [
        {"id": name, "purpose": purpose, "rules": len(rules[name]), "scenarios": scenarios[name]}
        for name, purpose in PROFILES.items()
        if profile in (None, name)
    ]


def _steps(profile: str | None, component: str | None) -> list[dict[str, object]]:
    # Deferred: imports all step modules, with pytest-bdd and gRPC, which the other lists do not need.
    from dra_conformance.steps.catalogue import catalogue

    return [{"kind": d.kind, "pattern": d.pattern, "purpose": d.purpose, "module": d.module} for d in catalogue()]


def _requirements(profile: str | None, component: str | None) -> list[dict[str, object]]:
    # Deferred: the engine imports the components, which the other lists do not need.
    from dra_conformance.engine import requirements

    return [{"id": each.name, "purpose": each.summary} for each in requirements.registered()]


def _gaps(profile: str | None, component: str | None) -> list[dict[str, object]]:
    return [{"id": gap.id, "text": gap.text, "reason": gap.reason} for gap in gaps.load()]


_LISTINGS = {
    "rules": _rules,
    "scenarios": _scenarios,
    "profiles": _profiles,
    "steps": _steps,
    "requirements": _requirements,
    "gaps": _gaps,
}
