"""The map from source lines to the scenarios that execute them.

All scenarios run once under coverage.py, whose dynamic context is the scenario. Components run in threads of the same
process, which are recorded as well; processes that a scenario starts are recorded by `reach_child`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import coverage
import msgspec

from verification.mutation_survey import components, reach_child
from verification.mutation_survey.components import COMPONENTS, ROOT
from verification.mutation_survey.mutants import Mutant


class Passed(msgspec.Struct, frozen=True):
    """A scenario that passes without a mutant: its duration in seconds, its feature file and its rules."""

    duration: float
    feature: str
    rules: tuple[str, ...]


class Reach(msgspec.Struct, frozen=True):
    """The passing scenarios by id, and the scenarios that execute each line: `{path: {line: [ids]}}`.

    The empty id stands for lines that run outside a scenario: imports, and the start of the control plane.
    `modules` are the modules that the run imported, in that order.
    """

    scenarios: dict[str, Passed]
    lines: dict[str, dict[int, list[str]]]
    modules: list[str] = []


BROAD = 40
"""The size of the sample of scenarios for a line whose scenarios are unknown."""


class Chosen(msgspec.Struct, frozen=True):
    """The scenarios that run for a mutant, fastest first, and why these: `line`, `module`, `broad` or `none`."""

    scenarios: tuple[str, ...]
    why: str


def scenarios_for(mutant: Mutant, reach: Reach) -> Chosen:
    """Return the scenarios that can detect a mutant.

    - `line`: they execute the line (or, for a line without code of its own, the first line of its statement).
    - `module`: the line runs when the module is imported or when the control plane starts. A sample of the scenarios
      that execute any function of the module, the fastest of each feature file first.
    - `broad`: no function of the module is executed by a scenario (a module of constants): such a sample of all
      scenarios that execute the component.
    - `none`: the line is in a function that no scenario executes, so no scenario can detect the mutant.
    """
    lines = reach.lines.get(mutant.path, {})
    contexts = set(lines.get(mutant.line) or lines.get(mutant.statement) or ())
    if mutant.in_function and contexts - {""}:
        return Chosen(tuple(_by_speed(contexts, reach)), "line")
    if mutant.in_function and not contexts:
        return Chosen((), "none")
    everywhere = {name for found in lines.values() for name in found} - {""}
    if everywhere:
        return Chosen(tuple(_sample(everywhere, reach)), "module")
    component = next(one for one in COMPONENTS if one.name == mutant.component)
    paths = [path.relative_to(ROOT).as_posix() for path in components.files_of(component)]
    near = {name for path in paths for found in reach.lines.get(path, {}).values() for name in found} - {""}
    return Chosen(tuple(_sample(near, reach)), "broad")


def _by_speed(names: Iterable[str], reach: Reach) -> list[str]:
    able = [name for name in names if name in reach.scenarios]
    return sorted(able, key=lambda name: (reach.scenarios[name].duration, name))


def _sample(names: Iterable[str], reach: Reach) -> list[str]:
    """Return at most BROAD scenarios: the fastest of each feature file, then the second of each, and so on."""
    seen: dict[str, int] = {}
    ranked = []
    for name in _by_speed(names, reach):
        feature = reach.scenarios[name].feature
        seen[feature] = seen.get(feature, 0) + 1
        ranked.append((seen[feature], reach.scenarios[name].duration, name))
    return [name for _, _, name in sorted(ranked)[:BROAD]]


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
    for file in sorted(folder.iterdir()):
        if not file.name.startswith(("main", "child")):
            continue
        data = coverage.CoverageData(str(file))
        data.read()
        for path in wanted & set(data.measured_files()):
            lines = found.setdefault(Path(path).relative_to(ROOT).as_posix(), {})
            for line, contexts in data.contexts_by_lineno(path).items():
                lines.setdefault(line, set()).update(contexts)
    return {path: {line: sorted(names) for line, names in lines.items()} for path, lines in found.items()}


def stored(file: Path) -> Reach | None:
    """Return a map that `store` wrote, or None."""
    return msgspec.json.decode(file.read_bytes(), type=Reach) if file.exists() else None


def store(reach: Reach, file: Path) -> None:
    """Write a map; a run that is interrupted leaves no partial file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as made:
        made.write(msgspec.json.encode(reach))
    Path(made.name).replace(file)


def passed(report: Mapping[str, Any]) -> dict[str, Passed]:
    """Return the scenarios that passed, of a report of the run."""
    return {
        row["id"]: Passed(float(row["duration"]), row["id"].partition("#")[0], tuple(row["rules"]))
        for row in report["scenarios"]
        if row["status"] == "passed"
    }
