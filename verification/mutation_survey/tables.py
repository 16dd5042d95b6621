"""The table of the survey, and listings of mutants as diffs."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from verification.mutation_survey import faults, mutants
from verification.mutation_survey.components import COMPONENTS
from verification.mutation_survey.results import Result
from verification.mutation_survey.unobservable import MOST, Entry


@dataclass(frozen=True, slots=True)
class Row:
    """The counts of one component. `unobservable` has at most 15 % of all; the excess is in `survived`.

    `probed` are the mutants of the emulated API server that a fidelity probe detected and no scenario. `no_verdict` are
    those with which the run hung or ended in an error, so that no check of a rule failed and no report is conformant.
    """

    component: str
    mutants: int
    killed: int
    probed: int
    survived: int
    no_verdict: int
    unobservable: int

    @property
    def observable(self) -> int:
        """The number of mutants that a scenario could detect."""
        return self.mutants - self.unobservable


def rows(results: Iterable[Result], classes: Mapping[str, Entry]) -> list[Row]:
    """Count the results of every component that has any."""
    by_component: dict[str, list[Result]] = {}
    for one in results:
        by_component.setdefault(one.mutant.component, []).append(one)
    order = [one.name for one in COMPONENTS]
    found = []
    for name in sorted(by_component, key=lambda name: order.index(name) if name in order else len(order)):
        group = by_component[name]
        count = Counter("probed" if one.outcome.probe else one.outcome.status for one in group)
        called = sum(
            one.outcome.status == "survived" and not one.outcome.probe and one.mutant.key in classes for one in group
        )
        allowed = min(called, int(MOST * len(group)))
        found.append(
            Row(
                component=name,
                mutants=len(group),
                killed=count["killed"],
                probed=count["probed"],
                survived=count["survived"] - allowed,
                no_verdict=count["timeout"] + count["error"],
                unobservable=allowed,
            )
        )
    return found


def table(results: Sequence[Result], classes: Mapping[str, Entry]) -> str:
    """Return the counts as a Markdown table."""
    found = rows(results, classes)
    if found:
        total = [sum(getattr(row, name) for row in found) for name in Row.__dataclass_fields__ if name != "component"]
        found = [*found, Row("all", *total)]
    head = ("component", "mutants", "killed", "probed", "survived", "no_verdict", "unobservable")
    lines = [
        f"| {' | '.join((*head, 'killed / all', 'killed / observable'))} |".replace("_", " "),
        "|---|" + "---:|" * (len(head) + 1),
    ]
    for row in found:
        cells = [str(getattr(row, name)) for name in head]
        detected = row.killed + row.probed
        shares = [_percent(detected, row.mutants), _percent(detected, row.observable)]
        lines.append(f"| {' | '.join((*cells, *shares))} |")
    return "\n".join(lines)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def listing(results: Iterable[Result], status: str, selected: Sequence[str]) -> str:
    """Return the mutants with a status as diffs, with the rules whose scenarios executed the line."""
    found = []
    for one in sorted(results, key=lambda one: (one.mutant.path, one.mutant.line)):
        if one.outcome.status != status or one.outcome.probe or one.mutant.component not in selected:
            continue
        how = {
            "line": f"{one.scenarios} scenarios execute the line",
            "uses": f"{one.scenarios} scenarios execute a line that uses the constant",
            "none": "no scenario executes the line",
        }.get(one.why, f"the line runs at import or start; {one.scenarios} scenarios of its {one.why} were run")
        lines = [f"== {one.mutant.key}", f"{one.mutant.path}:{one.mutant.line}", how]
        if one.reaching:
            lines.append("rules: " + " ".join(one.reaching[:60]) + (" ..." if len(one.reaching) > 60 else ""))
        if one.outcome.rules:
            lines.append(f"killed by {', '.join(one.outcome.rules)} in {one.outcome.scenario}")
        if one.outcome.message:
            lines.append(one.outcome.message)
        found.append("\n".join((*lines, _diff(one))))
    return "\n\n".join(found)


def _diff(result: Result) -> str:
    one = result.mutant
    if one.operator == faults.OPERATOR:
        lines = difflib.unified_diff(
            one.before.splitlines(), one.after.splitlines(), one.path, one.function, lineterm=""
        )
        return "\n".join(lines)
    try:
        return mutants.diff(one)
    except (IndexError, OSError):
        return f"(the source has changed since)\n- {one.before}\n+ {one.after}"
