"""Runs the chosen mutants, a few at a time, and stores their results."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from dra_conformance.core.process_pool import each
from dra_conformance.core.status import Status
from verification.mutation_survey import mutants as generation
from verification.mutation_survey import preload, reach, trial
from verification.mutation_survey.components import ROOT
from verification.mutation_survey.mutants import Mutant
from verification.mutation_survey.reach import Chosen, Reach
from verification.mutation_survey.results import Result, Store
from verification.mutation_survey.trial import Outcome, Work

_START, _FACTOR, _LONGEST = 70.0, 5.0, 900.0
"""The time limit of a mutant: the start, and so many times the duration of its scenarios, at most the longest."""
_MAP_LIMIT = 1800.0
_PROBED, _PROBES = "api-server", 240.0
"""The component that the fidelity probes judge as well, and the time that they may take."""


def collect(file: Path, *, fresh: bool = False) -> Reach:
    """Return the map of lines for the present source, and store it. Raises RuntimeError if the run fails.

    A stored map is brought up to date: only scenarios that changed, and those that execute changed files, run again.
    `fresh` collects everything again, which also sees changes of steps and of the harness.
    """
    known = None if fresh else reach.stored(file)
    again = reach.outdated(known) if known is not None else None
    if known is not None and again is not None:
        if again:
            known = reach.merged(known, again, _record(tuple(sorted(again))))
            reach.store(known, file)
        return known
    made = _record(())
    reach.store(made, file)
    return made


def _record(names: tuple[str, ...]) -> Reach:
    """Run scenarios (all if none is named) in every variant of the options in which they did not pass before."""
    rows: list[dict[str, Any]] = []
    modules: dict[str, None] = {}
    with tempfile.TemporaryDirectory(prefix="dra-survey-map-") as folder:
        for variant in trial.VARIANTS:
            data = Path(folder) / (variant or "default")
            data.mkdir()
            for _, answer in each([(str(data), variant, names)], trial.record, jobs=1, limit=_MAP_LIMIT):
                if isinstance(answer, str):
                    raise RuntimeError(f"the map of lines cannot be collected: {answer}")
                rows += answer["scenarios"]
                modules |= dict.fromkeys(answer["modules"])
            passed = {reach.id_of(row["id"]) for row in rows if row["status"] == Status.PASSED}
            names = tuple(sorted({reach.id_of(row["id"]) for row in rows} - passed))
            if not names:
                break
        return reach.made({"scenarios": rows, "modules": list(modules)}, Path(folder))


def run(
    chosen: Sequence[Mutant],
    found: Reach,
    store: Store,
    *,
    digest: str,
    jobs: int,
    show: Callable[[Result], None],
    answers: Path | None = None,
    sources: Mapping[str, str] | None = None,
) -> None:
    """Run the mutants of all components and store every result as it comes.

    `answers` is a file of recorded responses of a real API server, for the mutants of the emulated one. `sources` has
    the changed source of mutants by key; that of all others is generated.
    """
    for _, group in groupby(chosen, key=lambda one: one.component):
        # A process of its own for each component: it imports everything except the mutated modules.
        process = multiprocessing.get_context("fork").Process(
            target=_component, args=(list(group), found, store, digest, jobs, show, answers, sources or {})
        )
        process.start()
        try:
            process.join()
        finally:
            if process.is_alive():
                process.terminate()
                process.join()


def _component(
    chosen: Sequence[Mutant],
    found: Reach,
    store: Store,
    digest: str,
    jobs: int,
    show: Callable[[Result], None],
    answers: Path | None,
    sources: Mapping[str, str],
) -> None:
    known = store.latest()
    by_key = {
        one.key: reach.scenarios_for(one, found, killer=known[one.key].outcome.scenario if one.key in known else "")
        for one in chosen
    }

    def finish(mutant: Mutant, outcome: Outcome) -> None:
        which = by_key[mutant.key]
        rules = {rule for name in which.scenarios for rule in found.scenarios[name].rules}
        result = Result(
            digest=digest,
            mutant=mutant,
            outcome=outcome,
            why=which.why,
            scenarios=len(which.scenarios),
            reaching=tuple(sorted(rules)),
            date=datetime.now(tz=UTC).date().isoformat(),
        )
        store.add(result)
        show(result)

    with tempfile.TemporaryDirectory(prefix="dra-survey-") as scratch:
        works = []
        # File by file: the generator keeps the last parsed file.
        for number, one in enumerate(sorted(chosen, key=lambda each: each.path)):
            probed = answers if one.component == _PROBED else None
            source = sources.get(one.key)
            work = _work(one, by_key[one.key], found, Path(scratch) / str(number), probed, source)
            if isinstance(work, Outcome):
                finish(one, work)
            else:
                works.append(work)
        order = {one.key: number for number, one in enumerate(chosen)}
        works.sort(key=lambda work: order[work.mutant.key])
        preload.load(found.modules, {one.module for one in chosen})
        for work, answer in each(works, trial.run_mutant, jobs=jobs, limit=lambda work: work.limit):
            finish(work.mutant, judged(work, answer))


def _work(
    mutant: Mutant,
    which: Chosen,
    found: Reach,
    scratch: Path,
    answers: Path | None = None,
    source: str | None = None,
) -> Work | Outcome:
    if not which.scenarios and answers is None:
        return Outcome(status="survived", message="no scenario executes this line")
    source = source or generation.mutated_source(mutant, ROOT)
    if source is None:
        return Outcome(status="error", message="the mutant is not valid Python")
    scratch.mkdir()
    seconds = sum(found.scenarios[name].duration for name in which.scenarios)
    return Work(
        mutant=mutant,
        source=source,
        scenarios=which.scenarios,
        scratch=str(scratch),
        limit=min(_START + _FACTOR * seconds, _LONGEST) + (_PROBES if answers else 0),
        answers=str(answers or ""),
    )


def judged(work: Work, answer: Outcome | str) -> Outcome:
    """Return the outcome of a trial, or of its process if that ended without one."""
    if isinstance(answer, Outcome):
        return answer
    killed = Path(work.scratch) / "killed.json"
    if killed.exists():  # the process hung or died after the failed check
        return msgspec.json.decode(killed.read_bytes(), type=Outcome)
    return Outcome(status="timeout" if answer.startswith("took more than") else "error", message=answer)
