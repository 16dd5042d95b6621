"""Tests of long campaigns in shards: each case runs in one shard, and pods can run what the Job gives them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_mutation_survey import result

from dra_conformance.core.shard import Shard
from verification import __main__ as commands
from verification import campaign_job, explore
from verification.differential import __main__ as differential
from verification.mutation_survey import __main__ as survey
from verification.mutation_survey.results import Store


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, dict[str, Any]]:
    """Return the objects that `python -m verification job` prints, by kind."""
    assert commands.main(["job", *words]) == 0
    return {one["kind"]: one for one in yaml.safe_load_all(capsys.readouterr().out)}


def arguments(objects: dict[str, dict[str, Any]], index: int) -> list[str]:
    """Return the arguments of the container with this index, as the kubelet passes them."""
    container = objects["Job"]["spec"]["template"]["spec"]["containers"][0]
    return [word.replace("$(JOB_COMPLETION_INDEX)", str(index)) for word in container["args"]]


def test_the_shards_of_a_differential_test_have_all_cases_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = printed(capsys, "--shards", "3", "differential", "--cases", "10", "--seed", "7")
    ran: list[int] = []
    for index in range(3):
        monkeypatch.setenv("JOB_COMPLETION_INDEX", str(index))
        module, *words = arguments(objects, index)
        assert module == differential.__package__
        monkeypatch.setattr(sys, "argv", [module, *words])
        found = differential._options()
        assert (found.seed, found.cases, found.out) == ("7", 10, Path(f"/reports/{index}"))
        ran += found.shard.part_of(range(found.cases))
    assert sorted(ran) == list(range(10))


def test_the_pods_need_no_permissions(capsys: pytest.CaptureFixture[str]) -> None:
    objects = printed(capsys, "--shards", "2", "explore", "--minutes", "60")
    assert sorted(objects) == ["Job", "Namespace", "PersistentVolumeClaim", "Pod"]
    spec = objects["Job"]["spec"]
    assert (spec["completions"], spec["parallelism"]) == (2, 2)
    assert spec["template"]["spec"]["automountServiceAccountToken"] is False
    assert arguments(objects, 1)[:2] == ["verification", "explore"]
    assert arguments(objects, 1)[-4:] == ["--shard", "auto/2", "--out", "/reports/1"]


@pytest.mark.parametrize("words", [["--shards", "0", "explore"], ["--shards", "many", "explore"], ["climb"], []])
def test_a_wrong_command_prints_no_manifests(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        campaign_job.main(words)
    assert ended.value.code == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("text", ["0/2", "3/2", "x", "auto/2"])
def test_an_impossible_shard_is_refused_with_an_example(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        survey.main(["--shard", text])
    assert "For example --shard 2/3" in " ".join(capsys.readouterr().err.split())


def test_a_shard_needs_the_seed_of_all_shards(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["differential", "--shard", "1/2"])
    with pytest.raises(SystemExit):
        differential._options()
    assert "--shard needs --seed" in capsys.readouterr().err


@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_shard_of_an_exploration_comes_to_all_parts_of_the_matrix(count: int, tmp_path: Path) -> None:
    first = set()
    for index in range(1, count + 1):
        out = tmp_path / str(index)
        parts = [explore.next_part(out, Shard(index, count)) for _ in range(explore.MATRIX_PARTS)]
        assert sorted(parts) == list(range(1, explore.MATRIX_PARTS + 1))
        first |= set(parts[:10])
    assert len(first) == 10 * count  # no part runs twice before all shards are around


def test_the_results_of_shards_are_merged_once(tmp_path: Path) -> None:
    whole, shard = Store(tmp_path / "whole.jsonl"), Store(tmp_path / "shard.jsonl")
    whole.add(result(1, "killed"))
    for number in (1, 2):
        shard.add(result(number, "killed"))
    whole.take(shard)
    whole.take(shard)
    assert [one.mutant.key for one in whole.all()] == ["binder:1", "binder:2"]
