"""The kill matrix: run every mutant, each in a forked process, with the scenarios that judge its rule.

A mutant is killed when one of them fails on a check of that rule. A scenario that ends in an error or an unmet
precondition kills nothing.
"""

from __future__ import annotations

import gc
import importlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import orjson

from dra_conformance.core import assets, features
from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.options import RunOptions
from dra_conformance.core.process_pool import each
from dra_conformance.core.status import Status
from dra_conformance.engine import preflight
from dra_conformance.engine.mutation import Mutant, Patch
from dra_conformance.pytest_plugin import runner  # noqa: F401 - imported before forking, once for all children
from dra_conformance.pytest_plugin.launch import execute
from dra_conformance.steps.catalogue import modules as step_modules


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a mutant: `killed` or `survived`, the scenario, and the reason.

    `again`: it survived beside other mutants and was retried alone. A mutant that is killed only then depends on the
    order of events.
    """

    id: str
    rule: str
    scenario: str
    status: str
    reason: str = ""
    again: bool = False


# Imported once in the parent, because nearly every child needs them. Their import starts no thread and opens no file.
LOADED_BEFORE_FORKING = (
    "dra_conformance.control_plane.embedded",
    "apiserver_emulator.dra",
    "dra_conformance.report.files",
    "dra_conformance.components.node",
    "reference_impl.binder",
    "reference_impl.device_plugin",
    "reference_impl.claim_controller",
    "reference_impl.scheduler",
    "reference_impl.taint_eviction",
    "reference_impl.webhook",
    "reference_impl.kubelet_plugin.plugin",
    "reference_impl.compute_domain.plugin",
    "reference_impl.compute_domain.controller",
    "pytest_bdd.plugin",
)


def matrix(mutants: Sequence[Mutant], options: RunOptions, *, jobs: int = 0, limit: float = 120.0) -> Iterator[Outcome]:
    """Run every mutant with the scenarios of its rule, `jobs` at a time (default: three for two processors).

    First, the scenarios run without a mutant: a scenario that does not pass cannot kill a mutant. `limit` is the time
    limit of one mutant in seconds; a mutant that exceeds it has survived. Survivors are retried alone, with twice the
    patience: on a busy machine a step that only prepares the fault can be too late.
    """
    survivors = []
    for outcome in _round(mutants, options, jobs=jobs, limit=limit):
        if outcome.status == "killed":
            yield outcome
        else:
            survivors.append(outcome.id)
    if survivors:
        once_more = [one for one in mutants if one.id in survivors]
        patient = msgspec.structs.replace(options, patience=options.patience and options.patience * 2)
        for outcome in _round(once_more, patient, jobs=1, limit=limit):
            yield replace(outcome, again=True)


def _round(mutants: Sequence[Mutant], options: RunOptions, *, jobs: int, limit: float) -> Iterator[Outcome]:
    preflight.check(options)
    step_modules()
    for name in LOADED_BEFORE_FORKING:
        importlib.import_module(name)
    scenarios = features.read_all([assets.features(), *(Path(folder) for folder in options.features)])
    targets: dict[str, list[str]] = {}
    for one in mutants:
        judging = [s.id for s in scenarios if one.rule in s.rules and one.scenario in ("", s.id, s.id.split("[")[0])]
        if not judging:
            raise SpecificationError(f"mutant {one.id}: no scenario {one.scenario or 'at all'} judges {one.rule}")
        targets[one.id] = judging
    # The children would copy the memory pages that the garbage collector writes to.
    gc.collect()
    gc.freeze()
    jobs = jobs or _default_jobs(os.cpu_count() or 1)
    # Mutants that need options of their own need a baseline under the same options.
    wanted: dict[str, tuple[RunOptions, set[str]]] = {}
    for one in mutants:
        wanted.setdefault(_key(one), (_with(options, one.options), set()))[1].update(targets[one.id])
    shares: list[tuple[str, list[str], RunOptions]] = []
    for key, (chosen, names) in wanted.items():
        ordered = sorted(names)
        # In turns, so that the scenarios of one feature are spread over all jobs.
        shares += [(key, ordered[start::jobs], chosen) for start in range(jobs) if ordered[start::jobs]]
    baseline: dict[str, dict[str, tuple[str, str]]] = {key: {} for key in wanted}
    # A share has many scenarios, a mutant only those of one rule.
    for (key, share, _), answer in each(shares, _run_baseline, jobs=jobs, limit=limit * 5):
        if isinstance(answer, str):
            answer = dict.fromkeys(share, (Status.ERROR.value, answer))
        baseline[key].update(answer)
    # The parent deletes this directory, because a mutant may kill its process.
    with tempfile.TemporaryDirectory(prefix="dra-mutants-") as scratch:
        work = [
            (one, targets[one.id], wanted[_key(one)][0], baseline[_key(one)], Path(scratch) / str(number))
            for number, one in enumerate(mutants)
        ]
        for (one, judging, *_), outcome in each(work, _run_mutant, jobs=jobs, limit=limit):
            yield Outcome(one.id, one.rule, judging[0], "survived", outcome) if isinstance(outcome, str) else outcome


def _default_jobs(processors: int) -> int:
    """Return the default number of jobs. A mutant waits half of its time for an event that does not occur."""
    return processors + processors // 2


def _key(one: Mutant) -> str:
    return repr(sorted(one.options.items()))


def _with(options: RunOptions, more: dict[str, Any]) -> RunOptions:
    return msgspec.structs.replace(options, **{key.replace("-", "_"): value for key, value in more.items()})


def _run_baseline(work: tuple[str, list[str], RunOptions]) -> dict[str, tuple[str, str]]:
    _, names, options = work
    return {name: (row["status"], row["reason"]) for name, row in _run(names, options).items()}


def _run_mutant(work: tuple[Mutant, list[str], RunOptions, dict[str, tuple[str, str]], Path]) -> Outcome:
    one, scenarios, options, baseline, scratch = work
    able = [scenario for scenario in scenarios if baseline.get(scenario, ("", ""))[0] == Status.PASSED]
    if not able:
        status, reason = baseline.get(scenarios[0], ("not run", ""))
        return Outcome(one.id, one.rule, scenarios[0], "survived", f"without the mutant: {status}: {reason}")
    scratch.mkdir()
    try:
        one.apply(Patch(scratch))
    except SpecificationError as error:
        return Outcome(one.id, one.rule, able[0], "survived", error.message)
    results = _run(able, options)
    for scenario, row in results.items():
        for check in row["checks"]:
            if check["status"] == Status.FAILED and one.rule in check["rules"]:
                return Outcome(one.id, one.rule, scenario, "killed", check["message"])
    reasons = "; ".join(f"{scenario} {row['status']}: {row['reason']}"[:240] for scenario, row in results.items())
    if not results:
        reasons = "the run with the mutant judged no scenario; is the specification valid?"
    return Outcome(one.id, one.rule, able[0], "survived", reasons)


def _run(names: Sequence[str], options: RunOptions) -> dict[str, dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="dra-mutant-") as folder:
        focus = features.focus_on(names)
        execute(msgspec.structs.replace(options, focus=focus, out=folder, progress="none", report=("json",)))
        report = orjson.loads((Path(folder) / "report.json").read_bytes())
    # Those that a failure of the harness kept from ending are filtered, and say so.
    return {row["id"]: row for row in report["scenarios"] if row["id"] in names}
