"""`python -m verification.mutation_survey --sample 500 --seed 1 [--component NAME]`; see the package's docstring."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from verification.mutation_survey import components, generated, page, probing, sample, survey, unobservable
from verification.mutation_survey.components import ROOT
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
        print(page.listing(store.latest().values(), options.show, [one.name for one in selected]))
        return 0
    mutants = {one.name: generated.of_component(one, options.folder / "mutants") for one in selected}
    everything = [one for found in mutants.values() for one in found]
    digest = components.digest()
    if options.again:
        known = store.latest()
        chosen = [one for one in everything if one.key in known and known[one.key].outcome.status != "killed"]
    else:
        count = sample.shares({name: len(found) for name, found in mutants.items()}, options.sample)
        chosen = [one for name, found in mutants.items() for one in sample.choose(found, count[name], options.seed)]
    done = store.of(digest)
    todo = [one for one in chosen if one.key not in done]
    print(f"{len(chosen)} of {len(everything)} mutants, seed {options.seed}, source {digest}; {len(todo)} to run")
    if todo:
        print("bringing the map of lines up to date", flush=True)
        found = survey.collect(options.folder / "reach.json", fresh=options.fresh)
        failed = sorted(name for name, reason in found.others.items() if not reason.startswith("not-"))
        for name in failed:
            print(f"without a mutant: {name} {found.others[name][:200]}", file=sys.stderr)
        answers = probing.file_of(options.folder)
        if "api-server" in mutants and not answers.exists():
            _record_answers(answers)
        survey.run(
            todo,
            found,
            store,
            digest=digest,
            jobs=options.jobs,
            show=_show,
            answers=answers if answers.exists() else None,
        )
    results = [done[one.key] for one in chosen if one.key in (done := store.of(digest))]
    classes = unobservable.load()
    if not options.component:  # the entries of all components
        for problem in unobservable.problems(classes, {one.key for one in everything}):
            print(f"{unobservable.FILE.name}: {problem}", file=sys.stderr)
    table = page.table(results, classes)
    print(table)
    if options.write:
        page.write(results, classes, seed=options.seed, sample=options.sample)
    return 0 if len(results) == len(chosen) else 1


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
    parser.add_argument("--again", action="store_true", help="Run the mutants that were not killed so far.")
    parser.add_argument("--fresh", action="store_true", help="Collect the whole map of lines again.")
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="Folder of the map and the results.")
    parser.add_argument(
        "--show",
        choices=("survived", "killed", "timeout", "error"),
        help="Print stored results as diffs, and run nothing.",
    )
    parser.add_argument("--write", action="store_true", help=f"Write {page.FILE.relative_to(ROOT)}.")
    return parser


if __name__ == "__main__":
    sys.exit(main())
