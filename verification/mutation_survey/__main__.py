"""`python -m verification.mutation_survey --sample 500 --seed 1 [--component NAME]`; see the package's docstring."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from verification import campaign_shard
from verification.mutation_survey import components, faults, generated, probing, sample, survey, tables, unobservable
from verification.mutation_survey.components import ROOT
from verification.mutation_survey.faults import Edited
from verification.mutation_survey.mutants import Mutant
from verification.mutation_survey.results import Result, Store

_FOLDER = ROOT / "build" / "mutation-survey"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the survey, or show stored results; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        selected = components.find(options.component)
    except ValueError as error:
        print(f"--component: {error}", file=sys.stderr)
        return 2
    store = Store(options.folder / "results.jsonl")
    if options.show:
        print(tables.listing(store.latest().values(), options.show, [one.name for one in selected]))
        return 0
    digest = components.digest()
    if options.faults:
        return _faults(options, {one.name for one in selected}, store, digest)
    for file in options.merge:
        store.take(Store(file))
    mutants = {one.name: generated.of_component(one, options.folder / "mutants") for one in selected}
    everything = [one for found in mutants.values() for one in found]
    if options.again:
        known = store.latest()
        chosen = [one for one in everything if one.key in known and known[one.key].outcome.status != "killed"]
    else:
        count = sample.shares({name: len(found) for name, found in mutants.items()}, options.sample)
        chosen = [one for name, found in mutants.items() for one in sample.choose(found, count[name], options.seed)]
    chosen = list(options.shard.part_of(chosen))
    print(f"{len(chosen)} of {len(everything)} mutants, seed {options.seed}, source {digest}")
    results = _run(options, chosen, store, digest)
    classes = unobservable.load()
    if not options.component:  # the entries of all components
        for problem in unobservable.problems(classes, {one.key for one in everything}):
            print(f"{unobservable.FILE.name}: {problem}", file=sys.stderr)
    classes |= unobservable.of_texts(everything) | unobservable.of_functions(classes, everything)
    print(tables.table(results, classes))
    return 0 if len(results) == len(chosen) else 1


def _faults(options: argparse.Namespace, selected: Collection[str], store: Store, digest: str) -> int:
    """Run the faults of files; return 1 if one of them no longer fits the source."""
    outdated = False
    edits: list[Edited] = []
    for one in faults.load(options.faults):
        try:
            edits.append(faults.edited(one))
        except faults.FaultError as error:
            print(error, file=sys.stderr)
            outdated = True
    edits = sorted((one for one in edits if one.mutant.component in selected), key=lambda one: one.mutant.component)
    chosen = [one.mutant for one in edits]
    print(f"{len(chosen)} faults, source {digest}")
    results = _run(options, chosen, store, digest, {one.mutant.key: one.source for one in edits})
    print(tables.table(results, unobservable.load()))
    return 1 if outdated or len(results) < len(chosen) else 0


def _run(
    options: argparse.Namespace,
    chosen: Sequence[Mutant],
    store: Store,
    digest: str,
    sources: Mapping[str, str] | None = None,
) -> list[Result]:
    """Run the mutants without a stored result and return the results of all."""
    done = store.of(digest)
    todo = [one for one in chosen if one.key not in done]
    if todo:
        print(f"{len(todo)} to run; bringing the map of lines up to date", flush=True)
        found = survey.collect(options.folder / "reach.json", fresh=options.fresh)
        failed = sorted(name for name, reason in found.others.items() if not reason.startswith("not-"))
        for name in failed:
            print(f"without a mutant: {name} {found.others[name][:200]}", file=sys.stderr)
        answers = probing.file_of(options.folder)
        if any(one.component == "api-server" for one in todo) and not answers.exists():
            _record_answers(answers)
        survey.run(
            todo,
            found,
            store,
            digest=digest,
            jobs=options.jobs,
            show=_show,
            answers=answers if answers.exists() else None,
            sources=sources,
        )
        done = store.of(digest)
    return [done[one.key] for one in chosen if one.key in done]


def _record_answers(file: Path) -> None:
    """Record the responses of a real API server to the fidelity probes, if its programs are built."""
    words = [sys.executable, "-m", "verification", "fidelity", "--answers", str(file)]
    subprocess.run(words, check=False, stdout=subprocess.DEVNULL, cwd=ROOT)
    if not file.exists():
        print("no real API server to record (make third-party); the fidelity probes judge nothing", file=sys.stderr)


def _show(result: Result) -> None:
    one, outcome = result.mutant, result.outcome
    detail = f"{outcome.rules[0]} {outcome.scenario}" if outcome.rules else outcome.message[:100]
    print(
        f"{outcome.status:<9} {one.key} ({outcome.seconds:.1f} s, {outcome.ran}/{result.scenarios}) {detail}",
        flush=True,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m verification.mutation_survey", description=__doc__)
    parser.add_argument("--sample", type=int, default=500, help="Run N mutants in total. [500]")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the choice. [1]")
    parser.add_argument("--component", action="append", default=[], help="Only this component. May be repeated.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="Run N mutants at a time. [processors]")
    parser.add_argument(
        "--faults", action="append", type=Path, default=[], metavar="FILE", help="Run the faults of this file instead."
    )
    parser.add_argument("--again", action="store_true", help="Run the mutants that were not killed so far.")
    parser.add_argument("--fresh", action="store_true", help="Collect the whole map of lines again.")
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="Folder of the map and the results.")
    campaign_shard.add_to(parser, what="the sample")
    parser.add_argument(
        "--merge",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help="Add the results.jsonl of a shard to those of this folder first. May be repeated.",
    )
    parser.add_argument(
        "--show",
        choices=("survived", "killed", "timeout", "error"),
        help="Print stored results as diffs, and run nothing.",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
