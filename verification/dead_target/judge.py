"""Runs the scenarios of a component against a target that does nothing, and computes the results of its MUST rules."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import orjson

from dra_conformance.core import assets, features
from dra_conformance.core.events import PlannedRule, PlannedScenario, RunPlanned
from dra_conformance.core.events.log import read
from dra_conformance.core.features import Scenario
from dra_conformance.core.options import RunOptions
from dra_conformance.core.process_pool import each
from dra_conformance.core.rules import Catalogue
from dra_conformance.core.status import Status
from dra_conformance.core.tags import PROFILES
from dra_conformance.engine.mutation import Patch
from dra_conformance.pytest_plugin.launch import execute
from dra_conformance.pytest_plugin.mutation_matrix import LOADED_BEFORE_FORKING
from dra_conformance.report.model import RuleResult, ScenarioResult
from dra_conformance.report.rules import rule_results
from dra_conformance.steps.catalogue import modules as step_modules
from verification.dead_target.targets import DeadTarget

SEED = 20261123
_SHARE = 30  # scenarios that share a process and a control plane
_LIMIT = 300.0  # seconds of one process
_PATIENCE = 2.0
"""Seconds that the harness waits for what the other components do."""
_AFTER_IDLE = 0.25
"""Seconds that a check waits once the system is idle: another component may have a retry pending."""
_REGISTRATION = 0.5
"""Seconds that a kubelet waits for a driver; 10 s and 20 s in a normal run."""
ACCEPTED = (Status.FAILED, Status.UNTESTABLE, Status.NOT_APPLICABLE, Status.NOT_SUPPORTED)
"""The results that a MUST rule may have for a target that does nothing."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The results of all MUST rules that bind the component of one target."""

    target: DeadTarget
    rules: tuple[RuleResult, ...]

    def count(self, *statuses: Status) -> int:
        """Return the number of rules with one of these results."""
        return sum(rule.status in statuses for rule in self.rules)

    def problems(self) -> list[str]:
        """Return one line for each rule with a result that the target does not deserve."""
        found = []
        for rule in self.rules:
            if rule.status not in ACCEPTED and rule.id not in self.target.met:
                where = ", ".join(rule.scenarios)
                found.append(
                    f"{self.target.name}: {rule.id} {rule.status} ({where}){rule.reason and ': '}{rule.reason}"
                )
            elif rule.status is not Status.PASSED and rule.id in self.target.met:
                found.append(f"{self.target.name}: {rule.id} {rule.status}, but is listed as met by this target")
        return found


@dataclass(frozen=True, slots=True)
class _Share:
    """The plan and the results of some scenarios."""

    planned: tuple[PlannedScenario, ...]
    rules: Mapping[str, PlannedRule]
    results: tuple[ScenarioResult, ...]


def binding(component: str, catalogue: Catalogue) -> set[str]:
    """Return the ids of the MUST rules that bind a component."""
    return {rule.id for rule in catalogue.values() if rule.component == component and rule.scored}


def judge(targets: Sequence[DeadTarget], *, jobs: int, scenarios: Iterable[Scenario] | None = None) -> list[Judgement]:
    """Return the results of each target, from all scenarios that judge a MUST rule of its component.

    `jobs` processes run at a time. Raises RuntimeError if a process has no result.
    """
    catalogue = Catalogue.load()
    every = list(features.read_all([assets.features()]) if scenarios is None else scenarios)
    step_modules()
    for name in LOADED_BEFORE_FORKING:
        importlib.import_module(name)
    work = []
    for target in targets:
        wanted = binding(target.component, catalogue)
        names = [one.id for one in every if wanted & set(one.rules)]
        # In turns, so that the slow scenarios of one feature are spread over all shares.
        parts = -(-len(names) // _SHARE)
        work += [(target, names[start::parts]) for start in range(parts)]
    shares: dict[str, list[_Share]] = {target.name: [] for target in targets}
    for (target, names), share in each(work, _run, jobs=jobs, limit=_LIMIT):
        if isinstance(share, str):
            raise RuntimeError(f"{target.name}: {share}; scenarios: {', '.join(names)}")
        shares[target.name].append(share)
    return [
        Judgement(target, _results(shares[target.name], binding(target.component, catalogue))) for target in targets
    ]


def _results(shares: Sequence[_Share], wanted: set[str]) -> tuple[RuleResult, ...]:
    plan = RunPlanned(
        scenarios=tuple(row for share in shares for row in share.planned),
        rules={rule: row for share in shares for rule, row in share.rules.items() if rule in wanted},
    )
    results, _ = rule_results(plan, [result for share in shares for result in share.results], {})
    return tuple(sorted(results, key=lambda result: result.id))


def _run(work: tuple[DeadTarget, list[str]]) -> _Share:
    target, names = work
    with tempfile.TemporaryDirectory(prefix="dra-dead-") as folder:
        patch = Patch(Path(folder))
        target.apply(patch)
        _shorten_waits(patch)
        options = RunOptions(
            focus=features.focus_on(names),
            profile=tuple(PROFILES),  # without it the profile fault-sweep is left out
            out=folder,
            progress="none",
            report=("json",),
            patience=_PATIENCE,
            seed=SEED,
        )
        execute(options)
        report = orjson.loads((Path(folder) / "report.json").read_bytes())
        plan = next(event for event in read(Path(folder) / "events.jsonl") if isinstance(event, RunPlanned))
    results = msgspec.convert(report["scenarios"], list[ScenarioResult])
    return _Share(
        planned=tuple(row for row in plan.scenarios if row.id in names),
        rules=plan.rules,
        results=tuple(result for result in results if result.id in names),
    )


def _shorten_waits(patch: Patch) -> None:
    """End every wait of a check shortly after the system is idle: a component that does nothing never ends it."""

    def checks(original: Callable[..., Any]) -> Callable[..., Any]:
        def wait(self: Any, look: Callable[[], Any], within: float | None = None) -> Any:
            seen = original(self, look, 0.0)
            if not seen[0]:
                self._settle()
                seen = original(self, look, min(self._patience if within is None else within, _AFTER_IDLE))
            return seen

        return wait

    def registration(original: Callable[..., Any]) -> Callable[..., Any]:
        def wait_registered(self: Any, driver: str, timeout: float, *, instances: int = 1) -> Any:
            return original(self, driver, min(timeout, _REGISTRATION), instances=instances)

        return wait_registered

    patch.wrap("dra_conformance.engine.checks:Checks.wait", checks)
    patch.wrap("dra_conformance.kubelet.plugins:PluginManager.wait_registered", registration)
