"""The map from source lines to the scenarios that execute them.

All scenarios run once under coverage.py, whose dynamic context is the scenario. Components run in threads of the same
process, which are recorded as well; processes that a scenario starts are recorded by `reach_child`.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import coverage
import msgspec

from dra_conformance.core import assets, features
from verification.mutation_survey import components, reach_child, uses
from verification.mutation_survey.components import COMPONENTS, ROOT, Component
from verification.mutation_survey.mutants import Mutant


class Passed(msgspec.Struct, frozen=True):
    """A scenario that passes without a mutant: its duration in seconds, its feature file and its rules."""

    duration: float
    feature: str
    rules: tuple[str, ...]


class Reach(msgspec.Struct, frozen=True):
    """The passing scenarios by id, and the scenarios that execute each line: `{path: {line: [ids]}}`.

    The empty id stands for lines that run outside a scenario: imports, and the start of the control plane.
    `modules` are the modules that the run imported, in that order. `texts` and `files` have the digests of all
    scenarios and mutated files; `others` has the reason why a scenario is not among the passing ones.
    """

    scenarios: dict[str, Passed]
    lines: dict[str, dict[int, list[str]]]
    modules: list[str] = []
    files: dict[str, str] = {}
    texts: dict[str, str] = {}
    others: dict[str, str] = {}


BROAD = 40
"""The size of the sample of scenarios for a line whose scenarios are unknown."""


class Chosen(msgspec.Struct, frozen=True):
    """The scenarios that run for a mutant, and why these: `line`, `uses`, `module`, `broad` or `none`."""

    scenarios: tuple[str, ...]
    why: str


def scenarios_for(mutant: Mutant, reach: Reach, *, killer: str = "") -> Chosen:
    """Return the scenarios that can detect a mutant: those that judge the start of its component, those that judge it
    otherwise, then the others; each group by speed. `killer` is the scenario that killed it with an earlier source: it
    comes first if it still executes the mutant, so that a survey of changed source ends soon for most mutants.

    - `line`: they execute the line. For a line without code of its own it is the first line of its statement, for the
      default of a parameter the first of the function. A fault of several lines has the scenarios of all of them.
    - `uses`: the line is in the value of a constant or class attribute; they execute a line that uses it. A change that
      the module cannot be imported with leaves these without a verdict, so those that judge the start run as well.
    - `module`: another line that runs when the module is imported or when the control plane starts. A sample of the
      scenarios that execute any function of the module, the fastest of each feature file first.
    - `broad`: no function of the module is executed by a scenario (a module of constants): such a sample of all
      scenarios that execute the component.
    - `none`: the line is in a function that no scenario executes, so no scenario can detect the mutant.
    """
    component = next(one for one in COMPONENTS if one.name == mutant.component)
    found = _able(mutant, component, reach)
    order = sorted(found.scenarios, key=lambda name: (id_of(name) != killer, _turn(id_of(name), component)))
    return Chosen(tuple(order), found.why)


def _turn(scenario: str, component: Component) -> int:
    groups = (component.starts, component.judges)
    return next((number for number, group in enumerate(groups) if scenario.startswith(group)), len(groups))


def _able(mutant: Mutant, component: Component, reach: Reach) -> Chosen:
    lines = reach.lines.get(mutant.path, {})
    executed = [set(lines[line]) for line in mutant.reached_at if lines.get(line)]
    contexts = set[str]().union(*executed) if mutant.every_line else next(iter(executed), set())
    if mutant.in_function and contexts - {""}:
        return Chosen(tuple(_by_speed(contexts, reach)), "line")
    if mutant.in_function and not contexts:
        return Chosen((), "none")
    if not mutant.in_function and (users := uses.of_line(mutant.path, mutant.line)):
        using = set().union(*(reach.lines.get(path, {}).get(line, ()) for path, line in users)) - {""}
        if using:
            near = _in_functions(mutant.path, reach) or _in_component(component, reach)
            starting = {name for name in near if id_of(name).startswith(component.starts)}
            return Chosen(tuple(_by_speed(using | starting, reach)), "uses")
    if found := _in_functions(mutant.path, reach):
        return Chosen(tuple(_sample(found, reach, component)), "module")
    return Chosen(tuple(_sample(_in_component(component, reach), reach, component)), "broad")


def _in_component(component: Component, reach: Reach) -> set[str]:
    """Return the scenarios that execute a function of a component."""
    paths = [path.relative_to(ROOT).as_posix() for path in components.files_of(component)]
    return set().union(*(_in_functions(path, reach) for path in paths))


def _in_functions(path: str, reach: Reach) -> set[str]:
    """Return the scenarios that execute a function of a file.

    The other lines are recorded for the scenario that imported the file first, which need not use it.
    """
    inside = _function_lines(ROOT / path)
    lines = reach.lines.get(path, {})
    return {name for line, names in lines.items() if line in inside for name in names} - {""}


@functools.cache
def _function_lines(file: Path) -> frozenset[int]:
    if not file.exists():
        return frozenset()
    functions = [
        node
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    return frozenset(
        line for one in functions for line in range(one.body[0].lineno, (one.end_lineno or one.body[0].lineno) + 1)
    )


def _by_speed(names: Iterable[str], reach: Reach) -> list[str]:
    able = [name for name in names if name in reach.scenarios]
    return sorted(able, key=lambda name: (reach.scenarios[name].duration, name))


def _sample(names: Iterable[str], reach: Reach, component: Component) -> list[str]:
    """Return at most BROAD scenarios: the fastest of each feature file, then the second of each, and so on.

    Those that judge the component come first.
    """
    seen: dict[str, int] = {}
    ranked = []
    for name in _by_speed(names, reach):
        feature = reach.scenarios[name].feature
        seen[feature] = seen.get(feature, 0) + 1
        ranked.append((_turn(id_of(name), component), seen[feature], reach.scenarios[name].duration, name))
    return [name for *_, name in sorted(ranked)[:BROAD]]


def recorder(file: str, sources: Sequence[str], *, suffix: bool = False) -> coverage.Coverage:
    """Return a coverage recorder for some source folders that knows no configuration file."""
    made = coverage.Coverage(
        data_file=file, data_suffix=suffix or None, source=list(sources), config_file=False, concurrency=["thread"]
    )
    # The faster recorder of newer Python versions has no dynamic contexts.
    made.set_option("run:core", "ctrace")
    made.set_option("run:disable_warnings", ["no-data-collected", "module-not-imported", "already-imported"])
    return made


class ContextPlugin:
    """A pytest plugin that records each scenario under its id."""

    def __init__(self, made: coverage.Coverage, scenario_of: Any) -> None:
        self._recorder = made
        self._scenario_of = scenario_of

    def pytest_runtest_setup(self, item: Any) -> None:
        """Switch to the scenario, also for the processes that it starts."""
        self._switch(self._scenario_of(item))

    def pytest_runtest_logfinish(self) -> None:
        """Switch to no scenario."""
        self._switch("")

    def _switch(self, name: str) -> None:
        os.environ[reach_child.CONTEXT] = name
        self._recorder.switch_context(name)


def start(folder: Path) -> coverage.Coverage:
    """Start to record this process and the Python processes that it starts."""
    sources = sorted({str(ROOT / path.split("/")[0]) for one in COMPONENTS for path in one.paths})
    os.environ[reach_child.DATA], os.environ[reach_child.SOURCES] = str(folder), os.pathsep.join(sources)
    made = recorder(str(folder / "main"), sources)
    made.start()
    return made


def lines_of(folder: Path) -> dict[str, dict[int, list[str]]]:
    """Read the recorded lines of all processes, by path below the root."""
    found: dict[str, dict[int, set[str]]] = {}
    wanted = {str(path) for one in COMPONENTS for path in components.files_of(one)}
    for file in sorted(folder.rglob("*")):
        if not file.is_file() or not file.name.startswith(("main", "child")):
            continue
        data = coverage.CoverageData(str(file))
        data.read()
        for path in wanted & set(data.measured_files()):
            lines = found.setdefault(Path(path).relative_to(ROOT).as_posix(), {})
            for line, contexts in data.contexts_by_lineno(path).items():
                lines.setdefault(line, set()).update(contexts)
    return {path: {line: sorted(names) for line, names in lines.items()} for path, lines in found.items()}


class _Stored(msgspec.Struct, frozen=True):
    """A map as it is written: most lines have the same scenarios as the line before, so each set is written once."""

    scenarios: dict[str, Passed]
    modules: list[str]
    files: dict[str, str]
    texts: dict[str, str]
    others: dict[str, str]
    sets: list[list[str]]
    lines: dict[str, dict[int, int]]


def stored(file: Path) -> Reach | None:
    """Return a map that `store` wrote, or None."""
    try:
        found = msgspec.json.decode(file.read_bytes(), type=_Stored)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    lines = {path: {line: found.sets[at] for line, at in inside.items()} for path, inside in found.lines.items()}
    return Reach(found.scenarios, lines, found.modules, found.files, found.texts, found.others)


def store(reach: Reach, file: Path) -> None:
    """Write a map; a run that is interrupted leaves no partial file."""
    numbers: dict[tuple[str, ...], int] = {}
    lines = {
        path: {line: numbers.setdefault(tuple(names), len(numbers)) for line, names in inside.items()}
        for path, inside in reach.lines.items()
    }
    data = _Stored(
        reach.scenarios,
        reach.modules,
        reach.files,
        reach.texts,
        reach.others,
        [list(names) for names in numbers],
        lines,
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as out:
        out.write(msgspec.json.encode(data))
    Path(out.name).replace(file)


def outdated(known: Reach) -> set[str] | None:
    """Return the scenarios that must be recorded again, or None if these are most of all.

    They are the new ones, those with another text, and those that executed a file that has changed since.
    """
    texts = scenario_texts()
    again = {name for name, text in texts.items() if known.texts.get(name) != text}
    for path in changed(known):
        again.update(id_of(name) for names in known.lines.get(path, {}).values() for name in names)
    return again & set(texts) if len(again) < len(texts) / 2 else None


def changed(known: Reach) -> set[str]:
    """Return the mutated files that are new or different since a map was collected."""
    return {path for path, text in file_texts().items() if known.files.get(path) != text}


def merged(known: Reach, again: Collection[str], new: Reach) -> Reach:
    """Return a map with the scenarios that were recorded again, and without those that no longer exist."""
    gone = {name for name in {*known.scenarios, *known.others} if id_of(name) in again or id_of(name) not in new.texts}
    fresh = changed(known)
    lines: dict[str, dict[int, list[str]]] = {}
    for path in new.files:
        found: dict[int, set[str]] = {}
        for line, names in ({} if path in fresh else known.lines.get(path, {})).items():
            found[line] = set(names) - gone
        for line, names in new.lines.get(path, {}).items():
            found.setdefault(line, set()).update(names)
        lines[path] = {line: sorted(names) for line, names in found.items()}
    return Reach(
        {name: one for name, one in known.scenarios.items() if name not in gone} | new.scenarios,
        lines,
        list(dict.fromkeys([*known.modules, *new.modules])),
        new.files,
        new.texts,
        {name: reason for name, reason in known.others.items() if name not in gone} | new.others,
    )


def id_of(name: str) -> str:
    """Return the id of the scenario that a name in the map stands for; other variants of a run have a prefix."""
    return name.rpartition("|")[2]


def scenario_texts() -> dict[str, str]:
    """Return a digest of every scenario's text and tags, by id."""
    found = features.read_all([assets.features()])
    return {one.id: _digest(repr((one.tags, one.steps, one.example)).encode()) for one in found}


def file_texts() -> dict[str, str]:
    """Return a digest of every mutated file, by path below the root."""
    files = [path for one in COMPONENTS for path in components.files_of(one)]
    return {path.relative_to(ROOT).as_posix(): _digest(path.read_bytes()) for path in files}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def made(report: Mapping[str, Any], data: Path) -> Reach:
    """Return the map of recorded runs: the scenarios of their reports, and the folder with the recorded lines."""
    scenarios = {
        row["id"]: Passed(float(row["duration"]), id_of(row["id"]).partition("#")[0], tuple(row["rules"]))
        for row in report["scenarios"]
        if row["status"] == "passed"
    }
    others = {
        row["id"]: f"{row['status']}: {row['reason']}" for row in report["scenarios"] if row["id"] not in scenarios
    }
    return Reach(scenarios, lines_of(data), report["modules"], file_texts(), scenario_texts(), others)
