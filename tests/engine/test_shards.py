"""Tests of `run --shard`: each scenario runs in exactly one shard, and a shard is never more than partial."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import orjson
import pytest
from command_line import CommandLine
from invented_runs import InventedRun

from dra_conformance.core import features
from dra_conformance.core.configuration import options_of
from dra_conformance.core.errors import ExitCode, UsageError
from dra_conformance.core.rules import Catalogue, Version
from dra_conformance.core.shard import MOST, Shard, elsewhere, resolved
from dra_conformance.core.status import Status, Verdict
from dra_conformance.engine import plan, shards
from dra_conformance.engine.plan import Plan
from dra_conformance.engine.target import Target
from dra_conformance.pytest_plugin.sharding import seconds_of, shard_of
from dra_conformance.report.build import build

OPTIONS = options_of({})


@pytest.fixture(scope="module")
def whole() -> Plan:
    """Return the plan of all scenarios for the reference."""
    target = Target(kubernetes_version=Version(1, 37), components=OPTIONS.components(), driver_name=OPTIONS.driver_name)
    return plan.make(features.read_all(), Catalogue.load(), OPTIONS, target)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_every_scenario_runs_in_exactly_one_shard(whole: Plan, count: int) -> None:
    parts = [shards.divide(whole, Shard(index, count), seconds_of(OPTIONS)) for index in range(1, count + 1)]
    ran = Counter(scenario.id for part in parts for scenario in part.to_run)
    assert ran == Counter(scenario.id for scenario in whole.to_run)
    for index, part in enumerate(parts, start=1):
        for before, after in zip(whole.decisions, part.decisions, strict=True):
            if before.status is not None:
                assert after == before
            else:
                left_out = (Status.FILTERED, elsewhere(after.shard, count))
                assert (after.status, after.reason) == ((None, "") if after.shard == index else left_out)


def test_shards_take_about_the_same_time(whole: Plan) -> None:
    seconds = seconds_of(OPTIONS)
    loads = [shards.estimate(shards.divide(whole, Shard(index, 7), seconds), seconds) for index in range(1, 8)]
    assert max(loads) - min(loads) < 2 * shards.UNRECORDED


def test_the_longest_scenario_is_alone_if_there_are_shards_enough() -> None:
    assert shards.assign("abcd", 2, {"b": 9.0, "a": 1.0, "d": 2.0}) == {"b": 1, "d": 2, "a": 2, "c": 2}
    assert set(shards.assign("ab", 7, {}).values()) == {1, 2}


def test_the_division_does_not_depend_on_the_previous_report(
    whole: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = options_of({"shard": "2/3"})
    before = shard_of(whole, options)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dra-report").mkdir()
    rows = [{"id": scenario.id, "duration": 100.0} for scenario in whole.to_run[:50]]
    (tmp_path / "dra-report" / "report.json").write_bytes(orjson.dumps({"scenarios": rows}))
    assert shard_of(whole, options) == before


def test_a_pod_of_an_indexed_job_has_the_shard_of_its_index() -> None:
    assert resolved("auto/3", {"JOB_COMPLETION_INDEX": "0"}) == "1/3"
    assert resolved("auto/3", {"JOB_COMPLETION_INDEX": "2"}) == "3/3"
    assert resolved("2/3", {"JOB_COMPLETION_INDEX": "0"}) == "2/3"


@pytest.mark.parametrize("index", [None, "", "x", "-1", "3", "٣"])
def test_an_index_that_is_none_is_refused(index: str | None) -> None:
    with pytest.raises(UsageError, match="--shard"):
        resolved("auto/3", {} if index is None else {"JOB_COMPLETION_INDEX": index})


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "a/b", "1/3/", " 1/3", "1/3\n", "01/3", "auto", "1/9999"])
def test_a_value_that_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--shard"):
        options_of({"shard": text})


def test_the_largest_number_of_shards_is_accepted() -> None:
    assert options_of({"shard": f"{MOST}/{MOST}"}).shard == f"{MOST}/{MOST}"


def shard_run(*, required: str = "", other: str = "SHOULD") -> InventedRun:
    """Return the first of two shards, in which everything passed, and whose other scenario is in the second."""
    run = InventedRun(options={"shard": "1/2", "require": required})
    run.rule("DRA-002", level=other)
    run.scenario("here", shard=1)
    run.scenario("there", ("DRA-002",), status="filtered", decided=True, reason=elsewhere(2, 2), shard=2)
    return run


@pytest.mark.parametrize("level", ["MUST", "SHOULD"])
def test_a_shard_is_at_most_partial_and_says_that_it_is_one(level: str) -> None:
    report = build(shard_run(other=level).events())
    assert (report.verdict, report.exit_code) == (Verdict.PARTIAL, ExitCode.OK)
    assert report.caveats[0] == "shard 1 of 2: 1 of 2 scenarios are in other shards"
    assert not any("selection" in caveat for caveat in report.caveats)
    assert [(one.index, one.count, one.ran) for one in report.shards] == [(1, 2, 1)]


@pytest.mark.parametrize("required", ["conformant", "partial"])
def test_a_shard_is_required_to_be_partial(required: str) -> None:
    assert build(shard_run(required=required).events()).exit_code == ExitCode.OK


def test_the_only_shard_of_a_run_is_the_whole_run() -> None:
    report = build(InventedRun(options={"shard": "1/1"}).scenario("here", shard=1).events())
    assert (report.verdict, report.caveats[0][:9]) == (Verdict.CONFORMANT, "rehearsal")


def test_a_run_of_a_shard_verifies_and_lists_the_other_shards(cli: CommandLine) -> None:
    ended = cli.suite(*cli.features("good"), "--shard", "1/2")
    assert ended.code == ExitCode.OK, ended.out
    assert "shard 1 of 2" in ended.out
    assert cli.run("verify")[0] == ExitCode.OK
