"""Runs the plan under pytest: maps items to scenarios, keeps the log, tells failures from harness errors.

Loaded by the plugin only when the suite is collected. With pytest-xdist every worker has a run of its own (control
plane, seats, log); the first process merges the logs and writes the reports.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pytest_bdd.scenario import scenario_wrapper_template_registry

from dra_conformance import assets
from dra_conformance.errors import CheckFailed, ExitCode, SuiteError, TargetUnreachable, Untestable
from dra_conformance.report import files
from dra_conformance.suite import features, plan, vocabulary
from dra_conformance.suite.options import RunOptions, config_file, from_json, from_mapping
from dra_conformance.suite.plugin import LISTS, OPTIONS
from dra_conformance.suite.progress import Progress
from dra_conformance.suite.run import Run
from dra_conformance.suite.status import Status
from dra_conformance.suite.world import World

if TYPE_CHECKING:
    from pytest_bdd.parser import Step

_STATE = pytest.StashKey["Session"]()
_SCENARIO = pytest.StashKey[features.Scenario]()
_FOLDERS: list[Path] = []  # set at configure, read when pytest imports the scenarios module; pytest has no other way


def feature_folders() -> list[Path]:
    """The folders whose features this pytest run collects."""
    return _FOLDERS or [assets.features()]


class Session:
    """What the hooks of one pytest process share."""

    def __init__(self, run: Run, *, is_worker: bool, has_workers: bool, progress: Progress | None) -> None:
        self.run = run
        self.is_worker = is_worker
        self.has_workers = has_workers
        self.progress = progress
        self.plan: plan.Plan | None = None
        self.interrupted = False
        self.world: World | None = None
        self.outcome: tuple[Status, str] = (Status.PASSED, "")
        self.failed_step = ""
        self.began = 0.0


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Make every step module a plugin, so that its sentences are visible to all scenarios."""
    for module in vocabulary.modules():
        pluginmanager.register(module, f"dra-steps-{module.__name__.rsplit('.', 1)[-1]}")


def pytest_configure(config: pytest.Config) -> None:
    """Read options and open the run's folder and log."""
    if _STATE in config.stash:
        return
    worker_input: dict[str, Any] = getattr(config, "workerinput", {})
    try:
        options = options_of(config)
        folder = Path(options.out)
        folder.mkdir(parents=True, exist_ok=True)
        run = Run(
            options,
            folder=folder,
            run_id=worker_input.get("dra_run_id"),
            seed=worker_input.get("dra_seed"),
            worker=worker_input.get("workerid", ""),
        )
    except SuiteError as error:
        raise pytest.UsageError(str(error)) from None
    except OSError as error:
        raise pytest.UsageError(f"cannot write to {error.filename}: {error.strerror}") from None
    _FOLDERS[:] = [assets.features(), *(Path(extra) for extra in options.features)]
    for rule in run.catalogue:
        config.addinivalue_line("markers", f"{rule}: rule")
    has_workers = bool(getattr(config.option, "numprocesses", None))
    progress = (
        None if worker_input or config.pluginmanager.has_plugin("terminalreporter") else Progress(options.progress)
    )
    config.stash[_STATE] = Session(run, is_worker=bool(worker_input), has_workers=has_workers, progress=progress)
    if not worker_input:
        run.told_start(_argv(config))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the log."""
    state = config.stash.get(_STATE, None)
    if state is not None:
        state.run.stop()
        state.run.log.close()


def options_of(config: pytest.Config) -> RunOptions:
    """The run's options: a JSON file from the command, or `--dra-…` over `dra-conformance.toml`."""
    if path := config.getoption("dra_options"):
        return from_json(Path(path).read_bytes())
    values: dict[str, Any] = config_file(None)
    for name, _ in OPTIONS:
        given = config.getoption(f"dra_{name.replace('-', '_')}")
        if given is None:
            continue
        if name in LISTS:
            values[name] = [part for part in given.split(",") if part]
        elif name == "seed":
            values[name] = int(given)
        elif name == "patience":
            values[name] = float(given)
        else:
            values[name] = given
    return from_mapping(values, where="options")


def _argv(config: pytest.Config) -> list[str]:
    return (
        list(os.environ.get("DRA_CONFORMANCE_ARGV", "").split("\x1f")) if "DRA_CONFORMANCE_ARGV" in os.environ else []
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give pytest-xdist's workers the run's id and seed."""
    state = node.config.stash[_STATE]
    node.workerinput["dra_run_id"] = state.run.run_id
    node.workerinput["dra_seed"] = state.run.seed


# -- collection ----------------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_bdd_apply_tag(tag: str, function: Any) -> bool:
    """Turn a tag into a marker; `a:b` becomes `a_b`, so that -m can name it."""
    getattr(pytest.mark, tag.replace(":", "_").replace("-", "_") if ":" in tag else tag)(function)
    return True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Plan: decide on every scenario, keep the items that run, log the rest with their reasons."""
    state = config.stash[_STATE]
    run = state.run
    try:
        scenarios = features.read_all(feature_folders())
        vocabulary.check(scenarios, vocabulary.catalogue())
        state.plan = plan.make(scenarios, run.catalogue, run.options, run.target())
    except SuiteError as error:
        _problem(state, error)
        raise pytest.UsageError(str(error)) from None
    by_key = {_key_of(scenario): scenario for scenario in scenarios}
    wanted = {scenario.id for scenario in state.plan.to_run}
    kept, dropped = [], []
    for item in items:
        scenario = by_key.get(_item_key(item))
        if scenario is not None and scenario.id in wanted:
            item.stash[_SCENARIO] = scenario
            kept.append(item)
        else:
            dropped.append(item)
    order = {scenario.id: number for number, scenario in enumerate(scenarios)}
    kept.sort(key=lambda item: order[item.stash[_SCENARIO].id])
    items[:] = kept
    if dropped:
        config.hook.pytest_deselected(items=dropped)
    # pytest's own -k and -m have selected before this hook (it runs last): what they left out is the user's choice.
    here = {item.stash[_SCENARIO].id for item in kept}
    decisions = [
        plan.Decision(decision.scenario, Status.FILTERED, "not selected by pytest's -k or -m")
        if decision.status is None and decision.scenario.id not in here
        else decision
        for decision in state.plan.decisions
    ]
    state.plan = plan.Plan(decisions)
    if not state.is_worker or run.worker == "gw0":
        run.told_plan(state.plan)
    if state.progress:
        state.progress.begin(run, state.plan)


def _key_of(scenario: features.Scenario) -> tuple[str, str, tuple[str, ...]]:
    return (str(scenario.path.resolve()), scenario.outline, scenario.example)


def _item_key(item: pytest.Item) -> tuple[str, str, tuple[str, ...]]:
    function = getattr(item, "obj", None)
    template = scenario_wrapper_template_registry.get(function) if callable(function) else None
    if template is None:
        return ("", "", ())
    example = getattr(item, "callspec", None)
    values = tuple(example.params["_pytest_bdd_example"].values()) if example else ()
    return (str(Path(template.feature.filename).resolve()), template.name, values)


# -- running -------------------------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Frame one scenario in the log."""
    state = item.config.stash.get(_STATE, None)
    scenario = item.stash.get(_SCENARIO, None)
    if state is None or scenario is None:
        return (yield)
    log = state.run.log
    state.outcome, state.failed_step, state.began = (Status.PASSED, ""), "", time.monotonic()
    log.begin_scenario(scenario.id)
    log.emit("scenario-started", name=scenario.name, where=scenario.where, rules=scenario.rules)
    if state.progress:
        state.progress.scenario_started(scenario)
    try:
        return (yield)
    except BaseException:
        state.interrupted = True
        raise
    finally:
        status, reason = state.outcome
        if not state.interrupted:
            duration = round(time.monotonic() - state.began, 4)
            log.emit("scenario-finished", status=status.value, reason=reason, duration=duration, step=state.failed_step)
            if state.progress:
                state.progress.scenario_finished(scenario, status, reason, duration)
        log.end_scenario()


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """The world of one scenario; see dra_conformance.suite.world."""
    state = request.config.stash[_STATE]
    scenario = request.node.stash[_SCENARIO]
    state.run.start()
    made = state.run.world(scenario)
    state.world = made
    try:
        made.begin()
        yield made
    finally:
        state.world = None
        made.end()


@pytest.fixture(autouse=True)
def _world_before_steps(request: pytest.FixtureRequest) -> None:
    if _SCENARIO in request.node.stash:
        request.getfixturevalue("world")


def pytest_bdd_before_step(request: pytest.FixtureRequest, step: Step) -> None:
    """Log the step and point checks at the rules that it names."""
    state = request.config.stash[_STATE]
    if state.world is None:
        return
    named = features.RULE_SUFFIX.search(step.name)
    rules = tuple(part.strip() for part in named[1].split(",")) if named else state.world.scenario.rules
    state.world.step_rules = rules
    state.world.step_text = f"{step.type.capitalize()} {step.name}"
    state.world.checks_made = 0
    state.run.log.emit("step", kind=step.type, text=step.name, line=step.line_number)


def pytest_bdd_after_step(request: pytest.FixtureRequest, step: Step) -> None:
    """A Then step that checked nothing is a fault of the suite."""
    state = request.config.stash[_STATE]
    if state.world is not None and step.type == "then" and state.world.checks_made == 0:
        raise SuiteError(f"the step checked nothing: Then {step.name}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell what an exception means, and save the evidence while it is there."""
    report = yield
    state = item.config.stash.get(_STATE, None)
    if state is None or _SCENARIO not in item.stash or call.excinfo is None:
        return report
    error = call.excinfo.value
    status, reason = _classify(error, call.when, state.world)
    current = state.outcome[0]
    if current is Status.PASSED or (status is Status.ERROR and current is not Status.FAILED):
        state.outcome = (status, reason)
        state.failed_step = state.world.step_text if state.world is not None and call.when == "call" else ""
    if status is Status.ERROR and not isinstance(error, SuiteError):
        state.run.log.emit("traceback", text=str(call.excinfo.getrepr(style="long"))[-6000:])
    if call.when == "call":
        # People read the reason; the traceback of the suite's own code only where that code is at fault.
        report.longrepr = f"{reason}" if status is not Status.ERROR else report.longrepr
        if state.world is not None:
            state.world.save_evidence(state.run.folder / "failures" / item.stash[_SCENARIO].id.replace("/", "."))
    if isinstance(error, TargetUnreachable):
        _problem(state, error)
        item.session.shouldstop = error.message
    elif state.run.options.fail_fast and status in (Status.FAILED, Status.ERROR, Status.UNTESTABLE):
        item.session.shouldstop = "--fail-fast"
    return report


def _classify(error: BaseException, when: str, world: World | None) -> tuple[Status, str]:
    if isinstance(error, CheckFailed):
        return Status.FAILED, str(error)
    if isinstance(error, Untestable):
        return Status.UNTESTABLE, str(error) or "a precondition did not come about"
    if isinstance(error, SuiteError):
        return Status.ERROR, error.message
    where = f" in step: {world.step_text}" if world is not None and when == "call" and world.step_text else ""
    text = str(error).strip().split("\n")[0]
    return Status.ERROR, f"{type(error).__name__}{where}: {text}" if text else f"{type(error).__name__}{where}"


def _problem(state: Session, error: SuiteError) -> None:
    state.run.log.emit("problem", message=error.message, hint=error.hint, exit=int(error.exit_code))


# -- end -----------------------------------------------------------------------------------------------------------


def pytest_keyboard_interrupt(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Nothing to do: the session's end writes the report of what ran."""


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Stop the seats, write the last event and the reports, and set the exit code."""
    state = session.config.stash.get(_STATE, None)
    if state is None:
        return
    state.interrupted = state.interrupted or (exitstatus == pytest.ExitCode.INTERRUPTED and not session.shouldstop)
    leftovers = _leftovers(state.run)
    state.run.stop()
    if state.is_worker:
        state.run.log.emit("worker-finished", leftovers=leftovers)
        state.run.log.close()
        return
    if state.has_workers:
        leftovers += _merge(state.run)
    if exitstatus == pytest.ExitCode.INTERNAL_ERROR:
        state.run.log.emit("problem", message="the harness itself failed; see the traceback", hint="", exit=3)
    state.run.log.emit("run-finished", interrupted=state.interrupted, leftovers=leftovers)
    state.run.log.close()
    report = files.from_folder(state.run.folder)
    files.write_all(report, state.run.folder)
    session.exitstatus = report.exit_code
    if state.progress:
        state.progress.end(report, state.run.folder)


def _leftovers(run: Run) -> list[str]:
    """Objects of this run that are still there. Only asked of clusters that stay behind."""
    if run.control_plane is None or run.control_plane.own or run._client is None:
        return []
    from dra_api.objects import NAMESPACES, name_of

    listed = run.client.list(NAMESPACES, label_selector=f"dra-conformance/run={run.run_id}")
    return [f"namespace {name_of(obj)}" for obj in listed.items if not obj["metadata"].get("deletionTimestamp")]


def _merge(run: Run) -> list[str]:
    """Append the workers' logs to the run's own, scenario by scenario, and remove them."""
    from dra_conformance.events.log import read

    leftovers: list[str] = []
    for path in sorted(run.folder.glob("events.gw*.jsonl")):
        for event in read(path):
            if event.kind == "worker-finished":
                leftovers += event.data["leftovers"]
            else:
                run.log.append(event)
        path.unlink()
    return leftovers


def pytest_internalerror(excrepr: Any) -> bool:
    """Tell an internal error once; with pytest's terminal off it would be silent, by default it is told twice."""
    print(f"harness error:\n{excrepr}", file=sys.stderr)
    return True


def exit_code_of(result: int | pytest.ExitCode) -> int:
    """The process exit code behind what pytest.main returned."""
    if result == pytest.ExitCode.USAGE_ERROR:
        return ExitCode.USAGE
    return int(result)
