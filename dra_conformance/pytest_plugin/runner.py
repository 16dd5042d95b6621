"""Runs the plan under pytest: maps items to scenarios, writes the log, and separates failures of the target from
errors of the harness.

Loaded by the plugin only when the suite is collected. With pytest-xdist every worker has a run of its own (control
plane, components, log); the first process merges the logs and writes the reports.
"""

from __future__ import annotations

import dataclasses
import gc
import os
import shlex
import sys
import time
from collections.abc import Generator, Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from pytest_bdd.scenario import scenario_wrapper_template_registry

from dra_api.regular_file import UnusableFileError
from dra_api.tracebacks import format_traceback
from dra_conformance.core import assets, features, gherkin_documents
from dra_conformance.core.configuration import options_of
from dra_conformance.core.errors import (
    CheckFailed,
    ExitCode,
    NotApplicable,
    SpecificationError,
    SuiteError,
    TargetUnreachable,
    Untestable,
)
from dra_conformance.core.events import CallsMade, ScenarioFinished, ScenarioStarted, StepStarted, Traceback
from dra_conformance.core.folder_lock import lock
from dra_conformance.core.option_table import OPTIONS
from dra_conformance.core.options import Order, RunOptions, from_json, redact
from dra_conformance.core.process_pool import each
from dra_conformance.core.status import Status
from dra_conformance.engine import plan, preflight, vocabulary
from dra_conformance.engine.run import Run
from dra_conformance.engine.world import World
from dra_conformance.pytest_plugin import bdd_adapter, destination, markers
from dra_conformance.pytest_plugin.collection import set_files
from dra_conformance.pytest_plugin.dry_run import dry_run
from dra_conformance.pytest_plugin.failure_text import add_story
from dra_conformance.pytest_plugin.longest_first import known_seconds, longest_first, programs_of
from dra_conformance.pytest_plugin.progress import Progress
from dra_conformance.pytest_plugin.retries import Retries
from dra_conformance.pytest_plugin.session import LOG_FAILURE, SCENARIO, SEAL, STATE, Follower, Session, finish, sealed
from dra_conformance.pytest_plugin.sharding import shard_of
from dra_conformance.rbac import missing
from dra_conformance.report import files
from dra_conformance.steps.catalogue import catalogue

if TYPE_CHECKING:
    from pytest_bdd.parser import Step

_COLLECT_EVERY = (10_000, 20, 20)


def pytest_addhooks() -> None:
    """Give the step definitions to pytest-bdd."""
    bdd_adapter.install()


def pytest_configure(config: pytest.Config) -> None:
    """Read the options, open the report directory and the log, and plan the run."""
    if STATE in config.stash:
        return
    worker_input: dict[str, Any] = getattr(config, "workerinput", {})
    try:
        order = order_of(config)
        if not worker_input:
            if order.options.dry_run:
                _print_plan(order.options)
            preflight.check(order.options)
        folder = Path(order.options.out)
        folder.mkdir(parents=True, exist_ok=True)
        seconds: dict[str, float] = worker_input.get("dra_seconds", {})
        if worker_input:
            gherkin_documents.load(worker_input["dra_documents"])
        else:
            # Before `clear`, which removes the previous report.
            seconds = known_seconds(folder, programs=programs_of(order.options))
            if not config.getoption("dra_options"):  # `dra-conformance run` has the lock
                config.add_cleanup(partial(os.close, lock(folder)))
            files.clear(folder)
        run = Run(
            order.options,
            folder=folder,
            run_id=worker_input.get("dra_run_id"),
            seed=worker_input.get("dra_seed"),
            worker=worker_input.get("workerid", ""),
        )
    except SuiteError as error:
        raise pytest.UsageError(str(error)) from None
    except OSError as error:
        raise pytest.UsageError(f"cannot write to {error.filename}: {error.strerror}") from None
    config.add_cleanup(run.stop)  # also of a run that is interrupted before it has a session
    has_workers = bool(getattr(config.option, "numprocesses", None)) and not worker_input
    # pytest's own terminal plugin shows the progress if it is loaded.
    quiet = worker_input or config.pluginmanager.has_plugin("terminalreporter")
    progress = None if quiet else Progress(order.options.progress)
    state = Session(run, is_worker=bool(worker_input), has_workers=has_workers, progress=progress, seconds=seconds)
    # `dra-conformance run` has its own reports only.
    state.has_reporters = bool(worker_input.get("dra_reporters", not config.getoption("dra_options")))
    config.stash[STATE] = state
    if not config.pluginmanager.has_plugin("terminal"):
        # Nobody reads pytest's own tracebacks; it parses source code for them, see dra_api.tracebacks.
        config.option.tbstyle = "no"
    if has_workers and config.option.maxschedchunk is None:
        config.option.maxschedchunk = 1  # one queue for all workers, from which each takes one scenario after the other
    state.interrupts.install()
    config.pluginmanager.register(state.interrupts, "dra-interrupts")
    config.add_cleanup(state.interrupts.restore)
    if order.options.retries:
        config.pluginmanager.register(Retries(state, order.options.retries), "dra-retries")
    _prepare(state, order.command)
    for line in markers.lines(run.catalogue, state.scenarios):
        config.addinivalue_line("markers", line)
    # Modules, features and rules live as long as the process, so the garbage collector can ignore them.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_EVERY)
    # The workers run the scenarios; this process only shows their reports.
    if has_workers and progress and state.problem is None:
        progress.begin(run, state.plan)
        config.pluginmanager.register(Follower(state, progress), "dra-follower")


def _print_plan(options: RunOptions) -> NoReturn:
    lines, code = dry_run(options)
    print(*lines, sep="\n")
    pytest.exit("--dra-dry-run", returncode=int(code))


def _prepare(state: Session, command: str) -> None:
    """Read the specification and plan every scenario. An error becomes the problem of the run."""
    run = state.run
    problem: SuiteError | None = None
    try:
        folders = [assets.features(), *(Path(extra) for extra in run.options.features)]
        state.scenarios = features.read_all(folders)
        made = plan.make(state.scenarios, run.catalogue, run.options, run.target())
        state.plan = shard_of(made, run.options)
        _check_sentences(state)
        run.expect(state.plan)
    except SuiteError as error:
        problem = error
    if not state.is_worker:
        run.log_start(command)
        if problem is not None:
            state.fail(problem)
    # Each file once: a file has several scenarios.
    set_files(list(dict.fromkeys(scenario.path for scenario in state.plan.to_run)))


def _check_sentences(state: Session) -> None:
    """Raise SpecificationError for the first step without a definition, in what will run and in the user's features.

    The first of several processes runs no step, so a child of it looks: what the steps import would stay with it. Its
    workers run what it has checked.
    """
    if state.is_worker:
        return
    own = assets.features().resolve()
    runs = {scenario.id for scenario in state.plan.to_run}
    # The suite's own tests check all of its features, which takes half a second.
    wanted = [one for one in state.scenarios if one.id in runs or not one.path.is_relative_to(own)]
    if not state.has_workers:
        _undefined(wanted)
        return
    for _, answer in each([wanted], _first_undefined, jobs=1, limit=300.0):
        if isinstance(answer, str):
            raise SuiteError(f"the sentences of the steps cannot be checked: {answer}")
        if answer:
            raise SpecificationError(answer[0], hint=answer[1])


def _undefined(scenarios: list[features.Scenario]) -> None:
    vocabulary.check(scenarios, catalogue())


def _first_undefined(scenarios: list[features.Scenario]) -> tuple[()] | tuple[str, str]:
    try:
        _undefined(scenarios)
    except SpecificationError as error:
        return error.message, error.hint
    return ()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the log. A run that ended before its session started writes its report here."""
    state = config.stash.get(STATE, None)
    if state is not None and not state.finished:
        state.interrupted = True
        finish(state)


def order_of(config: pytest.Config) -> Order:
    """Return the input of the run: the JSON file of `dra-conformance run`, or `--dra-...` over the TOML file."""
    if path := config.getoption("dra_options"):
        return from_json(Path(path).read_bytes())
    given = {option.name: config.getoption(destination(option)) for option in OPTIONS if option.in_pytest}
    words = [redact(str(word)) for word in config.invocation_params.args]
    return Order(options=options_of(given), command=shlex.join(["pytest", *words]))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass the id and the seed of the run, and what this process has read, to the workers of pytest-xdist."""
    state = node.config.stash[STATE]
    state.workers.append(node)
    node.workerinput["dra_run_id"] = state.run.run_id
    node.workerinput["dra_seed"] = state.run.seed
    node.workerinput["dra_seconds"] = state.seconds
    node.workerinput["dra_reporters"] = state.has_reporters
    node.workerinput["dra_documents"] = gherkin_documents.dump()


# -- collection ----------------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """With pytest's own terminal, report a problem of the plan as a usage error of pytest."""
    state = session.config.stash[STATE]
    if state.problem is not None and state.progress is None and not state.is_worker:
        raise pytest.UsageError(str(state.problem))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Report a failed collection as an error of the suite, also without pytest's terminal."""
    report = yield
    state = collector.config.stash.get(STATE, None)
    if report.failed and state is not None and state.problem is None:
        lines = str(report.longrepr).strip().splitlines()
        state.fail(SuiteError(f"the scenarios cannot be collected: {lines[-1] if lines else 'no reason given'}"))
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_bdd_apply_tag(tag: str, function: Any) -> bool:
    """Turn a tag into a marker; `a:b` becomes `a_b`, which -m accepts."""
    _marker(tag)(function)
    return True


@cache
def _marker(tag: str) -> pytest.MarkDecorator:
    # pytest.mark reads the list of known markers again for each new name, which takes 5 % of a run.
    found: pytest.MarkDecorator = getattr(pytest.mark, markers.name_of(tag))
    return found


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the items of the plan: in its order, or longest first if several workers run them.

    Scenarios that pytest deselected are reported as filtered.
    """
    state = config.stash[STATE]
    by_key = {_key_of(scenario): (number, scenario) for number, scenario in enumerate(state.plan.to_run)}
    kept: list[tuple[int, pytest.Item]] = []
    dropped: list[pytest.Item] = []
    for item in items:
        number, scenario = by_key.get(_item_key(item), (0, None))
        if scenario is None:
            dropped.append(item)
        else:
            _describe(item, scenario)
            kept.append((number, item))
    items[:] = [item for _, item in sorted(kept, key=lambda pair: pair[0])]
    if state.is_worker:
        workers = config.workerinput["workercount"]  # type: ignore[attr-defined]
        items[:] = longest_first(items, state.seconds, ident=lambda item: item.stash[SCENARIO].id, workers=workers)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
    # This hook runs last, so pytest's -k and -m have already deselected items.
    here = {item.stash[SCENARIO].id for item in items}
    decisions = [
        dataclasses.replace(decision, status=Status.FILTERED, reason="not selected on pytest's command line")
        if decision.status is None and decision.scenario.id not in here
        else decision
        for decision in state.plan.decisions
    ]
    state.plan = dataclasses.replace(state.plan, decisions=decisions)
    # All workers have the same plan; one of them logs it.
    if not state.is_worker or state.run.worker == "gw0":
        state.run.log_plan(state.plan)
    if state.progress and state.problem is None:
        state.progress.begin(state.run, state.plan)


def _describe(item: pytest.Item, scenario: features.Scenario) -> None:
    """Give an item its scenario, and what reporters of pytest show: file and line of the feature, and properties."""
    item.stash[SCENARIO] = scenario
    item.location = (features.shown(scenario.path), scenario.line - 1, item.name)
    rules = [("rule", rule) for rule in scenario.rules]
    item.user_properties += [("scenario", scenario.id), *rules, ("where", scenario.where)]


def _key_of(scenario: features.Scenario) -> tuple[str, str, tuple[str, ...]]:
    return (_resolved(scenario.path), scenario.outline, scenario.example)


def _item_key(item: pytest.Item) -> tuple[str, str, tuple[str, ...]]:
    function = getattr(item, "obj", None)
    template = scenario_wrapper_template_registry.get(function) if callable(function) else None
    if template is None:
        return ("", "", ())
    example = getattr(item, "callspec", None)
    values = tuple(example.params["_pytest_bdd_example"].values()) if example else ()
    return (_resolved(template.feature.filename), template.name, values)


@cache
def _resolved(path: str | Path) -> str:
    # Each file has several scenarios, and each call needs a system call for every folder of the path.
    return str(Path(path).resolve())


# -- running -------------------------------------------------------------------------------------------------------


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of its programs that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Write the start and the end of a scenario to the log."""
    state = item.config.stash.get(STATE, None)
    scenario = item.stash.get(SCENARIO, None)
    if state is None or scenario is None:
        return (yield)
    log = state.run.log
    state.outcome, state.failed_step, state.crash, state.objects = (Status.PASSED, ""), "", "", ""
    state.began, state.cpu_before = time.monotonic(), _cpu_seconds()
    log.begin_scenario(scenario.id)
    log.emit(ScenarioStarted(name=scenario.name, where=scenario.where, rules=scenario.rules))
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
            log.emit(CallsMade(made=tuple(state.run.calls.take())))
            cpu = round(_cpu_seconds() - state.cpu_before, 4)
            log.emit(
                ScenarioFinished(
                    status=status,
                    reason=reason,
                    duration=duration,
                    cpu=cpu,
                    step=state.failed_step,
                    crash=state.crash,
                    objects=state.objects,
                )
            )
            if state.progress:
                state.progress.scenario_finished(scenario, status, reason, duration)
        log.end_scenario()


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Provide the context of one scenario; see dra_conformance.engine.world."""
    state = request.config.stash[STATE]
    scenario = request.node.stash[SCENARIO]
    state.run.start()
    made = World(state.run, scenario, suffix=state.run.begin_scenario(scenario))
    state.world = made
    try:
        made.begin()
        yield made
    finally:
        state.world = None
        made.end()


@pytest.fixture(autouse=True)
def _world_before_steps(request: pytest.FixtureRequest) -> None:
    # pytest_bdd_before_step needs the world; a step would create it only after that hook.
    if SCENARIO in request.node.stash:
        request.getfixturevalue("world")


def pytest_bdd_before_step(request: pytest.FixtureRequest, step: Step) -> None:
    """Log the step, and attribute its checks to the rules that it names."""
    state = request.config.stash[STATE]
    if state.world is None:
        return
    named = features.RULE_SUFFIX.search(step.name)
    rules = tuple(part.strip() for part in named[1].split(",")) if named else state.world.scenario.rules
    state.world.checks.begin_step(f"{step.type.capitalize()} {step.name}", rules)
    if step.type != "then":
        state.world.wait_for_watches()
    state.run.log.emit(StepStarted(keyword=step.type, text=step.name, line=step.line_number))


def pytest_bdd_after_step(request: pytest.FixtureRequest, step: Step) -> None:
    """Raise SuiteError for a Then step without a check."""
    state = request.config.stash[STATE]
    if state.world is not None and step.type == "then" and state.world.checks.made == 0:
        raise SuiteError(f"the step checked nothing: Then {step.name}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Set the outcome for an exception, and save the evidence before the scenario is cleaned up."""
    report = yield
    state = item.config.stash.get(STATE, None)
    if state is None or SCENARIO not in item.stash:
        return report
    if state.interrupts.signalled:  # Python may have dropped the KeyboardInterrupt, or the failure follows from it
        raise KeyboardInterrupt
    if call.excinfo is not None:
        _judge(state, item, call, call.excinfo, report)
    if call.when == "teardown":
        _report_missing_permissions(state, report)
        _report_failures(state, report)
        if state.problem is None and state.run.log.failure is not None:
            state.fail(state.run.log.failure)
            item.session.shouldstop = state.run.log.failure.message
    state.attach_outcome(item, report)
    add_story(state, item.stash[SCENARIO], report)
    return report


def _judge(
    state: Session,
    item: pytest.Item,
    call: pytest.CallInfo[None],
    excinfo: pytest.ExceptionInfo[BaseException],
    report: pytest.TestReport,
) -> None:
    error = excinfo.value
    if call.when == "call" and state.world is not None:
        # A scheduler without its podgrouper fails every scenario, which says nothing about it.
        components = state.world.scenario.tags.components
        error = state.world.components.ended_companion(components) or error
    status, reason = _classify(error, call.when, state.world)
    current = state.outcome[0]
    # The first problem counts, but an error replaces everything except a failed check.
    if current is Status.PASSED or (status is Status.ERROR and current is not Status.FAILED):
        state.crash = state.world.crash() if state.world is not None and call.when == "call" else ""
        # A failed check says it already. What a scenario lacks may be missing because of it too.
        if state.crash and status is Status.UNTESTABLE and state.crash not in reason:
            reason = f"{reason}; {state.crash}"
        state.outcome = (status, reason)
        state.failed_step = state.world.checks.step if state.world is not None and call.when == "call" else ""
    if status is Status.ERROR and not isinstance(error, SuiteError):
        # The end of a traceback names the error.
        state.run.log.emit(Traceback(text=format_traceback(error)[-6000:]))
    if call.when == "call":
        # The traceback shows code of the suite, which helps only if the suite is at fault.
        report.longrepr = f"{reason}" if status is not Status.ERROR else report.longrepr
        if state.world is not None:
            state.world.failed = True
            for output in state.world.program_outputs(error.rules if isinstance(error, CheckFailed) else ()):
                state.run.log.emit(output)
            folder = Path("failures", item.stash[SCENARIO].id.replace("/", "."))
            try:
                state.world.save_evidence(state.run.folder / folder)
                state.objects = str(folder / "objects.json")
            except OSError as problem:
                state.run.log.fail(problem)
    if isinstance(error, TargetUnreachable):
        state.fail(error)
        item.session.shouldstop = error.message
    elif (
        state.run.options.fail_fast
        and status in (Status.FAILED, Status.ERROR, Status.UNTESTABLE)
        and not (state.retries_left and status is not Status.ERROR)
    ):
        item.session.shouldstop = "--fail-fast"


def _report_missing_permissions(state: Session, report: pytest.TestReport) -> None:
    """Add denied API requests to the reason of a scenario that did not pass, because they may be its cause.

    A scenario that passed on an existing cluster although a component of the run was denied a request is untestable:
    the target worked with a component that could not do its work.
    """
    status, reason = state.outcome
    refused = state.run.calls.take_denied()
    if not refused:
        return
    denied = missing.message(refused)
    if status in (Status.FAILED, Status.ERROR, Status.UNTESTABLE):
        state.outcome = (status, f"{reason}; {denied}")
    elif status is Status.PASSED and state.run.on_existing_cluster:
        state.outcome = (Status.UNTESTABLE, f"a component of the run could not do its work; {denied}")
        report.outcome, report.longrepr = "failed", state.outcome[1]


def _report_failures(state: Session, report: pytest.TestReport) -> None:
    """Set the outcome to an error if the control plane or the harness failed, which says nothing about the target."""
    failures = state.run.take_failures()
    if not failures:
        return
    for failure in failures:
        state.run.log.emit(Traceback(text=(failure.traceback or failure.message)[-6000:]))
    status, reason = state.outcome
    message = failures[0].message
    state.outcome = (Status.ERROR, message if status is Status.PASSED else f"{message}; {status.value}: {reason}")
    report.outcome, report.longrepr = "failed", state.outcome[1]


def _classify(error: BaseException, when: str, world: World | None) -> tuple[Status, str]:
    if isinstance(error, CheckFailed):
        return Status.FAILED, str(error)
    if isinstance(error, Untestable):
        return Status.UNTESTABLE, str(error) or "a precondition did not come about"
    if isinstance(error, NotApplicable):
        return Status.NOT_APPLICABLE, str(error)
    if isinstance(error, UnusableFileError):
        return Status.UNTESTABLE, f"the program under test has {error.filename}: {error.strerror}"
    if isinstance(error, SuiteError):
        return Status.ERROR, error.message
    where = f" in step: {world.checks.step}" if world is not None and when == "call" and world.checks.step else ""
    text = str(error).strip().split("\n")[0]
    return Status.ERROR, f"{type(error).__name__}{where}: {text}" if text else f"{type(error).__name__}{where}"


# -- end -----------------------------------------------------------------------------------------------------------


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Stop the components, write the last event and the report, and set the exit code."""
    state = session.config.stash.get(STATE, None)
    if state is None or state.finished:
        return
    # pytest reports every early stop as INTERRUPTED; only a signal makes the run an interrupted one.
    stopped = (
        session.shouldstop
        or state.problem is not None
        or state.worker_stopped
        or (state.has_workers and state.run.options.fail_fast)
    )
    interrupted = state.interrupts.signalled or (exitstatus == pytest.ExitCode.INTERRUPTED and not stopped)
    state.interrupted = state.interrupted or interrupted
    state.interrupts.ignore()
    if exitstatus == pytest.ExitCode.INTERNAL_ERROR:
        state.fail(SuiteError("the harness itself failed", hint="Its traceback is above; this is a bug of the suite."))
    report = finish(state)
    if state.is_worker:
        session.config.workeroutput[SEAL] = sealed(state)  # type: ignore[attr-defined]
        if state.run.log.failure is not None:
            session.config.workeroutput[LOG_FAILURE] = state.run.log.failure.message  # type: ignore[attr-defined]
    if report is not None:
        session.exitstatus = report.exit_code


def pytest_internalerror(excrepr: Any) -> bool:
    """Print an internal error once. pytest prints none without its terminal, and two by default."""
    print(f"harness error:\n{excrepr}", file=sys.stderr)
    return True


def exit_code_of(result: int | pytest.ExitCode) -> int:
    """Return the exit code of the process for a result of pytest.main."""
    if result == pytest.ExitCode.USAGE_ERROR:
        return ExitCode.USAGE
    return int(result)
