"""Compares the permission table with the API calls of runs.

The calls come from event logs, by scenario, so that permissions are assigned to the profiles that need them. Scenarios
that run only on a control plane of the run are excluded: a cluster need not grant their permissions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dra_conformance.core import assets, features
from dra_conformance.core.events import CallsMade, read
from dra_conformance.rbac.table import AGENTS, HARNESS, Permission, permissions

Need = tuple[str, str, str, str]
"""Role, API group, resource, verb."""

_OPENED_BY_START = "dra-conformance-observer"  # watches from the first scenario on, independently of its profile
_IF_SERVED = frozenset({"scheduling.run.ai", "resource.nvidia.com"})
_EXACT = "api"
# From so many profiles on a row lists no profiles, but at most the one that it excludes.
_MANY = 4
_SETUP = frozenset(
    {
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
    }
)
"""Resources that a run creates only on a control plane that it starts."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One permission in which table and calls differ."""

    need: Need
    profiles: tuple[str, ...]
    missing: bool

    def __str__(self) -> str:
        role, group, resource, verb = self.need
        what = f"{role}: {verb} {resource}{f'.{group}' if group else ''} in {', '.join(self.profiles) or 'any profile'}"
        return f"used, but not in the table: {what}" if self.missing else f"in the table, but not used: {what}"


def needs(logs: Iterable[Path]) -> dict[Need, set[str]]:
    """Return the permissions that these runs used, with the profiles of the scenarios."""
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
                    continue  # on a cluster only the profiles that use them list them: rows with `only`
                profiles = scenario.tags.profiles if scenario and agent != _OPENED_BY_START else ()
                # The empty name stands for calls outside of scenarios, which a run of any profile makes.
                found[AGENTS[agent], group, resource, verb].update(profiles or {""})
    return dict(found)


def may_run_on_a_cluster(scenario: features.Scenario) -> bool:
    """Whether a scenario can run on a control plane that the run has not started."""
    tags = scenario.tags
    moves_its_clock = "virtual-clock" in tags.needs and "control-plane" in tags.components
    return not (tags.disruptive or "own-control-plane" in tags.needs or moves_its_clock)


def unknown_agents(logs: Iterable[Path]) -> set[str]:
    """Return user agents without a role in the table."""
    return {
        agent for path in logs for event in read(path) if isinstance(event, CallsMade) for agent, *_ in event.made
    } - set(AGENTS)


def differences(found: Mapping[Need, set[str]], *, table: Iterable[Permission] | None = None) -> list[Difference]:
    """Return the differences between table and calls.

    Every used permission must be granted in its profile. Every granted permission must be used: by the harness in the
    profile `api` if the row applies to it, else in any profile. Rows with a condition need not be used.
    """
    granted: defaultdict[Need, set[str]] = defaultdict(set)
    exact: defaultdict[Need, set[str]] = defaultdict(set)
    excused: set[Need] = set()
    for row in permissions() if table is None else table:
        for verb in row.verbs:
            need = (row.role, row.group, row.resource, verb)
            granted[need] |= row.granted_in
            exact[need] |= {_EXACT} & row.granted_in if row.role == HARNESS else set()
            if row.conditional:
                excused.add(need)
    different: list[Difference] = []
    for need, profiles in found.items():
        if need not in granted or (lacking := profiles - granted[need] - {""}):
            named = profiles if need not in granted else lacking
            different.append(Difference(need, tuple(sorted(named - {""})), missing=True))
    for need, wanted in exact.items():
        used = found.get(need, set())
        if need not in excused and "" not in used and ((unused := wanted - used) or not used):
            different.append(Difference(need, tuple(sorted(unused)), missing=False))
    return sorted(different, key=lambda each: (each.need, each.missing))


def table_of(found: Mapping[Need, set[str]], *, kept: Iterable[Permission]) -> list[Permission]:
    """Return the rows for these calls; `kept` rows are unchanged, and calls in their profiles need no other row.

    A component has the same permissions in every profile. Those of the harness differ by profile: exactly for `api`,
    the most common profile on clusters, and for others if only few profiles need them.
    """
    grouped: defaultdict[tuple[str, str, str, tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
    kept = tuple(kept)
    by_hand: defaultdict[Need, set[str]] = defaultdict(set)
    for row in kept:
        for verb in row.verbs:
            by_hand[row.role, row.group, row.resource, verb] |= row.granted_in
    for need, profiles in sorted(found.items()):
        role, group, resource, verb = need
        if need in by_hand and not (profiles := profiles - by_hand[need]) - {""}:
            continue
        named, besides = _spread(profiles) if role == HARNESS else ((), ())
        grouped[role, group, resource, named, besides].append(verb)
    rows = [
        Permission(role=role, group=group, resource=resource, verbs=tuple(verbs), profiles=named, besides=besides)
        for (role, group, resource, named, besides), verbs in grouped.items()
    ]
    return [*rows, *kept]


def _spread(profiles: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the profiles to list, and those to exclude."""
    if "" in profiles:
        return (), ()
    if len(profiles - {_EXACT}) < _MANY:
        return tuple(sorted(profiles)), ()
    return (), () if _EXACT in profiles else (_EXACT,)
