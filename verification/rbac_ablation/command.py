"""`python -m verification rbac [--all] [--removals N|all] [--write|--add [LOG]]`: verify the printed roles.

They suffice and are minimal:

1. Run the suite on the emulated control plane and compare the requests of each scenario with the permission table.
2. Run scenarios that together use every permission (`--all`: every scenario) on a real API server, as a user with
   exactly the printed roles. No request may be refused, and the audit log must show every verb of every role.
3. Create the objects that an interrupted run leaves, of every kind, and remove them with `cleanup` as the same user.
   All other objects must stay.
4. Remove verbs one at a time from one role (a sample of 60, of N, or all). The scenario named in
   `verification/rbac_ablation/evidence.yaml`, or another that uses the permission, must fail and name it. `--write`
   searches for these scenarios again and writes that file and docs/reference/rbac.md. `--add` does so only for printed
   verbs without a row, and leaves out steps 2 and 3; with the log of a run of the suite it leaves out step 1 as well.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dra_api.client import KubeClient
from dra_api.feature_gates import gate_list
from dra_api.objects import (
    CONFIG_MAPS,
    EVENTS,
    KNOWN,
    SERVICE_ACCOUNTS,
    VALIDATING_WEBHOOKS,
    key_of,
    name_of,
    uid_of,
)
from dra_conformance.core import assets, features
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.events import CallsMade, ScenarioFinished, read
from dra_conformance.core.status import Status
from dra_conformance.rbac import check
from dra_conformance.rbac.check import Need
from dra_conformance.rbac.table import AGENTS, HARNESS, IMPLIED, SOMETIMES, permissions
from verification.rbac_ablation import ablation, audit, evidence, leftovers
from verification.rbac_ablation.environment import GATES, OURS, Environment, Identity, rehearse, role_of, stage
from verification.rbac_ablation.evidence import Evidence
from verification.rbac_ablation.roles import RoleUsers
from verification.rbac_ablation.trial import CLEANS

USAGE = "usage: python -m verification rbac [--all] [--removals N|all] [--write|--add [LOG]]"
# The seed is fixed, so that a failure can be repeated with the same sample.
_SAMPLE, _SEED, _TRIES = 60, 1, 4
# A run id in the form that real runs have.
_LEFT = "0123abcd"


def main(words: Sequence[str], *, bin_dir: Path, absent: Callable[[str], int]) -> int:
    """Run the command and return its exit code. `absent` reports missing programs."""
    options = list(words)
    every, write, add = "--all" in options, "--write" in options, options[:1] == ["--add"] and len(options) <= 2
    given = Path(options[1]) if add and len(options) == 2 else None
    options = [word for word in options if word not in ("--all", "--write") and not add]
    wanted = options[1] if options[:1] == ["--removals"] and len(options) == 2 else "" if options else str(_SAMPLE)
    if write and wanted == str(_SAMPLE):
        wanted = "all"
    if not (wanted == "all" or (wanted.isdecimal() and not write)):
        print(USAGE)
        return 4
    if not (bin_dir / "kube-apiserver").exists():
        return absent(f"there is no kube-apiserver in {bin_dir.name}/, so the printed roles were not tried")
    with tempfile.TemporaryDirectory(prefix="dra-access-") as folder:
        gates = gate_list(GATES)
        log = given or rehearse(Path(folder), "--feature-gates", gates)
        problems = [str(each) for each in check.differences(check.needs([log]))]
        uses = scenarios_by_need(log)
        try:
            # The rehearsal needs no real control plane, and has shown which scenarios use which permission.
            with stage(Path(folder), bin_dir) as made:
                vendor = made.identity("vendor", *OURS)
                here = made.planned(vendor)
                # Scenarios that are not planned here cannot use a permission on this control plane.
                uses = {need: [each for each in named if each in here] for need, named in uses.items()}
                roles = RoleUsers(made, vendor.roles, printed_for=vendor.user)
                known = {} if write else {row.need: row for row in evidence.load()}
                if add:
                    return _add_rows(made, roles, uses, known)
                # Before any other run on this control plane: see ON_NEW.
                untouched = ablation.search(
                    sorted(ablation.ON_NEW),
                    roles=roles,
                    uses=uses,
                    known=known,
                    admin=made.plane.kubeconfig,
                    folder=made.folder,
                    thoroughly=write,
                )
                problems += untouched.problems
                passed: set[str] = set()
                run = partial(_run, made, vendor, passed=passed)
                named = [row.scenario for row in evidence.load() if row.scenario in here and not write]
                problems += (
                    run([])
                    if every
                    else run_until_used(uses, run=run, unused=partial(_unused, made, [vendor]), named=named)
                )
                problems += _clean(made, vendor)
                problems += _compare(made, [vendor])
                count = None if wanted == "all" else int(wanted)
                problems += _remove(made, vendor, roles, uses, count, first=untouched.rows, passed=passed, write=write)
        except TargetUnreachable as error:
            return absent(f"the real control plane does not start: {error}")
    for line in problems:
        print(f"  {line}")
    return 1 if problems else 0


def scenarios_by_need(log: Path) -> dict[Need, list[str]]:
    """Return the scenarios in which each role uses each permission, fast ones first."""
    known = {scenario.id: scenario for scenario in features.read_all([assets.features()])}
    took: dict[str, float] = {}
    used_in: defaultdict[Need, list[str]] = defaultdict(list)
    for event in read(log):
        scenario = known.get(event.scenario)
        if scenario is None:
            continue
        if isinstance(event, CallsMade):
            for agent, verb, group, resource in event.made:
                if agent in AGENTS:
                    used_in[AGENTS[agent], group, resource, verb].append(event.scenario)
        elif isinstance(event, ScenarioFinished) and event.status is Status.PASSED:
            took[event.scenario] = event.duration
    return {
        need: sorted((each for each in dict.fromkeys(named) if each in took), key=lambda each: took[each])
        for need, named in used_in.items()
    }


def cover(uses: Mapping[Need, Sequence[str]], named: Iterable[str] = ()) -> list[str]:
    """Return few scenarios that together use every permission: those `named`, then greedily the one that adds most."""
    by_scenario: defaultdict[str, set[Need]] = defaultdict(set)
    for need, scenarios in uses.items():
        for scenario in scenarios:
            by_scenario[scenario].add(need)
    chosen = list(dict.fromkeys(named))
    open_needs = {need for need, scenarios in uses.items() if scenarios}.difference(
        *(by_scenario[each] for each in chosen)
    )
    while open_needs:
        # Sorted: the choice among equals must not depend on the order of a dict.
        best = max(sorted(by_scenario), key=lambda each: len(by_scenario[each] & open_needs))
        chosen.append(best)
        open_needs -= by_scenario[best]
    return chosen


def _run(made: Environment, who: Identity, focus: Sequence[str], *, passed: set[str] | None = None) -> list[str]:
    """Run scenarios, add those that pass to `passed`, and return messages about the others."""
    code, report = made.run(who, *OURS, focus=[_pattern(each) for each in focus])
    rows = report.get("scenarios") or ()
    good = {row["id"] for row in rows if row["status"] == "passed"}
    if passed is not None:
        passed |= good
    bad = [row for row in rows if row["status"] in ("failed", "error", "untestable")]
    print(f"access: as {who.user}: {len(good)} scenarios passed, {len(bad)} did not", flush=True)
    if not rows:
        return [f"{who.user}: no report (exit {code})"]
    return [f"{who.user}: {line}" for line in lasting(bad, passes=partial(_passes, made, who, patience=20))]


def lasting(bad: Iterable[Mapping[str, Any]], *, passes: Callable[[str], bool]) -> list[str]:
    """Return messages about scenarios that did not pass, and did not pass when run again alone.

    A missing permission is missing every time, and the audit log, which is read later, covers the first attempt too.
    """
    problems: list[str] = []
    for row in bad:
        line = f"{row['id']} {row['status']}: {row.get('reason') or ''}"
        again = passes(row["id"])
        print(f"  {'unstable: ' if again else ''}{line}", flush=True)
        problems += [] if again else [line]
    return problems


def _pattern(scenario: str) -> str:
    return re.escape(scenario)


def run_until_used(
    uses: Mapping[Need, Sequence[str]],
    *,
    run: Callable[[Sequence[str]], list[str]],
    unused: Callable[[], Sequence[Need]],
    named: Iterable[str] = (),
) -> list[str]:
    """Run few scenarios that together use every permission, `named` among them, and more for permissions still unused.

    Some requests depend on timing: a kubelet records an event only if it was too early. `run` runs scenarios and
    returns messages; `unused` returns the permissions that were not used so far.
    """
    chosen = cover(uses, named)
    problems = run(chosen)
    # A few rounds: a permission that depends on timing may stay unused in one of them.
    for _ in range(_TRIES):
        more = [next((each for each in uses.get(need, ()) if each not in chosen), None) for need in unused()]
        again = list(dict.fromkeys(each for each in more if each is not None))
        if not again:
            break
        problems += run(again)
        chosen += again
    return problems


def _unused(made: Environment, who: Sequence[Identity]) -> list[Need]:
    """Return the permissions that these users have but, by the audit log, have not used so far."""
    return _never_used(_given(who), audit.merged(audit.uses(made.folder / "audit.jsonl", each.user)[0] for each in who))


def _given(who: Sequence[Identity]) -> set[Need]:
    return {need for each in who for need in _granted(each)}


def _never_used(given: set[Need], used: Iterable[Need]) -> list[Need]:
    return sorted(given - set(used) - _silent())


def _clean(made: Environment, who: Identity) -> list[str]:
    """Create the objects that an interrupted run leaves, and remove them with the printed permissions only."""
    before = snapshot(made.admin)
    leftovers.leave(made.plane.transport(), _LEFT)
    left = len(snapshot(made.admin).keys() - before.keys())
    code, said = made.cleanup(who, _LEFT)
    after = snapshot(made.admin)
    print(f"access: cleanup of {left} objects of a killed run: exit {code}", flush=True)
    # Other new objects belong to controllers of the control plane.
    problems = [f"cleanup left {'/'.join(key)}" for key in sorted(after.keys() - before.keys()) if _LEFT in key[2]]
    problems += [
        f"cleanup deleted {'/'.join(key)}, which no run created" for key in sorted(before.keys() - after.keys())
    ]
    return problems if code == 0 else [*problems, f"cleanup ended with {code}: {said}"]


def snapshot(client: KubeClient) -> dict[tuple[str, str, str], Any]:
    """Return all objects of the kinds that a run could write, by kind, namespace and name.

    Excluded are events, and the objects that a cluster creates in each namespace at a time of its own: the default
    service account and the certificate of the API server.
    """
    of_the_cluster = {(SERVICE_ACCOUNTS, "default"), (CONFIG_MAPS, "kube-root-ca.crt")}
    found: dict[tuple[str, str, str], Any] = {}
    for resource in KNOWN:
        if resource == EVENTS or not client.serves(resource):
            continue
        for obj in client.list(resource).items:
            if (resource, name_of(obj)) not in of_the_cluster:
                found[(str(resource), *key_of(obj))] = uid_of(obj)
    return found


def _compare(made: Environment, who: Sequence[Identity]) -> list[str]:
    """Compare the requests of these users in the audit log with their permissions."""
    logs = [audit.uses(made.folder / "audit.jsonl", each.user) for each in who]
    used = audit.merged(part for part, _ in logs)
    problems = [f"refused: {line}" for _, refused in logs for line in sorted(set(refused))]
    given = _given(who)
    problems += [f"unused: {_say(need)}" for need in _never_used(given, used)]
    problems += [f"used by the wrong role: {_say(need)}" for need in sorted(used.keys() - given)]
    print(
        f"access: {len(given)} verbs given, {len(given & used.keys())} used, {sum(used.values())} requests", flush=True
    )
    return problems


def _silent() -> set[Need]:
    """Return the permissions whose use an audit log does not show."""
    return {
        (row.role, row.group, row.resource, verb)
        for row in permissions()
        if row.resource in IMPLIED or row.only.startswith(SOMETIMES)
        for verb in row.verbs
    }


def _granted(who: Identity) -> set[Need]:
    found: set[Need] = set()
    for cluster_role in who.roles:
        role = role_of(cluster_role, who.user)
        for rule in cluster_role["rules"]:
            found |= {(role, rule["apiGroups"][0], name, verb) for name in rule["resources"] for verb in rule["verbs"]}
    return found


def _remove(
    made: Environment,
    who: Identity,
    roles: RoleUsers,
    uses: Mapping[Need, Sequence[str]],
    count: int | None,
    *,
    first: Collection[Evidence],
    passed: Collection[str],
    write: bool,
) -> list[str]:
    """Remove verbs one at a time from their role; return those that no scenario requires."""
    known = {row.need: row for row in evidence.load()}
    problems = [] if write else [f"verification/rbac_ablation/evidence.yaml: {line}" for line in unlike(known)]
    needs = [need for need in roles.granted() if need not in ablation.ON_NEW and (write or need in known)]
    if count is not None:
        needs = sorted(random.Random(_SEED).sample(needs, min(count, len(needs))))  # noqa: S311
    candidates = _candidates(made, needs, uses)
    # Scenarios that passed with all permissions first: only they can prove anything.
    likeliest = {need: sorted(named, key=lambda each: each not in passed) for need, named in candidates.items()}
    found = ablation.search(
        needs,
        roles=roles,
        uses=likeliest,
        known={} if write else known,
        admin=made.plane.kubeconfig,
        folder=made.folder,
        thoroughly=write,
    )
    print(f"access: {len(needs)} verbs removed one by one, {len(found.rows)} of them required", flush=True)
    if write:
        # A scenario proves something only if it passes with all permissions: try those that have not run so far.
        more = sorted({row.scenario for row in found.rows} - {CLEANS} - set(passed))
        evidence.save([*first, *found.rows])
        chance = [_say(need) for need in evidence.by_chance()]
        silent = [line for line in found.problems if not any(f"not required: {need}" in line for need in chance)]
        return silent + (_run(made, who, more) if more else [])
    return problems + found.problems


def _candidates(
    made: Environment, needs: Iterable[Need], uses: Mapping[Need, Sequence[str]]
) -> dict[Need, Sequence[str]]:
    """Return the scenarios that may require each permission, also if the rehearsal does not show its use."""
    found = {**uses, **_implied(needs, uses), **_only_here(made)}
    # The rehearsal never waits for a service account: the emulator creates it with the namespace.
    found[HARNESS, "", "serviceaccounts", "watch"] = list(uses.get((HARNESS, "", "pods", "create"), ()))
    return found


def _add_rows(
    made: Environment, roles: RoleUsers, uses: Mapping[Need, Sequence[str]], known: Mapping[Need, Evidence]
) -> int:
    """Search for evidence of the permissions that have no row yet, and write it; return the exit code."""
    needs = [need for need in roles.granted() if need not in known and need not in evidence.by_chance()]
    found = ablation.search(
        needs,
        roles=roles,
        uses=_candidates(made, needs, uses),
        known={},
        admin=made.plane.kubeconfig,
        folder=made.folder,
        thoroughly=True,
    )
    evidence.save([*(row for need, row in known.items() if need in evidence.printed()), *found.rows])
    print(f"access: {len(found.rows)} rows added")
    for line in found.problems:
        print(f"  {line}")
    return 1 if found.problems else 0


def unlike(known: Collection[Need]) -> list[str]:
    """Return the differences between evidence rows and printed roles, except permissions that depend on timing."""
    printed = evidence.printed()
    problems = [f"no row: {_say(need)}" for need in sorted(printed - set(known) - evidence.by_chance().keys())]
    return problems + [
        f"a row of a permission that is not printed: {_say(need)}" for need in sorted(set(known) - printed)
    ]


def _only_here(made: Environment) -> dict[Need, list[str]]:
    """Return candidates for the permission to list webhook configurations of a cluster.

    With a configuration that matches no object, scenarios of the webhook profile are planned. Any of them will do:
    they run with the permission and are not applicable without it.
    """
    hook = {
        "name": "nobody.dra-conformance.test",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        # Nothing listens at that URL, and no request may fail for that reason.
        "failurePolicy": "Ignore",
        "namespaceSelector": {"matchLabels": {"dra-conformance/webhook": "nobody"}},
        "rules": [
            {"apiGroups": ["resource.k8s.io"], "apiVersions": ["v1"], "operations": ["CREATE"]}
            | {"resources": ["resourceclaims"]}
        ],
    }
    made.admin.create(VALIDATING_WEBHOOKS, {"metadata": {"name": "nobody.dra-conformance.test"}, "webhooks": [hook]})
    need = (HARNESS, VALIDATING_WEBHOOKS.group, VALIDATING_WEBHOOKS.plural, "list")
    planned = features.read_all([assets.features()])
    return {need: [each.id for each in planned if "webhook-admission" in each.tags.needs]}


def _passes(made: Environment, who: Identity, scenario: str, *, patience: int) -> bool:
    """Return whether a scenario passes and leaves no objects. `patience` (seconds) costs time only if it does not."""
    _, report = made.run(who, *OURS, "--patience", str(patience), focus=[_pattern(scenario)])
    ran = [row for row in report.get("scenarios") or () if row["id"] == scenario]
    return bool(ran) and ran[0]["status"] == "passed" and not report.get("leftovers")


def _implied(needs: Iterable[Need], uses: Mapping[Need, Sequence[str]]) -> dict[Need, list[str]]:
    """Return the scenarios that need permissions without a request of their own: the server checks them on a write."""
    texts = {each.id: " ".join(step.text for step in each.steps) for each in features.read_all([assets.features()])}
    found: dict[Need, list[str]] = {}
    for role, group, name, verb in needs:
        if name in IMPLIED:
            wanted = "status.devices" if name.endswith("/driver") else ""
            writers = uses.get((role, group, IMPLIED[name], verb.rpartition(":")[2]), ())
            found[role, group, name, verb] = [each for each in writers if wanted in texts[each]]
    return found


def _say(need: Need) -> str:
    role, group, name, verb = need
    return f"{role}: {verb} {name}{f'.{group}' if group else ''}"
