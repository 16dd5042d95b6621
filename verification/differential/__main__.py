"""`python -m verification.differential --cases N --seed S`: compare the reference with upstream on generated cases.

As many CEL expressions follow. Prints the cases, the seed and every disagreement that `known.yaml` does not explain,
reduced and written to the output folder. The exit code is 1 if there is one. The same seed generates the same cases.
`--replay FILE...` runs written cases instead; `--bug-compatible 1.37` gives the reference upstream's known deviations;
`--karpenter` asks Karpenter's allocator instead of upstream's; `--kueue` compares Kueue's charge of quota with the
checker's; `--kubelet` compares the harness's kubelet with the
kubelet's device manager and topology manager.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import orjson

from dra_api.objects import Obj
from reference_impl.scheduler.bug_compatible import RELEASES, Release, release
from verification import campaign_shard
from verification.differential import (
    alpha,
    compare,
    devices,
    expressions,
    generate,
    karpenter,
    karpenter_known,
    known,
    kueue,
    older,
    reduce,
    scenario,
)
from verification.differential.compare import Disagreement
from verification.differential.known import Known
from verification.differential.rng import Dice
from verification.differential.upstream import PROGRAM, Upstream, UpstreamGone, program_of

_ALPHA = 4  # of so many cases, one has features that are alpha in 1.37
_PER_KIND = 10  # so many of one kind are made small; most are the same

R = TypeVar("R")


class Comparison:
    """One run: counts and disagreements."""

    def __init__(
        self, upstream: Upstream, entries: list[Known], *, out: Path, most: int, release: Release | None = None
    ) -> None:
        self.release = release
        self.upstream = upstream
        self.entries = entries
        self.out = out
        self.most = most
        self.cases = 0
        self.expressions = 0
        self.outcomes: Counter[str] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.explained: Counter[str] = Counter()
        self.unexplained: Counter[tuple[str, str, str]] = Counter()
        self.written: list[Path] = []
        self.seen: set[bytes] = set()

    def run(self, numbers: Iterable[int], seed: str) -> None:
        """Run the cases with these numbers on both sides; each depends on the seed and its number only."""
        for number in numbers:
            case = generate.case(Dice(f"{seed}/{number}"))
            if self.release is None and number % _ALPHA == 0:
                case = alpha.extend(Dice(f"{seed}/alpha/{number}"), case)
            self.play(case)

    def run_expressions(self, numbers: Iterable[int], seed: str) -> None:
        """Evaluate the CEL expressions with these numbers on both sides."""
        for number in numbers:
            self.play_expression(expressions.question(Dice(f"{seed}/cel/{number}")))

    def play_expression(self, question: Obj) -> None:
        """One expression."""
        theirs, ours = expressions.theirs(self.upstream, question), expressions.ours(question)
        self.expressions += 1
        self.verdicts[ours.outcome] += 1
        if theirs.compared == ours.compared:
            return
        reason = expressions.explain(question, theirs, ours)
        if reason:
            self.explained[reason] += 1
            return
        kind = (f"CEL {theirs.outcome}", ours.outcome, "" if theirs.outcome != ours.outcome else "cost")
        self.unexplained[kind] += 1
        if self.unexplained[kind] <= _PER_KIND:
            print(
                f"disagreement: {orjson.dumps(question).decode()}\n  upstream: {theirs}\n  reference: {ours}",
                flush=True,
            )

    def play(self, case: Obj) -> None:
        """One case."""
        facts, found = compare.disagreements(self.upstream, case, self.release)
        self.cases += 1
        self.outcomes.update(fact.outcome for fact in facts)
        for disagreement in found:
            entry = self.explain(case, disagreement)
            if entry is not None:
                self.explained[entry.id] += 1
            else:
                self.unexplained[disagreement.kind] += 1
                if len(self.written) < self.most and self.unexplained[disagreement.kind] <= _PER_KIND:
                    self.report(case, disagreement)

    def explain(self, case: Obj, disagreement: Disagreement) -> Known | None:
        """Return the entry that explains a disagreement about the case as the release stores it."""
        stored = older.as_stored(case, self.release) if self.release else case
        return known.explain(self.entries, stored, disagreement)

    def report(self, case: Obj, disagreement: Disagreement) -> None:
        """Make an unexplained disagreement small, and write it down."""
        last = disagreement

        def same(candidate: Obj) -> bool:
            nonlocal last
            try:
                _, found = compare.disagreements(self.upstream, candidate, self.release)
            except (KeyError, TypeError, ValueError, IndexError):
                return False  # no longer a case
            for other in found:
                if other.kind == disagreement.kind and self.explain(candidate, other) is None:
                    last = other
                    return True
            return False

        small = reduce.smallest(case, same)
        text = orjson.dumps([disagreement.kind, small])
        # Different cases often become the same small one.
        if text in self.seen:
            return
        self.seen.add(text)
        path = scenario.write(self.out, len(self.written) + 1, small, last)
        self.written.append(path)
        print(f"disagreement {len(self.written)}: {path}\n  {last}", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m verification.differential", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--cases", type=int, default=2000, help="how many (default 2000)")
    parser.add_argument("--expressions", type=int, default=-1, help="how many CEL expressions (default: as many)")
    parser.add_argument("--seed", default="", help="any text; the same seed gives the same cases (default: fresh)")
    parser.add_argument("--out", type=Path, default=Path("dra-report/differential"), help="folder for disagreements")
    parser.add_argument("--most", type=int, default=20, help="write and shrink so many disagreements at most")
    parser.add_argument(
        "--bug-compatible",
        choices=RELEASES,
        help="let the reference have the deviations of this release: then nothing but chance may differ, and the "
        "same devices must be taken; CEL is left out",
    )
    parser.add_argument(
        "--upstream", type=Path, metavar="PROGRAM", help="another dra-allocator (default: the release's)"
    )
    parser.add_argument("--karpenter", action="store_true", help="compare Karpenter's allocator with the reference")
    parser.add_argument("--kueue", action="store_true", help="compare Kueue's charge of quota with the checker's")
    parser.add_argument(
        "--kubelet", action="store_true", help="compare the kubelet's device manager with the harness's kubelet"
    )
    parser.add_argument(
        "--replay",
        type=Path,
        nargs="+",
        default=[],
        help="ask about these cases instead; one of tests/differential/deviations will do",
    )
    campaign_shard.add_to(parser, what="the cases")
    options = parser.parse_args()
    if options.shard != campaign_shard.WHOLE and not options.seed:
        parser.error("--shard needs --seed: all shards divide the cases of one seed")
    return options


def _compared(
    whose: str, path: Path, compare: Callable[[Upstream, Sequence[int], str], R], numbers: Sequence[int], seed: str
) -> R | None:
    """Return the result of a comparison with a program; None if it is not there or has ended."""
    try:
        with Upstream(path) as program:
            print(f"differential: {whose} {program.version}, seed {seed}", flush=True)
            return compare(program, numbers, seed)
    except UpstreamGone as error:
        print(f"differential: {error}", file=sys.stderr)
        return None


def _unexplained(difference: kueue.Difference | karpenter.Difference | devices.Difference) -> None:
    print(f"  UNEXPLAINED {difference}\n  {orjson.dumps(difference.case).decode()}")


def _shown(result: kueue.Result | devices.Result, cases: str, explained: Counter[str]) -> int:
    """Print differences and counts, and return the exit code."""
    for difference in result.differences[:_PER_KIND]:
        _unexplained(difference)
    counts = ", ".join(f"{number} {outcome}" for outcome, number in sorted(result.outcomes.items()))
    print(f"differential: {cases}: {counts}")
    for name, number in explained.most_common():
        print(f"  {number} explained: {name}")
    print(f"unexplained disagreements: {len(result.differences)}")
    return 1 if result.differences else 0


def _kueue(numbers: Sequence[int], seed: str) -> int:
    result = _compared("Kueue", kueue.PROGRAM, kueue.compare, numbers, seed)
    if result is None:
        return 1
    return _shown(result, f"{len(numbers)} cases of Kueue's charge of quota", result.explained)


def _kubelet(numbers: Sequence[int], seed: str) -> int:
    result = _compared("kubelet", devices.PROGRAM, devices.compare, numbers, seed)
    if result is None:
        return 1
    return _shown(result, f"{len(numbers)} cases of the kubelet's device manager", Counter())


def _karpenter(numbers: Sequence[int], seed: str) -> int:
    result = _compared("Karpenter", karpenter.PROGRAM, karpenter.compare, numbers, seed)
    if result is None:
        return 1
    entries = karpenter_known.load()
    explained: Counter[str] = Counter()
    for difference in result.differences:
        name = karpenter_known.explain(entries, difference)
        explained[name] += 1
        if not name and explained[name] <= _PER_KIND:
            _unexplained(difference)
    nodes = result.nodes.total()
    print(
        f"differential: {len(numbers)} cases, {nodes} nodes: "
        + ", ".join(f"{n} {name}" for name, n in result.nodes.items())
    )
    print(f"  right on {nodes - len(result.differences)} nodes; unexplained: {explained['']}")
    for name, number in explained.most_common():
        if name:
            print(f"  {number} {name}")
    return 1 if explained[""] else 0


def main() -> int:
    """Run the differential tests and return the exit code."""
    options = _options()
    seed = options.seed or secrets.token_hex(4)
    numbers = options.shard.part_of(range(options.cases))
    for chosen, against in ((options.kubelet, _kubelet), (options.kueue, _kueue), (options.karpenter, _karpenter)):
        if chosen:
            return against(numbers, seed)
    try:
        with Upstream(options.upstream or program_of(options.bug_compatible or "")) as upstream:
            likeness = release(options.bug_compatible) if options.bug_compatible else None
            entries = known.load() if likeness is None else known.by_chance(likeness)
            comparison = Comparison(upstream, entries, out=options.out, most=options.most, release=likeness)
            whose = f" bug-compatible with {likeness.name}" if likeness else ""
            print(f"differential: reference{whose} against {upstream.version}, seed {seed}", flush=True)
            started = time.perf_counter()
            for path in options.replay:
                written = orjson.loads(path.read_bytes())
                comparison.play(written.get("case", written))
            if not options.replay:
                comparison.run(numbers, seed)
                if likeness is None:
                    expressions = options.cases if options.expressions < 0 else options.expressions
                    comparison.run_expressions(options.shard.part_of(range(expressions)), seed)
            took = time.perf_counter() - started
    except UpstreamGone as error:
        print(f"differential: {error}", file=sys.stderr)
        return 1 if PROGRAM.exists() or os.environ.get("CI", "").lower() == "true" else 0
    print(f"differential: {comparison.cases} cases in {took:.0f} s, seed {seed}")
    print(
        f"  {comparison.expressions} CEL expressions: "
        + ", ".join(f"{name} {n}" for name, n in comparison.verdicts.most_common())
    )
    print("  reference, node by node: " + ", ".join(f"{name} {n}" for name, n in comparison.outcomes.most_common()))
    for name, number in comparison.explained.most_common():
        print(f"  explained by {name}: {number}")
    for kind, number in comparison.unexplained.most_common():
        print(f"  UNEXPLAINED upstream {kind[0]}, reference {kind[1]} {kind[2]}: {number}")
    print(f"  unexplained disagreements: {comparison.unexplained.total()}")
    return 1 if comparison.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
