"""Tests of the kill matrix: only a failed check of its rule kills a mutant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine

from dra_conformance.cli import call
from dra_conformance.core.errors import ExitCode, SpecificationError, UsageError
from dra_conformance.core.shard import Shard
from dra_conformance.engine import mutation, signatures
from dra_conformance.engine.mutation import Patch, mutant
from fake_nvml import build

MUTANTS = """
from dra_conformance.engine.mutation import Patch, mutant

@mutant("says-gone", rule="DRA-100", scenario="probe/good#a-node-is-there-n[1]")
def _(patch: Patch) -> None:
    \"\"\"The observer sees no nodes.\"\"\"
    patch.wrap("dra_conformance.engine.objects:ScenarioObjects.seen", lambda original: lambda self, *a: None)

@mutant("harmless", rule="DRA-100", scenario="probe/good#a-node-is-there-n[1]")
def _(patch: Patch) -> None:
    \"\"\"Nothing that a scenario could see.\"\"\"
    patch.wrap("dra_conformance.engine.names:Names.text", lambda original: original)

@mutant("only-luck", rule="DRA-100", scenario="probe/good#a-node-is-there-n[1]")
def _(patch: Patch) -> None:
    \"\"\"The step itself breaks, which is an error and proves nothing.\"\"\"
    patch.wrap("dra_conformance.engine.objects:ScenarioObjects.seen", lambda original: lambda self, *a: 1 / 0)

@mutant("dies", rule="DRA-100", scenario="probe/good#a-node-is-there-n[1]")
def _(patch: Patch) -> None:
    \"\"\"Takes its process with it.\"\"\"
    import os
    os._exit(9)

@mutant("misses", rule="DRA-100", scenario="probe/good#a-node-is-there-n[1]")
def _(patch: Patch) -> None:
    \"\"\"Patches what is not there.\"\"\"
    patch.replace("dra_conformance.engine.world:World.nothing", None)

@mutant("stale", rule="DRA-100", scenario="probe/good#a-node-is-there-n[1]")
def _(patch: Patch) -> None:
    \"\"\"Takes other arguments than what it replaces, so it would break for its own sake.\"\"\"
    patch.wrap("dra_conformance.engine.objects:ScenarioObjects.seen", lambda original: lambda self, name: None)
"""


def test_the_matrix_names_the_survivors_in_json(cli: CommandLine) -> None:
    (cli.folder / "own").mkdir()
    (cli.folder / "own" / "m.py").write_text(MUTANTS)
    cli.features("good")
    code, out, err = cli.run("mutants", "--mutants", "own", "--features", "probe", "--format", "json", "--jobs", "2")
    assert code == ExitCode.FAILURES
    rows = json.loads(out)["mutants"]
    assert all(list(row) == ["id", "rule", "scenario", "status"] for row in rows)
    assert {row["id"]: row["status"] for row in rows} == {
        "dies": "survived",
        "harmless": "survived",
        "misses": "survived",
        "only-luck": "survived",
        "says-gone": "killed",
        "stale": "survived",
    }
    assert {row["scenario"] for row in rows} == {"probe/good#a-node-is-there-n[1]"}
    assert "dies survived: its process ended with exit code 9" in err
    assert "misses survived: the mutant's target dra_conformance.engine.world:World.nothing does not exist" in err
    assert (
        "stale survived: the mutant of dra_conformance.engine.objects:ScenarioObjects.seen cannot be called as" in err
    )
    assert "only-luck survived: probe/good#a-node-is-there-n[1] error:" in err


def test_the_exit_code_is_0_if_all_are_killed(cli: CommandLine) -> None:
    (cli.folder / "own").mkdir()
    (cli.folder / "own" / "m.py").write_text(MUTANTS.split('@mutant("harmless')[0])
    cli.features("good")
    code, out, _ = cli.run("mutants", "--mutants", "own", "--features", "probe")
    assert code == ExitCode.OK
    assert out.endswith("\n1 of 1 mutants killed\n")


LUCKY = """
from pathlib import Path
from typing import Any
from dra_conformance.engine.mutation import Patch, mutant

@mutant("sometimes", rule="DRA-100", scenario="probe/good#a-node-is-there-n[1]")
def _(patch: Patch) -> None:
    \"\"\"The observer sees no nodes, but not the first time.\"\"\"
    if (seen := Path("seen")).exists():
        patch.wrap("dra_conformance.engine.objects:ScenarioObjects.seen", lambda original: lambda self, *a: None)
    seen.touch()
"""


def test_a_survivor_is_run_again_alone_and_the_matrix_shows_it(cli: CommandLine) -> None:
    (cli.folder / "own").mkdir()
    (cli.folder / "own" / "m.py").write_text(LUCKY)
    cli.features("good")
    code, out, _ = cli.run("mutants", "--mutants", "own", "--features", "probe")
    assert code == ExitCode.OK
    assert "sometimes was killed only on retry, alone\n" in out
    assert out.endswith("\n1 of 1 mutants killed, 1 of them only on retry\n")


def test_listing_runs_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(MUTANTS)
    assert call(["mutants", "--mutants", str(tmp_path), "--list"]) == ExitCode.OK
    assert capsys.readouterr().out.endswith("\n6 mutants\n")


def test_shards_share_the_mutants_out_without_loss() -> None:
    ids = [one.id for one in mutation.load()]
    parts = [{name for name in ids if mutation.in_shard(name, Shard(part, 3))} for part in (1, 2, 3)]
    assert set.union(*parts) == set(ids)
    assert sum(map(len, parts)) == len(ids)
    assert min(map(len, parts)) > len(ids) / 4  # equal parts, as far as a hash goes


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "one/2", "1/0", "-1/2"])
def test_a_malformed_shard_is_a_usage_error(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["mutants", "--shard", text]) == ExitCode.USAGE
    assert f"--shard {text}" in capsys.readouterr().err.replace("'", "")


def test_two_mutants_with_one_id_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(MUTANTS)
    (tmp_path / "b.py").write_text(MUTANTS)
    with pytest.raises(SpecificationError, match="two mutants have the id says-gone"):
        mutation.load(tmp_path)
    with pytest.raises(UsageError, match="no folder of mutants"):
        mutation.load(tmp_path / "missing")


def test_a_mutant_has_a_rule_and_a_purpose() -> None:
    with pytest.raises(SpecificationError, match="is not a rule id"):
        mutant("x", rule="nonsense")

    def silent(patch: Patch) -> None:
        return

    with pytest.raises(SpecificationError, match="has no docstring"):
        mutant("x", rule="DRA-001")(silent)


class Thing:
    """A class to patch."""

    def method(self) -> str:
        return "m"

    @staticmethod
    def static() -> str:
        return "s"

    @classmethod
    def of_class(cls) -> str:
        return cls.__name__

    @property
    def attribute(self) -> str:
        return "p"


@pytest.mark.parametrize("name", ["method", "static", "of_class", "attribute"])
def test_wrapping_keeps_the_kind_of_an_attribute(name: str, tmp_path: Path) -> None:
    original = Thing.__dict__[name]
    try:
        Patch(tmp_path).wrap(f"{__name__}:Thing.{name}", lambda inner: lambda *args: inner(*args) + "!")
        found = getattr(Thing(), name)
        assert (found if name == "attribute" else found()).endswith("!")
        assert type(Thing.__dict__[name]) is type(original)
    finally:
        setattr(Thing, name, original)


class Checked(Patch):
    """Finds the targets of a mutant and changes nothing."""

    def __init__(self, scratch: Path) -> None:
        super().__init__(scratch)
        self.targets = 0

    def _put(self, target: str, holder: Any, name: str, original: Any, new: Any, kind: Any = None) -> None:
        assert not signatures.difference(original, new), target
        self.targets += 1

    def source(self, file: str, old: str, new: str) -> None:
        assert build.changed(file, old, new)
        self.targets += 1


def test_every_mutant_has_its_target(tmp_path: Path) -> None:
    """CI runs a part of the mutants: one that cannot be applied any more would go unnoticed."""
    broken = {}
    for one in mutation.load(None):
        patch = Checked(tmp_path)
        try:
            one.apply(patch)
        except Exception as error:
            broken[one.id] = repr(error)
        else:
            if not patch.targets:
                broken[one.id] = "it changes nothing"
    assert broken == {}
