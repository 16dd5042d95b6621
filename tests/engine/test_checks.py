"""Values of checks as reports show them: expected and observed have the same type and the same format."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from dra_conformance.core.errors import CheckFailed, SuiteError
from dra_conformance.core.events import CheckMade, EventLog
from dra_conformance.core.values import expectation
from dra_conformance.engine.checks import Checks, differing, in_words

ROOT = Path(__file__).parents[2]

CALLS = """
from dra_conformance.engine.checks import Checks, Seen

def calls(checks: Checks, seen: bool) -> None:
    def look() -> Seen[list[str]]:
        return seen, ["a"]

    def absent() -> Seen[list[str] | None]:
        return seen, ["a"] if seen else None

    checks.eventually("a", absent, expected=["a"])
    checks.check(seen, "a", expected=["a"], observed=["a"] if seen else None)
    checks.check(seen, "a", expected=1, observed=1.5)
    checks.check(seen, "a", expected="sorted", observed=["a"])  # wrong
    checks.check(seen, "a", expected=["a"], observed=["a"] if seen else "nothing")  # wrong
    checks.check(seen, "a", expected="1", observed=1)  # wrong
    checks.check(seen, "a", expected=["a"], observed={"a": 1})  # wrong
    checks.eventually("a", look, expected="a")  # wrong
    checks.stays("a", absent, expected={"a": 1})  # wrong
    checks.check_seen("a", look(), expected=1)  # wrong
"""


def made(expected: Any, observed: Any, *, crash: str = "") -> tuple[CheckMade, CheckFailed]:
    """Return the event of a failed check, and its error."""
    log = EventLog()
    checks = Checks(log, patience=1.0, catch_up=lambda: None, settle=lambda: None, crash=lambda: crash)
    with pytest.raises(CheckFailed) as failed:
        checks.check(False, "devices", expected=expected, observed=observed)
    (event,) = log.kept(CheckMade)
    return event, failed.value


def test_mypy_refuses_values_of_two_types(tmp_path: Path) -> None:
    source = tmp_path / "calls.py"
    source.write_text(CALLS, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(source)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    wrong = [number for number, line in enumerate(CALLS.splitlines(), start=1) if line.endswith("# wrong")]
    lines = {int(line.split(":")[1]) for line in found.stdout.splitlines() if ": error: " in line}
    assert sorted(lines) == wrong, found.stdout + found.stderr


def test_a_value_of_a_target_is_shown_as_it_is() -> None:
    """A target that returns another type fails with that type; it is no error of the suite."""
    event, _ = made("gpu-0", {"name": ["gpu-0"]})
    assert (event.expected, event.observed) == ("gpu-0", '{"name":["gpu-0"]}')


def test_a_crash_is_part_of_the_message() -> None:
    """The observed value keeps its format."""
    event, error = made([], ["a"], crash="the driver ended")
    assert (event.message, event.expected, event.observed) == ("devices; the driver ended", "[]", '["a"]')
    assert "the driver ended" in str(error)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([], "none"),
        (None, "none"),
        ({}, "none"),
        ("a", "a"),
        (["a", 1, None], "a, 1, none"),
        ({"a": ["b", "c"], "d": True}, "a: b, c; d: true"),
        ([{"a": 1}, {"a": 2}], "(a: 1), (a: 2)"),
    ],
)
def test_conditions_show_observed_values_in_words(value: object, text: str) -> None:
    assert in_words(value) == text


@pytest.mark.parametrize(
    ("text", "seen", "expected", "observed"),
    [
        ("[a, b]", ["a"], ["a", "b"], ["a"]),
        ("{a: 1}", {"a": 2}, {"a": 1}, {"a": 2}),
        ("null", {"a": 2}, None, {"a": 2}),
        ("3", 4, 3, 4),
        ("set", ["a"], "set", '["a"]'),
        ("containing {a: 1}", [{"a": 2}], "containing {a: 1}", '[{"a":2}]'),
        ("like x.*", "y", "like x.*", "y"),
        ("set", None, "set", None),
        ("set", 2**70, "set", str(2**70)),
    ],
)
def test_an_expectation_shows_both_values_in_one_form(text: str, seen: Any, expected: Any, observed: Any) -> None:
    wanted = expectation(text)
    assert (wanted.shown, wanted.show(seen)) == (expected, observed)


def test_long_values_are_shown_without_what_is_equal() -> None:
    """Otherwise the difference can be behind the end of what is shown."""
    same = {f"key{number}": "x" * 20 for number in range(40)}
    event, _ = made({**same, "pod": {"a": 1, "b": 2}}, {**same, "pod": {"a": 1, "b": 3}})
    assert (event.expected, event.observed) == ('{"pod":{"b":2}}', '{"pod":{"b":3}}')
    lines = [f"line {number}" for number in range(100)]
    event, _ = made(lines, [*lines[:50], "other", *lines[51:]])
    assert (event.expected, event.observed) == ('["line 50"]', '["other"]')
    event, _ = made({"a": 1}, {"a": 1, "b": 2})
    assert (event.expected, event.observed) == ('{"a":1}', '{"a":1,"b":2}')


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (["a", "a"], ["a"], (["a"], [])),
        (["a"], ["a", "a", "a"], ([], ["a", "a"])),
        (["a", "b"], ["a", "c", "b"], ([], ["c"])),
        ([], ["a"], ([], ["a"])),
        ({"a": 1}, {"b": 1}, ({"a": 1}, {"b": 1})),
        ({"a": 1}, ["a"], ({"a": 1}, ["a"])),
        (None, {"a": 1}, (None, {"a": 1})),
    ],
)
def test_what_differs(one: Any, other: Any, expected: tuple[Any, Any]) -> None:
    assert differing(one, other) == expected


def test_an_error_of_an_act_in_another_thread_ends_the_scenario_and_fails_no_check() -> None:
    log = EventLog()
    checks = Checks(log, patience=1.0, catch_up=lambda: None, settle=lambda: None, crash=lambda: "")
    acts: list[str] = []

    def act() -> None:
        acts.append("done")
        raise SuiteError("the object to replace does not exist")

    thread = threading.Thread(target=checks.in_background(act))
    thread.start()
    thread.join()
    checks.check(True, "what holds is judged", expected=1, observed=1)
    with pytest.raises(SuiteError, match="to replace"):
        checks.check(False, "devices", expected=1, observed=2)
    with pytest.raises(SuiteError, match="to replace"):
        checks.raise_background_error()
    assert acts == ["done"]
    assert [event.ok for event in log.kept(CheckMade)] == [True]
