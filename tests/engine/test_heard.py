"""What one step writes is known to all in the next: no watch has anything left to tell when a Given or When begins.

And the steps themselves: none that writes in a component's place takes what the observer has seen for what all know.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.objects import NODES
from dra_conformance import steps
from dra_conformance.control_plane.embedded import EmbeddedControlPlane
from dra_conformance.engine.world import World
from dra_conformance.pytest_plugin import runner
from dra_conformance.pytest_plugin.session import STATE

FOLDER = Path(steps.__file__).parent
WRITES = frozenset({"create", "update", "patch", "delete", "delete_collection", "delete_if_there", "bind"})
READS = frozenset({"seen", "all_seen", "observer"})

DOMAIN_DRIVER = 'imex: node "{node}" running the ComputeDomain driver on the GPUs of "{inventory}"'
REASONS = {
    DOMAIN_DRIVER: "what it writes is there before the driver starts, and the driver's own doing is waited for",
    'sweeps: a pod using template "{template}" is created and deleted once for each write of the components, and that '
    "write is {fault}": "each round is looked at as the components left it, watches broken on purpose included",
}


class Steps:
    """The functions of the step modules, and what each does in order: `write`, `require`, `settle`."""

    def __init__(self, folder: Path) -> None:
        self._trees = {path.stem: ast.parse(path.read_text()) for path in sorted(folder.glob("*.py"))}
        self._names = {module: dict(self._names_in(tree)) for module, tree in self._trees.items()}

    def acting(self) -> Iterator[tuple[str, str, ast.FunctionDef]]:
        """Every Given and When: its module, its first sentence, its function."""
        for module, tree in self._trees.items():
            for node in tree.body:
                if isinstance(node, ast.FunctionDef):
                    for call in node.decorator_list:
                        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ("given", "when"):
                            yield module, str(getattr(call.args[0], "value", "")), node
                            break

    def story(self, module: str, function: ast.FunctionDef, seen: frozenset[str] = frozenset()) -> list[str]:
        """What a function does, helpers of the step modules included."""
        local = {node.name: node for node in ast.walk(function) if isinstance(node, ast.FunctionDef)}
        told: list[str] = []
        for call in self._calls(function.body):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if isinstance(call.func, ast.Attribute):
                if name in WRITES:
                    told.append("write")
                elif name in ("settle", "heard"):
                    told.append("settle")
                elif name == "require" and any(self._observes(module, one, local) for one in call.args):
                    told.append("require")
            elif (found := self._names[module].get(name)) is not None and f"{found[0]}.{name}" not in seen:
                told += self.story(*found, seen | {f"{found[0]}.{name}"})
        return told

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
        """The calls of some statements in the order of the text, those of functions defined there left out."""
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


def hasty(told: list[str]) -> bool:
    """Whether something is written, the observer is asked about it, and nobody waits for the others."""
    if "write" not in told or "require" not in told[told.index("write") :]:
        return False
    last = len(told) - 1 - told[::-1].index("require")
    return "settle" not in told[last:]


def test_no_step_takes_what_the_observer_has_seen_for_what_all_know() -> None:
    known = Steps(FOLDER)
    found = {f"{module}: {sentence}" for module, sentence, node in known.acting() if hasty(known.story(module, node))}
    assert found == set(REASONS)


# -- before a step -----------------------------------------------------------------------------------------------------


def test_all_have_heard_when_the_last_client_has_dealt_with_what_it_was_told(tmp_path: Path) -> None:
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
        eventually(lambda: any(plane._emulator.server.store.watchers()))
        eventually(plane.watches_drained)
        client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
        assert not plane.watches_drained()
        assert got.wait(30)
        assert not plane.watches_drained(), "told, and not yet dealt with"
        go_on.set()
        eventually(plane.watches_drained)
    finally:
        go_on.set()
        plane.stop()
    listener.join(30)


def eventually(look: Callable[[], object]) -> None:
    clock = RealClock()
    deadline = clock.monotonic() + 30
    while not look():
        assert clock.monotonic() < deadline
        clock.wait(threading.Event(), 0.001)


def world_with(answers: list[bool], *, lag: float = 0.0, needs: tuple[str, ...] = (), patience: float = 30.0) -> World:
    """A world of which nothing is there but what `heard` asks; each question takes one of the answers."""
    run = SimpleNamespace(
        options=SimpleNamespace(watch_lag=lag),
        patience=patience,
        all_heard=lambda: answers.pop(0) if len(answers) > 1 else answers[0],
    )
    world: Any = World.__new__(World)
    world.run, world.log = run, SimpleNamespace(clock=RealClock())
    world.scenario = SimpleNamespace(tags=SimpleNamespace(needs=needs))
    return world


def test_a_world_waits_until_all_have_heard() -> None:
    answers = [False, False, False, True]
    world_with(answers).heard()
    assert answers == [True]


def test_a_world_waits_no_longer_than_the_patience_of_the_run() -> None:
    world_with([False], patience=0.02).heard()


@pytest.mark.parametrize("how", [{"lag": 0.1}, {"needs": ("faults",)}])
def test_nobody_waits_where_watches_are_late_or_broken_on_purpose(how: dict[str, Any]) -> None:
    answers = [False, True]
    world_with(answers, **how).heard()
    assert answers == [False, True]


@pytest.mark.parametrize(("kind", "waits"), [("given", True), ("when", True), ("then", False)])
def test_a_step_that_acts_begins_when_all_have_heard(kind: str, waits: bool) -> None:
    told: list[str] = []
    world = SimpleNamespace(
        scenario=SimpleNamespace(rules=("DRA-001",)), heard=lambda: told.append("heard"), step_rules=(), step_text=""
    )
    log = SimpleNamespace(emit=lambda event: told.append(event.keyword))
    state = SimpleNamespace(world=world, run=SimpleNamespace(log=log))
    request: Any = SimpleNamespace(config=SimpleNamespace(stash={STATE: state}))
    runner.pytest_bdd_before_step(request, SimpleNamespace(name="something", type=kind, line_number=1))  # type: ignore[arg-type]
    assert told == (["heard", kind] if waits else [kind])


# -- the check itself --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        (["write", "require"], True),
        (["write", "settle", "require"], True),
        (["write", "require", "settle"], False),
        (["require", "write"], False),
        (["require"], False),
        (["write"], False),
    ],
)
def test_what_counts_as_hasty(told: list[str], wrong: bool) -> None:
    assert hasty(told) is wrong


def test_a_hasty_step_is_found_through_its_helpers(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("def seen_by(world):\n    return world.seen('pods', 'p') is not None, ''\n")
    (tmp_path / "mine.py").write_text(
        "from dra_conformance.steps.other import seen_by\n"
        "def make(world):\n    world.create({})\n    wait(world)\n"
        "def wait(world):\n    world.require('it is there', lambda: seen_by(world))\n"
        "@given('it is there')\ndef _(world):\n    make(world)\n"
        "@when('it is told')\ndef _(world):\n    make(world)\n    world.settle()\n"
    )
    known = Steps(tmp_path)
    assert [sentence for module, sentence, node in known.acting() if hasty(known.story(module, node))] == [
        "it is there"
    ]
