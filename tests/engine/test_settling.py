"""Tests of the waits between steps.

All watches have delivered what one step wrote before the next Given or When begins. No step that writes in place of a
component takes the harness's own observation as a sign that all components know.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from polling import wait_until

from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.objects import NODES
from dra_conformance import steps
from dra_conformance.control_plane.embedded import EmbeddedControlPlane
from dra_conformance.core import thread_states
from dra_conformance.core.events import ApiWrite, EventLog
from dra_conformance.engine.checks import Checks
from dra_conformance.engine.settling import Settling
from dra_conformance.pytest_plugin import runner
from dra_conformance.pytest_plugin.session import STATE

FOLDER = Path(steps.__file__).parent
WRITES = frozenset({"create", "update", "patch", "delete", "delete_collection", "delete_if_there", "bind"})
READS = frozenset({"seen", "all_seen", "observer"})

DOMAIN_DRIVER = 'imex: node "{node}" running the ComputeDomain driver on the GPUs of "{inventory}"'
WAITS_FOR_DRIVER = "it writes before the driver starts, and then waits for the work of the driver"
REASONS = {
    DOMAIN_DRIVER: WAITS_FOR_DRIVER,
    DOMAIN_DRIVER + " in NVLink clique {clique:d}": WAITS_FOR_DRIVER,
    DOMAIN_DRIVER.replace("driver on", "driver as a process on"): WAITS_FOR_DRIVER,
    'compute_domain_racks: {count:d} nodes running the ComputeDomain driver on the GPUs of "{inventory}"': (
        WAITS_FOR_DRIVER
    ),
    'sweeps: a pod using template "{template}" is created and deleted once for each write, and that '
    "write is {fault}": "each round is judged as the components left it, with watches broken on purpose",
}


class Steps:
    """The functions of the step modules, and the actions of each in order: `write`, `require`, `settle`."""

    def __init__(self, folder: Path) -> None:
        self._trees = {path.stem: ast.parse(path.read_text()) for path in sorted(folder.glob("*.py"))}
        self._names = {module: dict(self._names_in(tree)) for module, tree in self._trees.items()}

    def acting(self) -> Iterator[tuple[str, str, ast.FunctionDef]]:
        """Yield every Given and When: its module, its first sentence, its function."""
        for module, tree in self._trees.items():
            for node in tree.body:
                if isinstance(node, ast.FunctionDef):
                    for call in node.decorator_list:
                        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ("given", "when"):
                            yield module, str(getattr(call.args[0], "value", "")), node
                            break

    def actions_of(self, module: str, function: ast.FunctionDef, seen: frozenset[str] = frozenset()) -> list[str]:
        """Return the actions of a function, including those of helpers in step modules."""
        local = {node.name: node for node in ast.walk(function) if isinstance(node, ast.FunctionDef)}
        actions: list[str] = []
        for call in self._calls(function.body):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if isinstance(call.func, ast.Attribute):
                if name in WRITES:
                    actions.append("write")
                elif name in ("settle", "wait_for_watches"):
                    actions.append("settle")
                elif name == "require" and any(self._observes(module, one, local) for one in call.args):
                    actions.append("require")
            elif (found := self._names[module].get(name)) is not None and f"{found[0]}.{name}" not in seen:
                actions += self.actions_of(*found, seen | {f"{found[0]}.{name}"})
        return actions

    def _observes(self, module: str, node: ast.AST, local: dict[str, ast.FunctionDef], depth: int = 3) -> bool:
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and part.attr in READS:
                return True
            if isinstance(part, ast.Name) and depth:
                if part.id in local and self._observes(module, local[part.id], {}, depth - 1):
                    return True
                found = self._names[module].get(part.id)
                if found is not None and self._observes(found[0], found[1], {}, depth - 1):
                    return True
        return False

    @staticmethod
    def _calls(body: list[ast.stmt]) -> list[ast.Call]:
        """Return the calls of statements in the order of the text, without those of nested functions."""
        found: list[ast.Call] = []

        def visit(node: ast.AST) -> None:
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                return
            for child in ast.iter_child_nodes(node):
                visit(child)
            if isinstance(node, ast.Call):
                found.append(node)

        for statement in body:
            visit(statement)
        return found

    def _names_in(self, tree: ast.Module) -> Iterator[tuple[str, tuple[str, ast.FunctionDef]]]:
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dra_conformance.steps."):
                home = str(node.module).rpartition(".")[2]
                functions = {one.name: one for one in self._trees[home].body if isinstance(one, ast.FunctionDef)}
                for alias in node.names:
                    if alias.name in functions:
                        yield alias.asname or alias.name, (home, functions[alias.name])
        module = next(name for name, one in self._trees.items() if one is tree)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name != "_":
                yield node.name, (module, node)


def hasty(actions: list[str]) -> bool:
    """Return whether the function writes, waits for the observer, and does not wait for the components."""
    if "write" not in actions or "require" not in actions[actions.index("write") :]:
        return False
    last = len(actions) - 1 - actions[::-1].index("require")
    return "settle" not in actions[last:]


def test_no_step_relies_on_the_observer_after_a_write() -> None:
    known = Steps(FOLDER)
    found = {
        f"{module}: {sentence}" for module, sentence, node in known.acting() if hasty(known.actions_of(module, node))
    }
    assert found == set(REASONS)


# -- before a step -----------------------------------------------------------------------------------------------------


def test_watches_are_drained_when_the_last_client_has_handled_its_event(tmp_path: Path) -> None:
    plane = EmbeddedControlPlane(kubernetes_version="1.36", directory=tmp_path / "plane", clock=RealClock(), seed=1)
    plane.start()
    got, go_on = threading.Event(), threading.Event()
    try:
        client = KubeClient(plane.transport(), user_agent="test")
        since = client.list(NODES).resource_version

        def listen() -> None:
            with client.watch(NODES, resource_version=since) as watch:
                for _ in watch:
                    got.set()
                    go_on.wait(30)

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        wait_until(lambda: any(plane._emulator.server.store.watchers()))
        wait_until(plane.watches_drained)
        client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
        assert not plane.watches_drained()
        assert got.wait(30)
        assert not plane.watches_drained(), "delivered, and not handled yet"
        go_on.set()
        wait_until(plane.watches_drained)
    finally:
        go_on.set()
        plane.stop()
    listener.join(30)


class State:
    """A run whose watches are drained after some polls."""

    observes_idle = True
    quiet = 0.01

    def __init__(self, answers: list[bool], patience: float = 30.0) -> None:
        self.answers = answers
        self.patience = patience

    def is_idle(self) -> bool:
        return True

    def waits_for_drivers(self) -> bool:
        return False

    def watches_drained(self) -> bool:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def settling(state: State, *, wait_for_watches: bool = True) -> Settling:
    return Settling(state, EventLog(), nodes=list, wait_for_watches=wait_for_watches)


def test_waits_until_all_watches_are_drained() -> None:
    state = State([False, False, False, True])
    settling(state).wait_for_watches()
    assert state.answers == [True]


def test_waits_for_watches_no_longer_than_the_patience_of_the_run() -> None:
    settling(State([False], patience=0.02)).wait_for_watches()


def test_does_not_wait_for_watches_that_are_delayed_or_broken_on_purpose() -> None:
    state = State([False, True])
    settling(state, wait_for_watches=False).wait_for_watches()
    assert state.answers == [False, True]


@pytest.mark.parametrize(("kind", "waits"), [("given", True), ("when", True), ("then", False)])
def test_watches_are_drained_before_a_step_that_acts(kind: str, waits: bool) -> None:
    actions: list[str] = []
    checks = Checks(EventLog(), patience=1.0, catch_up=lambda: None, settle=lambda: None, crash=str)
    world = SimpleNamespace(
        scenario=SimpleNamespace(rules=("DRA-001",)), wait_for_watches=lambda: actions.append("wait"), checks=checks
    )
    log = SimpleNamespace(emit=lambda event: actions.append(event.keyword))
    state = SimpleNamespace(world=world, run=SimpleNamespace(log=log))
    request: Any = SimpleNamespace(config=SimpleNamespace(stash={STATE: state}))
    runner.pytest_bdd_before_step(request, SimpleNamespace(name="something", type=kind, line_number=1))  # type: ignore[arg-type]
    assert actions == (["wait", kind] if waits else [kind])
    assert (checks.step, checks.rules) == (f"{kind.capitalize()} something", ("DRA-001",))


# -- settle ------------------------------------------------------------------------------------------------------------


class Idleness:
    """A run that becomes idle after some polls; `calls` of drivers stay unanswered."""

    patience = 30.0
    quiet = 0.01

    def __init__(self, busy: int, *, drivers: bool = False, in_process: bool = True) -> None:
        self.left = busy
        self.drivers = drivers
        self.observes_idle = in_process

    def is_idle(self) -> bool:
        self.left -= 1
        return self.left < 0 and not self.drivers

    def waits_for_drivers(self) -> bool:
        return self.drivers and self.left < 0

    def watches_drained(self) -> bool:
        return True


class Node:
    """A node whose components run in this process, and whose driver has these processes."""

    def __init__(self, *processes: int) -> None:
        self.observes_idle = not processes
        self._processes = processes

    def processes(self) -> tuple[int, ...]:
        return self._processes


@pytest.mark.parametrize("nodes", [[], [Node()]])
@pytest.mark.parametrize("in_process", [True, False])
def test_settles_when_all_is_idle_and_not_after_a_quiet_time(nodes: list[Node], in_process: bool) -> None:
    run = Idleness(busy=5, in_process=in_process)
    Settling(run, EventLog(), nodes=lambda: nodes, wait_for_watches=True).settle()
    assert run.left == -1


def test_the_renewal_of_a_lease_is_no_work() -> None:
    log = EventLog()
    path = "/apis/coordination.k8s.io/v1/namespaces/one/leases/controller"
    for method, where in (("POST", path.rpartition("/")[0]), ("PUT", path), ("PATCH", path), ("PUT", f"{path}?a=b")):
        log.emit(ApiWrite(agent="controller", method=method, path=where, status=200))
    assert (log.count, log.activity) == (4, 1)
    log.emit(ApiWrite(agent="controller", method="PUT", path="/api/v1/namespaces/leases/pods/one", status=200))
    assert (log.count, log.activity) == (5, 2)


class Stepped(RealClock):
    """A clock on which only waits take time."""

    def __init__(self) -> None:
        self.time = 0.0

    def monotonic(self) -> float:
        return self.time

    def condition_wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        self.time += timeout or 0.0
        return False


class Electing(Idleness):
    """A run whose leader renews its Lease for a tenth of each second, without an event."""

    quiet = 1.0

    def __init__(self, clock: Stepped) -> None:
        super().__init__(busy=0, in_process=False)
        self._clock = clock

    def is_idle(self) -> bool:
        return self._clock.time % 1.0 > 0.1


def test_settles_beside_work_that_recurs_after_each_quiet_time() -> None:
    clock = Stepped()
    Settling(Electing(clock), EventLog(clock=clock), nodes=list, wait_for_watches=True).settle()
    assert 1.0 <= clock.time < 1.5


def test_the_quiet_time_begins_again_with_an_event() -> None:
    clock = Stepped()
    log = EventLog(clock=clock)

    class Writing(Electing):
        """Writes once when it is observed, and is idle afterwards."""

        written = False

        def is_idle(self) -> bool:
            if not self.written:
                self.written = True
                log.emit(ApiWrite(agent="controller", method="PUT", path="/api/v1/namespaces/one/pods/one", status=200))
                return False
            return True

    Settling(Writing(clock), log, nodes=list, wait_for_watches=True).settle()
    assert clock.time >= 2.0


def test_settles_beside_a_driver_that_does_not_respond() -> None:
    run = Idleness(busy=3, drivers=True)
    Settling(run, EventLog(), nodes=lambda: [Node()], wait_for_watches=True).settle()
    assert run.left < 0


def test_does_not_settle_while_a_thread_is_runnable(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [True, True, False]
    monkeypatch.setattr(thread_states, "any_runnable", lambda *processes: answers.pop(0))
    Settling(Idleness(busy=0), EventLog(), nodes=lambda: [Node()], wait_for_watches=True).settle()
    assert answers == []


def test_a_process_that_computes_is_runnable_and_one_that_waits_is_not() -> None:
    spins = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
    waits = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"]
    for command, runnable in ((spins, True), (waits, False)):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            try:
                # It may still compute for a moment after its line.
                wait_until(lambda pid=process.pid, wanted=runnable: thread_states.of_process(pid) is wanted)
            finally:
                process.kill()
    assert not thread_states.of_process(process.pid), "it has ended"


def test_a_thread_of_this_process_that_computes_is_runnable() -> None:
    began, stop = threading.Event(), threading.Event()

    def spin() -> None:
        began.set()
        while not stop.is_set():
            sum(range(10_000))

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        assert began.wait(30)
        wait_until(thread_states.any_runnable)
    finally:
        stop.set()
        thread.join(30)
    wait_until(lambda: not thread_states.any_runnable())


# -- the check itself --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actions", "wrong"),
    [
        (["write", "require"], True),
        (["write", "settle", "require"], True),
        (["write", "require", "settle"], False),
        (["require", "write"], False),
        (["require"], False),
        (["write"], False),
    ],
)
def test_hasty_functions_write_and_then_wait_for_the_observer_only(actions: list[str], wrong: bool) -> None:
    assert hasty(actions) is wrong


def test_a_hasty_step_is_found_through_its_helpers(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("def seen_by(world):\n    return world.seen('pods', 'p') is not None, ''\n")
    (tmp_path / "mine.py").write_text(
        "from dra_conformance.steps.other import seen_by\n"
        "def make(world):\n    world.create({})\n    wait(world)\n"
        "def wait(world):\n    world.require('it is there', lambda: seen_by(world))\n"
        "@given('it is there')\ndef _(world):\n    make(world)\n"
        "@when('it is written')\ndef _(world):\n    make(world)\n    world.settle()\n"
    )
    known = Steps(tmp_path)
    assert [sentence for module, sentence, node in known.acting() if hasty(known.actions_of(module, node))] == [
        "it is there"
    ]
