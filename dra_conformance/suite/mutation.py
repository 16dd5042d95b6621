"""Mutants: small named faults, applied to the reference from outside, that a scenario must catch.

A mutant is a function in `tests/mutants/` that patches one thing. It runs in a forked process, together with the
scenarios of the rule that it breaks; it is killed when one of them fails on a check of that rule. A scenario that ends
in an error or an unmet precondition kills nothing: that would be luck.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from dra_conformance import assets
from dra_conformance.errors import SpecificationError, UsageError
from dra_conformance.rules.catalogue import RULE_ID
from dra_conformance.suite import same_call
from dra_conformance.suite.forked import each
from dra_conformance.suite.options import RunOptions
from dra_conformance.suite.status import Status


class Patch:
    """What a mutant may do: replace or wrap a function, method or constant named `module:attribute.path`.

    `scratch` is a folder for what a mutant builds; whoever made the patch removes it.
    """

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch

    def replace(self, target: str, new: Any) -> None:
        """Put `new` in the place of the target. Raises SpecificationError as `wrap` does."""
        holder, name, original = self._find(target)
        self._put(target, holder, name, original, new)

    def wrap(self, target: str, make: Callable[[Any], Any]) -> None:
        """Put `make(original)` in the place of the target; static and class methods stay what they are.

        Raises SpecificationError when there is no such target, or when what was made takes other arguments: such a
        mutant would die of a TypeError, and that proves nothing.
        """
        holder, name, original = self._find(target)
        raw = holder.__dict__.get(name) if isinstance(holder, type) else None
        if isinstance(raw, (staticmethod, classmethod)):
            self._put(target, holder, name, raw.__func__, make(raw.__func__), type(raw))
        elif isinstance(raw, property):
            self._put(target, holder, name, raw.fget, make(raw.fget), property)
        else:
            self._put(target, holder, name, original, make(original))

    def _put(self, target: str, holder: Any, name: str, original: Any, new: Any, kind: Any = lambda new: new) -> None:
        if told := same_call.difference(original, new):
            raise SpecificationError(f"the mutant of {target} cannot be called as the target is: {told}")
        setattr(holder, name, kind(new))

    @staticmethod
    def _find(target: str) -> tuple[Any, str, Any]:
        module, _, path = target.partition(":")
        try:
            holder: Any = importlib.import_module(module)
            *parents, name = path.split(".")
            for parent in parents:
                holder = getattr(holder, parent)
            return holder, name, getattr(holder, name)
        except (ImportError, AttributeError) as error:
            raise SpecificationError(f"the mutant's target {target} is not there: {error}") from None


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault. `scenario` names the scenario that must kill it; empty: any that judges the rule."""

    id: str
    rule: str
    apply: Callable[[Patch], None]
    purpose: str
    scenario: str = ""
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant: `killed` or `survived`, by which scenario, and why.

    `again`: it survived beside others and was asked a second time, alone. One that is killed then is seen by its
    scenario, but not always: who hears of what first decides.
    """

    id: str
    rule: str
    scenario: str
    status: str
    reason: str = ""
    again: bool = False


_REGISTER = "__dra_mutant__"


def mutant(
    name: str, *, rule: str, scenario: str = "", **options: Any
) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    """Declare a mutant: `name` is its id, `rule` the rule that it breaks; `options` are run options that it needs."""
    if not RULE_ID.fullmatch(rule):
        raise SpecificationError(f"mutant {name}: {rule!r} is no rule id")

    def declare(function: Callable[[Patch], None]) -> Callable[[Patch], None]:
        purpose = " ".join((function.__doc__ or "").split())
        if not purpose:
            raise SpecificationError(f"mutant {name} has no docstring: say what it breaks")
        # Mutants share the function name `_`, so their module keeps the list.
        held = function.__globals__.setdefault(_REGISTER, [])
        held.append(Mutant(name, rule, function, purpose, scenario, options))
        return function

    return declare


def load(folder: Path | None = None) -> list[Mutant]:
    """All mutants of a folder (default: the suite's own). Raises SpecificationError for two of one name."""
    where = folder or assets.mutants()
    if not where.is_dir():
        raise UsageError(
            f"there is no folder of mutants at {where}", hint="Run this from a checkout or the full wheel."
        )
    found: dict[str, Mutant] = {}
    for path in sorted(where.glob("*.py")):
        if path.name.startswith("_"):
            continue
        name = f"dra_conformance_mutants.{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise SpecificationError(f"cannot load {path.name}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        for one in [*vars(module).get(_REGISTER, ()), *getattr(module, "MUTANTS", ())]:
            if one.id in found and found[one.id] is not one:
                raise SpecificationError(f"{path.name}: two mutants are called {one.id}")
            found[one.id] = one
    return list(found.values())


# What nearly every child needs, imported once in the parent. None of them starts a thread or opens a file by that.
LOADED_BEFORE_FORKING = (
    "dra_conformance.cli.run",
    "dra_conformance.control_plane.rehearsal",
    "dra_conformance.control_plane.embedded.resource",
    "dra_conformance.report.files",
    "dra_conformance.seats.node",
    "reference_impl.binder",
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

    Scenarios run once without any mutant first: one that does not pass then cannot kill anything. `limit` is the
    seconds that one mutant may take; one that hangs longer has survived. Survivors are asked once more, alone.
    """
    survivors = []
    for outcome in _round(mutants, options, jobs=jobs, limit=limit):
        if outcome.status == "killed":
            yield outcome
        else:
            survivors.append(outcome.id)
    if survivors:
        once_more = [one for one in mutants if one.id in survivors]
        for outcome in _round(once_more, options, jobs=1, limit=limit):
            yield replace(outcome, again=True)


def _round(mutants: Sequence[Mutant], options: RunOptions, *, jobs: int, limit: float) -> Iterator[Outcome]:
    from dra_conformance.suite import features, preflight, runner, vocabulary  # noqa: F401 - before forking: once for all

    preflight.check(options)
    vocabulary.modules()
    for name in LOADED_BEFORE_FORKING:
        importlib.import_module(name)
    scenarios = features.read_all([assets.features(), *(Path(folder) for folder in options.features)])
    targets: dict[str, list[str]] = {}
    for one in mutants:
        judging = [s.id for s in scenarios if one.rule in s.rules and one.scenario in ("", s.id, s.id.split("[")[0])]
        if not judging:
            raise SpecificationError(f"mutant {one.id}: no scenario {one.scenario or 'at all'} judges {one.rule}")
        targets[one.id] = judging
    jobs = jobs or _default_jobs(os.cpu_count() or 1)
    # Mutants that need options of their own need a baseline under the same options.
    wanted: dict[str, tuple[RunOptions, set[str]]] = {}
    for one in mutants:
        wanted.setdefault(_key(one), (_with(options, one.options), set()))[1].update(targets[one.id])
    shares: list[tuple[str, list[str], RunOptions]] = []
    for key, (chosen, names) in wanted.items():
        ordered = sorted(names)
        shares += [(key, ordered[start::jobs], chosen) for start in range(jobs) if ordered[start::jobs]]
    baseline: dict[str, dict[str, tuple[str, str]]] = {key: {} for key in wanted}
    for (key, share, _), answer in each(shares, _run_baseline, jobs=jobs, limit=limit * 5):
        if isinstance(answer, str):
            answer = dict.fromkeys(share, (Status.ERROR.value, answer))
        baseline[key].update(answer)
    # Ours to remove: a mutant may take its process with it.
    with tempfile.TemporaryDirectory(prefix="dra-mutants-") as scratch:
        work = [
            (one, targets[one.id], wanted[_key(one)][0], baseline[_key(one)], Path(scratch) / str(number))
            for number, one in enumerate(mutants)
        ]
        for (one, judging, *_), outcome in each(work, _run_mutant, jobs=jobs, limit=limit):
            yield Outcome(one.id, one.rule, judging[0], "survived", outcome) if isinstance(outcome, str) else outcome


def _default_jobs(processors: int) -> int:
    """Half of a mutant's time is its scenario waiting in vain for what the mutant took away."""
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
    told = "; ".join(f"{scenario} {row['status']}: {row['reason']}"[:240] for scenario, row in results.items())
    if not results:
        told = "the run with the mutant judged nothing; does the specification still read?"
    return Outcome(one.id, one.rule, able[0], "survived", told)


def _run(names: Iterable[str], options: RunOptions) -> dict[str, dict[str, Any]]:
    import orjson

    from dra_conformance.cli.run import execute

    with tempfile.TemporaryDirectory(prefix="dra-mutant-") as folder:
        focus = tuple(f"^{re.escape(name)} " for name in names)
        execute(msgspec.structs.replace(options, focus=focus, out=folder, progress="none", report=("json",)))
        report = orjson.loads((Path(folder) / "report.json").read_bytes())
    return {row["id"]: row for row in report["scenarios"] if row["status"] != Status.FILTERED}
