"""Remove verbs one at a time from one role, and find the scenario that reports the missing permission.

Trials run side by side on one control plane. Each trial has its own users, so no role is edited while another trial
uses it. A permission is required if a scenario that passes with all permissions fails without this one and names it and
no other. A scenario that is slow or disturbed proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from dra_conformance.core.process_pool import each
from dra_conformance.pytest_plugin.mutation_matrix import LOADED_BEFORE_FORKING
from dra_conformance.rbac import missing
from dra_conformance.rbac.check import Need
from dra_conformance.rbac.table import CLEANUP
from dra_conformance.steps.catalogue import modules as step_modules
from verification.rbac_ablation.evidence import Evidence
from verification.rbac_ablation.roles import RoleUsers
from verification.rbac_ablation.trial import CLEANS, Outcome, Trial, play

_JOBS = 8  # a trial mostly waits for something that never happens
_LIMIT_S = 300.0
# The patience of each round: without a permission most scenarios fail at once, and a busy machine is slow.
_PATIENCE_S = (4.0, 12.0, 30.0)
_ROUNDS = (1, 2, 5)
# The number of further scenarios in each round: most permissions need the first one only.
_ALL_ROUNDS = (1, 2, 5, 12, 24, 48, 96)
# Reasons are cells of a table: longer ones are cut.
_LENGTH = 240
# Parts of messages that differ from run to run: uids, names of objects and users, ids of runs.
_OWN_NAMES = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "…"),
    (re.compile(r"-[0-9a-f]{4}(w\d+)?-\d+\b"), "-…"),
    (re.compile(r"-[0-9a-f]{8}\b"), "-…"),
    (re.compile(r"\bwithout-\d+\b"), "vendor"),
)


@dataclass(frozen=True, slots=True)
class Found:
    """The result: evidence rows of required permissions, and messages about the others."""

    rows: list[Evidence]
    problems: list[str]


ON_NEW = frozenset({("compute-domain-controller", "", "namespaces", "create")})
"""Permissions that a run needs only until their first use on a control plane; they are removed before all others."""


def search(
    needs: Sequence[Need],
    *,
    roles: RoleUsers,
    uses: Mapping[Need, Sequence[str]],
    known: Mapping[Need, Evidence],
    admin: Path,
    folder: Path,
    thoroughly: bool = False,
) -> Found:
    """Remove each of these permissions and run scenarios without it.

    Args:
        uses: the scenarios that use each permission, most promising first.
        known: evidence that is tried first; a few other scenarios follow if it does not hold.
        thoroughly: try all of them.
    """
    # Imported before the processes are forked, which then need not do so themselves.
    step_modules()
    for name in LOADED_BEFORE_FORKING:
        import_module(name)
    # All at once: the server takes a moment to enforce new roles, and so it is waited for once.
    users = dict(zip(needs, roles.without(needs), strict=True))
    left = {need: _candidates(need, uses, known.get(need)) for need in needs}
    likeliest = {need: names[:1] for need, names in left.items()}
    seen: dict[Need, list[str]] = {need: [] for need in needs}
    rows: list[Evidence] = []
    for number, size in enumerate(_ALL_ROUNDS if thoroughly else _ROUNDS):
        trials: list[Trial] = []
        for index, (need, names) in enumerate(left.items()):
            # Repeat with more patience: on a busy machine it may have failed before it sent the request.
            chosen = tuple(dict.fromkeys([*likeliest[need], *names[:size]]))
            left[need] = names[size:]
            if chosen:
                out = folder / f"{users[need][need[0]]}-{number}"
                run_id = f"{number:02x}{index:06x}"
                patience = _PATIENCE_S[min(number, len(_PATIENCE_S) - 1)]
                trials.append(Trial(need, users[need], chosen, roles.kubeconfig, admin, out, patience, run_id))
        for need, outcome in _played(trials):
            if outcome.scenario and names_just(outcome.reason, need):
                rows.append(row(need, outcome))
                del left[need]
            # It failed for another reason, which is no evidence.
            elif outcome.scenario:
                seen[need].append(f"{outcome.scenario} {outcome.status}: {outcome.reason}")
    return Found(rows, [_not_required(need, seen[need]) for need in left])


def names_just(reason: str, need: Need) -> bool:
    """Return whether a reason names this permission as missing, and no other."""
    _, _, said = reason.partition("missing permissions: ")
    # The sentence ends with the command that prints the roles, in parentheses.
    said = said.partition(" (`")[0] if said else reason
    return said == missing.say(need) or (";" not in said and said.endswith(f": {missing.say(need)}"))


def row(need: Need, outcome: Outcome) -> Evidence:
    """Return the evidence row of a required permission, without names that are specific to one run."""
    says = outcome.reason.partition("missing permissions: ")[0].rstrip("; ")
    for pattern, shown in _OWN_NAMES:
        says = pattern.sub(shown, says)
    if len(says) > _LENGTH:
        says = f"{says[: _LENGTH - 1]}…"
    role, group, resource, verb = need
    return Evidence(
        role=role,
        group=group,
        resource=resource,
        verb=verb,
        scenario=outcome.scenario,
        status=outcome.status,
        says=says,
    )


def _candidates(need: Need, uses: Mapping[Need, Sequence[str]], known: Evidence | None) -> list[str]:
    # No scenario uses the permissions of the cleanup.
    if need[0] == CLEANUP:
        return [CLEANS]
    first = [known.scenario] if known is not None else []
    return list(dict.fromkeys([*first, *uses.get(need, ())]))


def _played(trials: Collection[Trial]) -> Iterator[tuple[Need, Outcome]]:
    for trial, answer in each(list(trials), play, jobs=_JOBS, limit=_LIMIT_S):
        yield trial.need, Outcome(trial.scenarios[0], "error", answer) if isinstance(answer, str) else answer


def _not_required(need: Need, seen: Sequence[str]) -> str:
    problems = f"; but {seen[0]}" if seen else ""
    role, group, name, verb = need
    return f"not required: {role}: {verb} {name}{f'.{group}' if group else ''}{problems}"
