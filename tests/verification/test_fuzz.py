"""The fuzzed parsers read their committed corpora, and trees are mutated as promised. The campaigns are `make fuzz`."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from dra_conformance.core.errors import ExitCode
from verification.fuzz import command, page, trees
from verification.fuzz.outcome import Fuzzed
from verification.fuzz.target import Target
from verification.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_reads_its_corpus(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    corpus = command.corpus(name)
    assert corpus
    read = TARGETS[name].prepare()
    for data in corpus:
        read(data)


def test_every_corpus_has_its_parser() -> None:
    assert {path.stem for path in command.CORPUS.iterdir()} == set(TARGETS)


def test_a_tree_is_mutated_repeatably_and_within_its_length() -> None:
    document = orjson.dumps({"a": [1, "b", {"c": None}], "d": True})
    found = [trees.mutate(document, longest=80, seed=seed) for seed in range(300)]
    assert found == [trees.mutate(document, longest=80, seed=seed) for seed in range(300)]
    changed = [each for each in found if each is not None]
    assert len(set(changed)) > 100
    assert all(len(each) <= 80 and orjson.loads(each) is not None for each in changed)
    for text in (b"", b"{", b"[]", b"1"):
        assert trees.mutate(text, longest=80, seed=1) is None


def test_a_finding_names_the_error_and_the_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = (
        b"\n === Uncaught Python exception: ===\nValueError: no\nTraceback\n==1== ERROR\n"
        b"artifact_prefix='x'; Test unit written to /x/cdi-crash-1\n"
    )
    monkeypatch.setattr(command, "_output", lambda *_: output)
    found = command.fuzz(TARGETS["cdi"], inputs=10, seed=1, out=tmp_path)
    assert (found.finding, found.saved) == ("ValueError: no", "/x/cdi-crash-1")
    monkeypatch.setattr(command, "_output", lambda *_: b"Done 10 runs in 2 second(s)")
    done = command.fuzz(TARGETS["cdi"], inputs=10, seed=1, out=tmp_path)
    assert (done.inputs, done.seconds, done.finding) == (10, 2, "")
    monkeypatch.setattr(command, "_output", lambda *_: b"ModuleNotFoundError: no such module")
    assert "no such module" in command.fuzz(TARGETS["cdi"], inputs=10, seed=1, out=tmp_path).finding


@pytest.mark.parametrize("words", [["nonsense"], ["--inputs", "0"], ["--seed", "0"]])
def test_a_wrong_command_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(words)
    assert ended.value.code == 2


def test_the_page_has_the_newest_run_of_each_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(page, "commit", lambda: "abc-dirty")
    page.write([Fuzzed("cdi", inputs=30_000, seconds=9), Fuzzed("cel", finding="ValueError: no")], seed=7)
    page.write([Fuzzed("cel", inputs=20, seconds=1)], seed=8)
    text = page.PAGE.read_text()
    assert "30,020 inputs in the newest run of each parser: no finding." in text
    found = page.rows(text)
    assert {name: (row.run.inputs, row.seed, row.commit) for name, row in found.items()} == {
        "cdi": (30_000, 7, "abc-dirty"),
        "cel": (20, 8, "abc-dirty"),
    }
    page.write([Fuzzed("cdi", finding="ValueError: no")], seed=9)
    assert "20 inputs in the newest run of each parser: 1 findings." in page.PAGE.read_text()
    assert page.rows(page.PAGE.read_text())["cdi"].run.finding == "ValueError: no"


def test_the_committed_page_has_every_parser_and_a_million_inputs() -> None:
    found = page.rows(page.PAGE.read_text())
    assert set(found) == set(TARGETS)
    assert [name for name, row in found.items() if row.run.finding] == []
    assert sum(row.run.inputs for row in found.values()) >= 1_000_000


def test_without_atheris_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert command.main(["cdi", "--out", str(tmp_path / "out")]) == ExitCode.USAGE
    assert "requirements/fuzz.txt" in capsys.readouterr().err


def test_findings_make_the_command_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fuzz(target: Target, **_: object) -> Fuzzed:
        return Fuzzed(target.name, finding="ValueError: no", saved="/x/input")

    found: Callable[..., object] = fuzz
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object())
    monkeypatch.setattr(command, "fuzz", found)
    assert command.main(["cdi", "--out", str(tmp_path / "out")]) == ExitCode.FAILURES
    out = capsys.readouterr().out
    assert "FINDING: ValueError: no" in out
    assert "verification.fuzz.child cdi /x/input" in out
    assert out.endswith("fuzz: 0 inputs, 1 findings\n")
