"""Compares the table of rights with the calls that runs made.

Calls come from event logs, scenario by scenario, so that a right can be told from one that another profile needs.
Scenarios that never run on a cluster which is not ours are left out: nobody has to grant what they do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dra_conformance.core import assets, features
from dra_conformance.core.events import CallsMade, read
from dra_conformance.rbac.table import AGENTS, HARNESS, Right, rights

Need = tuple[str, str, str, str]
"""Holder, API group, resource, verb."""

_OPENED_BY_START = "dra-conformance-observer"  # watches from the first scenario on, whatever that one is about
_IF_SERVED = frozenset({"scheduling.run.ai", "resource.nvidia.com"})
_EXACT = "api"
_MANY = 4
_SETUP = frozenset(
    {
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    }
)
"""A run installs these on a control plane of its own only."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which table and calls differ."""

    need: Need
    profiles: tuple[str, ...]
    missing: bool

    def __str__(self) -> str:
        holder, group, resource, verb = self.need
        what = (
            f"{holder}: {verb} {resource}{f'.{group}' if group else ''} in {', '.join(self.profiles) or 'any profile'}"
        )
        return (
            f"not in the table, but asked for: {what}" if self.missing else f"in the table, but never asked for: {what}"
        )


def needs(logs: Iterable[Path]) -> dict[Need, set[str]]:
    """What was asked for in these runs, each with the profiles whose scenarios did."""
    scenarios = {scenario.id: scenario for scenario in features.read_all([assets.features()])}
    found: defaultdict[Need, set[str]] = defaultdict(set)
    for path in logs:
        for event in read(path):
            if not isinstance(event, CallsMade):
                continue
            scenario = scenarios.get(event.scenario)
            if scenario and not may_run_on_a_cluster(scenario):
                continue
            for agent, verb, group, resource in event.made:
                if (group, resource) in _SETUP or agent not in AGENTS:
                    continue
                if group in _IF_SERVED and AGENTS[agent] == HARNESS and verb in ("list", "watch"):
                    continue  # on a cluster only where the profiles look at them: rows with `only`
                profiles = scenario.tags.profiles if scenario and agent != _OPENED_BY_START else ()
                found[AGENTS[agent], group, resource, verb].update(profiles or {""})
    return dict(found)


def may_run_on_a_cluster(scenario: features.Scenario) -> bool:
    """Whether a scenario can run where the control plane is not the run's own."""
    tags = scenario.tags
    moves_its_clock = "virtual-clock" in tags.needs and "control-plane" in tags.components
    return not (tags.disruptive or "own-control-plane" in tags.needs or moves_its_clock)


def strangers(logs: Iterable[Path]) -> set[str]:
    """User agents of which the table does not say whose they are."""
    return {
        agent for path in logs for event in read(path) if isinstance(event, CallsMade) for agent, *_ in event.made
    } - set(AGENTS)


def differences(found: Mapping[Need, set[str]], *, table: Iterable[Right] | None = None) -> list[Difference]:
    """Where table and calls differ.

    Whatever was asked for must be granted in that profile. Whatever is granted must have been asked for: by the harness
    in the profile `api` if the row holds there, and else in some profile; rows with `only` are excused.
    """
    granted: defaultdict[Need, set[str]] = defaultdict(set)
    exact: defaultdict[Need, set[str]] = defaultdict(set)
    excused: set[Need] = set()
    for row in rights() if table is None else table:
        for verb in row.verbs:
            need = (row.holder, row.group, row.resource, verb)
            granted[need] |= row.held_in
            exact[need] |= {_EXACT} & row.held_in if row.holder == HARNESS else set()
            if row.only:
                excused.add(need)
    told: list[Difference] = []
    for need, profiles in found.items():
        if need not in granted or (lacking := profiles - granted[need] - {""}):
            named = profiles if need not in granted else lacking
            told.append(Difference(need, tuple(sorted(named - {""})), missing=True))
    for need, wanted in exact.items():
        used = found.get(need, set())
        if need not in excused and "" not in used and ((unused := wanted - used) or not used):
            told.append(Difference(need, tuple(sorted(unused)), missing=False))
    return sorted(told, key=lambda each: (each.need, each.missing))


def table_of(found: Mapping[Need, set[str]], *, kept: Iterable[Right]) -> list[Right]:
    """The rows that these calls ask for; `kept` rows stay as they are.

    A component's rights are the same in every profile. Those of the harness are told apart: exactly for the profile `api`,
    which is what most people run on a cluster, and elsewhere where only few profiles ask for them.
    """
    grouped: defaultdict[tuple[str, str, str, tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
    kept = tuple(kept)
    by_hand = {(row.holder, row.group, row.resource, verb) for row in kept for verb in row.verbs}
    for (holder, group, resource, verb), profiles in sorted(found.items()):
        if (holder, group, resource, verb) in by_hand:
            continue
        named, besides = _spread(profiles) if holder == HARNESS else ((), ())
        grouped[holder, group, resource, named, besides].append(verb)
    rows = [
        Right(holder=holder, group=group, resource=resource, verbs=tuple(verbs), profiles=named, besides=besides)
        for (holder, group, resource, named, besides), verbs in grouped.items()
    ]
    return [*rows, *kept]


def _spread(profiles: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Profiles to name, or to leave out."""
    if "" in profiles:
        return (), ()
    if len(profiles - {_EXACT}) < _MANY:
        return tuple(sorted(profiles)), ()
    return (), () if _EXACT in profiles else (_EXACT,)
