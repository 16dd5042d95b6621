"""`python -m peers access [--all] [--removals N|all]`: is what `rbac` prints enough, and is all of it needed?

1. The suite on the embedded control plane: which scenario asks for what; the table must say the same.
2. Scenarios that together ask for everything (`--all`: every scenario) on a real API server, under an identity that
   holds the printed roles and nothing else: nothing may be refused, and every verb of every role must be used by its
   holder, as the server's audit log tells.
3. What a killed run leaves, of every kind, removed by `cleanup` under the same identity; everything else stays.
4. Verbs taken away one by one (a sample, or all): some scenario that asks for it must no longer pass.
"""

from __future__ import annotations

import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dra_api.client import KubeClient
from dra_conformance import assets
from dra_conformance.access import check
from dra_conformance.access.check import Need
from dra_conformance.access.table import AGENTS, CLEANUP, IMPLIED, SOMETIMES, rights
from dra_conformance.errors import TargetUnreachable
from dra_conformance.events.log import read
from dra_conformance.suite import features
from peers.access import audit, leave
from peers.access.stage import GATES, OURS, Identity, Stage, rehearse, stage

USAGE = "usage: python -m peers access [--all] [--removals N|all]"
_SAMPLE, _SEED, _TRIES = 6, 1, 4
_LEFT = "0123abcd"
Ask = tuple[str, str, str]
"""API group, resource, verb: what RBAC knows."""


def main(words: Sequence[str], *, bin_dir: Path, absent: Callable[[str], int]) -> int:
    """Run the command; its exit code. `absent` says in one line that the real programs are missing."""
    options = list(words)
    every = "--all" in options
    if every:
        options.remove("--all")
    wanted = options[1] if options[:1] == ["--removals"] and len(options) == 2 else str(_SAMPLE)
    if (options and options[:1] != ["--removals"]) or not (wanted == "all" or wanted.isdecimal()):
        print(USAGE)
        return 4
    if not (bin_dir / "kube-apiserver").exists():
        return absent(f"there is no kube-apiserver in {bin_dir.name}/, so the printed roles were not tried")
    with tempfile.TemporaryDirectory(prefix="dra-access-") as folder:
        gates = ",".join(f"{name}={str(value).lower()}" for name, value in GATES.items())
        log = rehearse(Path(folder), "--feature-gates", gates)
        told = [str(each) for each in check.differences(check.needs([log]))]
        uses = scenarios_by_need(log)
        try:
            with stage(Path(folder), bin_dir) as made:
                vendor = made.identity("vendor", *OURS)
                here = made.planned(vendor)
                uses = {need: [each for each in named if each in here] for need, named in uses.items()}
                run = partial(_run, made, vendor)
                told += run([]) if every else run_until_used(uses, run=run, unused=partial(_unused, made, [vendor]))
                told += _clean(made, vendor)
                told += _compare(made, [vendor])
                count = None if wanted == "all" else int(wanted)
                told += _remove(made, vendor, uses, count)
        except TargetUnreachable as error:
            return absent(f"the real control plane does not start: {error}")
    for line in told:
        print(f"  {line}")
    return 1 if told else 0


def scenarios_by_need(log: Path) -> dict[Need, list[str]]:
    """The scenarios in which each holder asks for each right, the quick ones first."""
    known = {scenario.id: scenario for scenario in features.read_all([assets.features()])}
    took: dict[str, float] = {}
    asked: defaultdict[Need, list[str]] = defaultdict(list)
    for event in read(log):
        scenario = known.get(event.scenario)
        if scenario is None:
            continue
        if event.kind == "calls":
            for agent, verb, group, resource in event.data["made"]:
                if agent in AGENTS:
                    asked[AGENTS[agent], group, resource, verb].append(event.scenario)
        elif event.kind == "scenario-finished" and event.data["status"] == "passed":
            took[event.scenario] = float(event.data["duration"])
    return {
        need: sorted((each for each in dict.fromkeys(named) if each in took), key=lambda each: took[each])
        for need, named in asked.items()
    }


def cover(uses: Mapping[Need, Sequence[str]]) -> list[str]:
    """Few scenarios that together ask for everything: again and again the one that adds most."""
    by_scenario: defaultdict[str, set[Need]] = defaultdict(set)
    for need, named in uses.items():
        for scenario in named:
            by_scenario[scenario].add(need)
    open_needs = {need for need, named in uses.items() if named}
    chosen: list[str] = []
    while open_needs:
        best = max(sorted(by_scenario), key=lambda each: len(by_scenario[each] & open_needs))
        chosen.append(best)
        open_needs -= by_scenario[best]
    return chosen


def _run(made: Stage, who: Identity, focus: Sequence[str]) -> list[str]:
    """Run scenarios; what is to be told of those that do not pass."""
    code, report = made.run(who, *OURS, focus=[_pattern(each) for each in focus])
    rows = report.get("scenarios") or ()
    passed = sum(row["status"] == "passed" for row in rows)
    bad = [row for row in rows if row["status"] in ("failed", "error", "untestable")]
    print(f"access: as {who.user}: {passed} scenarios passed, {len(bad)} did not", flush=True)
    if not rows:
        return [f"{who.user}: no report (exit {code})"]
    return [f"{who.user}: {line}" for line in lasting(bad, passes=partial(_passes, made, who, patience=20))]


def lasting(bad: Iterable[Mapping[str, Any]], *, passes: Callable[[str], bool]) -> list[str]:
    """What is to be told of scenarios that did not pass and do not when asked again alone.

    A right that is missing is missing every time; and the audit log, which is read later, tells of the first time too.
    """
    told: list[str] = []
    for row in bad:
        line = f"{row['id']} {row['status']}: {row.get('reason') or ''}"
        again = passes(row["id"])
        print(f"  {'unstable: ' if again else ''}{line}", flush=True)
        told += [] if again else [line]
    return told


def _pattern(scenario: str) -> str:
    import re

    return re.escape(scenario)


def run_until_used(
    uses: Mapping[Need, Sequence[str]],
    *,
    run: Callable[[Sequence[str]], list[str]],
    unused: Callable[[], Sequence[Need]],
) -> list[str]:
    """Run few scenarios that together ask for everything; and for what was not asked for this time, some more.

    Not every request is made every time: a kubelet tells an event where it was too early for something, or not. `run`
    runs scenarios and returns what is to be told; `unused` are the rights that nobody has used so far.
    """
    chosen = cover(uses)
    told = run(chosen)
    for _ in range(_TRIES):
        more = [next((each for each in uses.get(need, ()) if each not in chosen), None) for need in unused()]
        again = list(dict.fromkeys(each for each in more if each is not None))
        if not again:
            break
        told += run(again)
        chosen += again
    return told


def _unused(made: Stage, who: Sequence[Identity]) -> list[Need]:
    """Rights that these users have and have not used so far, as the audit log tells."""
    return _never_used(
        _given(who), audit.merged(audit.asked(made.folder / "audit.jsonl", each.user)[0] for each in who)
    )


def _given(who: Sequence[Identity]) -> set[Need]:
    return {need for each in who for need in _granted(each)}


def _never_used(given: set[Need], used: Iterable[Need]) -> list[Need]:
    return sorted(given - set(used) - _silent())


def _clean(made: Stage, who: Identity) -> list[str]:
    """Leave what a killed run would, and remove it as somebody who may do no more than the roles say."""
    before = snapshot(made.admin)
    leave.leave(made.plane.transport(), _LEFT)
    left = len(snapshot(made.admin).keys() - before.keys())
    code, said = made.cleanup(who, _LEFT)
    after = snapshot(made.admin)
    print(f"access: cleanup of {left} objects of a killed run: exit {code}", flush=True)
    told = [f"cleanup left {'/'.join(key)}" for key in sorted(after.keys() - before.keys()) if _LEFT in key[2]]
    told += [f"cleanup took {'/'.join(key)}, which no run made" for key in sorted(before.keys() - after.keys())]
    return told if code == 0 else [*told, f"cleanup ended with {code}: {said}"]


def snapshot(client: KubeClient) -> dict[tuple[str, str, str], Any]:
    """All objects of the kinds that a run could touch, by kind, namespace and name.

    Events are left out, and what a cluster makes in each namespace by itself, at a time of its own: the default service
    account and the certificate of the API server.
    """
    from dra_api.objects import CONFIG_MAPS, EVENTS, KNOWN, SERVICE_ACCOUNTS, key_of, name_of, uid_of

    of_the_cluster = {(SERVICE_ACCOUNTS, "default"), (CONFIG_MAPS, "kube-root-ca.crt")}
    found: dict[tuple[str, str, str], Any] = {}
    for resource in KNOWN:
        if resource == EVENTS or not client.serves(resource):
            continue
        for obj in client.list(resource).items:
            if (resource, name_of(obj)) not in of_the_cluster:
                found[(str(resource), *key_of(obj))] = uid_of(obj)
    return found


def _compare(made: Stage, who: Sequence[Identity]) -> list[str]:
    """What the audit log says that these users asked for, against what they were given."""
    logs = [audit.asked(made.folder / "audit.jsonl", each.user) for each in who]
    used = audit.merged(part for part, _ in logs)
    told = [f"refused: {line}" for _, refused in logs for line in sorted(set(refused))]
    given = _given(who)
    asked = set(used)
    told += [f"never used: {_say(need)}" for need in _never_used(given, used)]
    told += [f"used by the wrong holder: {_say(need)}" for need in sorted(asked - given)]
    print(f"access: {len(given)} verbs given, {len(given & asked)} used, {sum(used.values())} requests", flush=True)
    return told


def _silent() -> set[Need]:
    """Rights whose use an audit log cannot be expected to show."""
    return {
        (row.holder, row.group, row.resource, verb)
        for row in rights()
        if row.resource in IMPLIED or row.only.startswith(SOMETIMES)
        for verb in row.verbs
    }


def _granted(who: Identity) -> set[Need]:
    found: set[Need] = set()
    for role in who.roles:
        holder = role["metadata"]["name"].removeprefix(f"{who.user}-dra-conformance").removeprefix("-") or "harness"
        for rule in role["rules"]:
            found |= {
                (holder, rule["apiGroups"][0], name, verb) for name in rule["resources"] for verb in rule["verbs"]
            }
    return found


def _remove(made: Stage, who: Identity, needs: Mapping[Need, Sequence[str]], count: int | None) -> list[str]:
    """Take verbs away, one after the other; what is not missed by any scenario that asks for it."""
    # A role grants to the user, whoever of the run asks: so a verb is taken from all holders at once.
    uses: dict[Ask, list[str]] = {}
    for (_, *ask), named in needs.items():
        uses.setdefault((ask[0], ask[1], ask[2]), []).extend(named)
    uses.update(_implied(who, uses))
    asks: Iterable[Ask] = sorted(
        {
            (group, name, verb)
            for holder, group, name, verb in _granted(who)
            if holder != CLEANUP and uses.get((group, name, verb))
        }
    )
    silent = [ask for ask in asks if ask[1] in IMPLIED]  # the audit log does not tell of these, so all are tried
    others = [ask for ask in asks if ask not in silent]
    chosen = [*silent, *(others if count is None else random.Random(_SEED).sample(others, count))]  # noqa: S311
    missed = 0
    told: list[str] = []
    for group, name, verb in chosen:
        for scenario in uses[group, name, verb][:_TRIES]:
            with made.without(who, group, name, verb):
                passes = _passes(made, who, scenario, patience=3)
            # A scenario that does not pass with all rights either says nothing about this one.
            if not passes and _passes(made, who, scenario, patience=20):
                missed += 1
                print(f"access: without {verb} {name}: {scenario} does not pass", flush=True)
                break
        else:
            told.append(f"nobody misses {verb} {name}{f'.{group}' if group else ''}")
    print(f"access: {len(chosen)} verbs taken away one by one, {missed} of them missed by a scenario", flush=True)
    return told


def _passes(made: Stage, who: Identity, scenario: str, *, patience: int) -> bool:
    """Whether a scenario passes and leaves nothing. `patience`, in seconds, costs time only where it does not."""
    _, report = made.run(who, *OURS, "--patience", str(patience), focus=[_pattern(scenario)])
    ran = [row for row in report.get("scenarios") or () if row["id"] == scenario]
    return bool(ran) and ran[0]["status"] == "passed" and not report.get("leftovers")


def _implied(who: Identity, uses: Mapping[Ask, Sequence[str]]) -> dict[Ask, list[str]]:
    """The scenarios that meet rights which nobody requests: those that write what the server asks for them at."""
    texts = {each.id: " ".join(step.text for step in each.steps) for each in features.read_all([assets.features()])}
    found: dict[Ask, list[str]] = {}
    for group, name, verb in {(group, name, verb) for _, group, name, verb in _granted(who) if name in IMPLIED}:
        wanted = "status.devices" if name.endswith("/driver") else ""
        writers = uses.get((group, IMPLIED[name], verb.rpartition(":")[2]), ())
        found[group, name, verb] = [each for each in writers if wanted in texts[each]]
    return found


def _say(need: Need) -> str:
    holder, group, name, verb = need
    return f"{holder}: {verb} {name}{f'.{group}' if group else ''}"
