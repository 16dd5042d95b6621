"""Tests of the order in which several workers run the scenarios."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from dra_conformance.core import assets, features
from dra_conformance.core.options import RunOptions
from dra_conformance.pytest_plugin.longest_first import FAST, known_seconds, longest_first, programs_of
from tools.gen_durations import durations

SECONDS = {"a": 0.1, "b": 3.0, "c": 1.0, "d": 9.0, "e": 0.2}


def order(items: str, *, workers: int) -> str:
    return "".join(longest_first(list(items), SECONDS, ident=str, workers=workers))


def test_one_worker_gets_the_longest_first_and_the_fast_ones_in_their_order() -> None:
    assert order("abcdefg", workers=1) == "da" + "bcefg"


def test_every_worker_starts_with_a_slow_one_and_a_fast_one() -> None:
    assert order("abcdefg", workers=2) == "da" + "be" + "cfg"


def test_slow_ones_alone_and_fast_ones_alone_are_sorted_only() -> None:
    assert order("bcd", workers=2) == "dbc"
    assert order("gfea", workers=2) == "gfea"
    assert order("bcdg", workers=2) == "dg" + "bc"


def test_the_seconds_of_the_previous_report_replace_the_recorded_ones(tmp_path: Path) -> None:
    recorded = known_seconds(tmp_path)
    slowest = max(recorded, key=lambda ident: recorded[ident])
    rows = [{"id": slowest, "duration": 0.5}, {"id": "new", "duration": 7}, {"id": "not-run", "duration": 0.0}]
    (tmp_path / "report.json").write_bytes(orjson.dumps({"scenarios": rows}))
    assert known_seconds(tmp_path) == {**recorded, slowest: 0.5, "new": 7.0}


def test_a_driver_that_is_a_program_waits_for_its_timers(tmp_path: Path) -> None:
    again = "driver/slices#deleted-slices-are-published-again"
    assert known_seconds(tmp_path, programs=["driver"])[again] > 30 > known_seconds(tmp_path).get(again, 0.0)


def test_a_binder_that_is_a_program_waits_for_its_retries(tmp_path: Path) -> None:
    limit = "bind_requests/binder_fails#no-attempt-follows-the-last-one-of-limit[3]"
    assert known_seconds(tmp_path, programs=["binder"])[limit] > 20 > known_seconds(tmp_path).get(limit, 0.0)


def test_the_seconds_of_a_run_are_those_of_its_programs() -> None:
    assert programs_of(RunOptions()) == []
    assert programs_of(RunOptions(binder="exec:binder")) == ["binder"]
    assert programs_of(RunOptions(binder="exec:binder", driver="exec:driver")) == ["driver", "binder"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"scenarios": [{"id": "a"}]}', b'{"scenarios": [3]}'])
def test_an_unreadable_report_is_not_used(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "report.json").write_bytes(content)
    assert known_seconds(tmp_path) == known_seconds(tmp_path / "absent")


def test_only_slow_scenarios_are_recorded() -> None:
    rows = [{"id": "fast", "duration": FAST / 2}, {"id": "slow", "duration": 1.23}, {"id": "slower", "duration": 2}]
    assert orjson.loads(durations(orjson.dumps({"scenarios": rows}))) == {"slower": 2.0, "slow": 1.2}


def test_the_recorded_scenarios_are_those_of_the_suite(tmp_path: Path) -> None:
    # Not all: a scenario may have a new name since the last quiet run.
    recorded = set(known_seconds(tmp_path))
    assert len(recorded & {scenario.id for scenario in features.read_all([assets.features()])}) > len(recorded) / 2
