"""The duel's own parts: cases are valid and repeatable, reduction ends in a smallest case, every entry is told apart.

Against upstream itself it runs where `peers/bin/dra-allocator` is built; `make duel` runs many more cases.
"""

from __future__ import annotations

import copy
from pathlib import Path

import orjson
import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, seed, settings

from dra_api.objects import Obj
from peers.__main__ import required
from peers.duel import expressions, known, reduce, reference, scenario
from peers.duel.__main__ import Duel
from peers.duel.compare import Disagreement
from peers.duel.generate import cases
from peers.duel.reference import Fact
from peers.duel.upstream import PROGRAM, Upstream

QUIET = settings(
    max_examples=200,
    database=None,
    phases=[Phase.generate],
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
needs_upstream = pytest.mark.skipif(
    not PROGRAM.exists() and not required(), reason="dra-allocator is not built (make peers)"
)


def collected(name: str) -> list[Obj]:
    found: list[Obj] = []

    @seed(name)
    @QUIET
    @given(cases())
    def collect(case: Obj) -> None:
        found.append(copy.deepcopy(case))

    collect()
    return found


def test_same_seed_same_cases() -> None:
    assert collected("s") == collected("s")
    assert collected("s") != collected("t")


def test_every_case_has_an_outcome_and_both_kinds_happen() -> None:
    outcomes = {fact.outcome for case in collected("outcomes") for fact in reference.ask(case)}
    assert {"allocated", "unallocatable", "error"} <= outcomes


def test_reduction_keeps_what_matters_and_nothing_else() -> None:
    case = next(case for case in collected("reduce") if len(case["slices"]) > 1 and len(case["claims"]) > 1)

    def still(candidate: Obj) -> bool:
        return any(candidate["claims"]) and len(candidate["slices"]) >= 1

    small = reduce.smallest(case, still)
    assert len(small["claims"]) == 1
    assert len(small["slices"]) == 1
    assert small["slices"][0]["spec"].get("devices", []) == []
    assert small["taken"] == []


def test_every_entry_has_its_own_predicate() -> None:
    rows = yaml.safe_load(known.ENTRIES.read_text())
    assert [row["predicate"] for row in rows] == [*dict.fromkeys(row["predicate"] for row in rows)]
    assert {row["predicate"] for row in rows} == set(known.PREDICATES)
    assert len(known.load()) == len(rows)


def test_an_invalid_result_of_the_reference_is_never_explained_by_upstream() -> None:
    case = collected("explain")[0]
    timeout = Fact("n0", "timeout")
    fine = Disagreement("n0", timeout, Fact("n0", "allocated"))
    wrong = Disagreement("n0", timeout, Fact("n0", "allocated"), "reference is invalid: DRA-133: given away twice")
    entries = known.load()
    explained = known.explain(entries, case, fine)
    assert explained is not None
    assert explained.id == "exhaustive-search"
    assert known.explain(entries, case, wrong) is None


def test_a_written_case_reads_as_a_scenario(tmp_path: Path) -> None:
    case = collected("write")[0]
    found = Disagreement("n0", Fact("n0", "error", "no such key: n"), Fact("n0", "unallocatable"))
    path = scenario.write(tmp_path, 1, case, found)
    assert path.read_bytes().startswith(b"{")
    text = path.with_suffix(".feature").read_text()
    assert "Scenario: One case, seen from node n0" in text
    assert "Then the pod stays pending" in text


@needs_upstream
def test_reference_and_upstream_agree(tmp_path: Path) -> None:
    with Upstream() as upstream:
        duel = Duel(upstream, known.load(), out=tmp_path, most=3)
        duel.run(300, "test")
        duel.run_expressions(300, "test")
    assert not duel.unexplained, duel.written


# Cases on which reference or judge were wrong; in all of them there are devices for the claim.
FOUND = {
    path.stem: orjson.loads(path.read_bytes()) for path in sorted((Path(__file__).parent / "found").glob("*.json"))
}


@pytest.mark.parametrize("name", FOUND)
def test_what_a_duel_found_is_allocated(name: str) -> None:
    assert [fact.outcome for fact in reference.ask(FOUND[name])] == ["allocated"]


@needs_upstream
@pytest.mark.parametrize("name", FOUND)
def test_what_a_duel_found_and_was_mended_stays_so(name: str, tmp_path: Path) -> None:
    with Upstream() as upstream:
        duel = Duel(upstream, known.load(), out=tmp_path, most=1)
        duel.play(FOUND[name])
    assert not duel.unexplained, duel.written


@needs_upstream
@pytest.mark.parametrize(
    ("expression", "why"),
    [
        # The text has no seventh place, which `||` forgives; cel-go counts neither side of the comparison then.
        ('("".substring(7) == ("" + "") || true)', "cel-cost-of-absorbed-error"),
        # cel-go reads `[]` as a list of bool behind a comparison, wherever that stands in the operands.
        ('size("1") in [].filter(x, x > device.attributes["d"].n)', "cel-empty-list-type"),
    ],
)
def test_what_cel_does_otherwise_is_known(expression: str, why: str, tmp_path: Path) -> None:
    device: Obj = {"name": "d", "attributes": {"n": {"string": "2"}}}
    question: Obj = {"expression": expression, "driver": "d", "device": device, "lists": False}
    with Upstream() as upstream:
        duel = Duel(upstream, known.load(), out=tmp_path, most=1)
        duel.play_expression(question)
    assert duel.explained == {why: 1}


@needs_upstream
def test_a_wrong_reference_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference that never allocates must not pass."""
    honest = reference.ask
    monkeypatch.setattr(
        reference,
        "ask",
        lambda case, release=None: [
            Fact(fact.node, "unallocatable") if fact.outcome == "allocated" else fact for fact in honest(case)
        ],
    )
    with Upstream() as upstream:
        duel = Duel(upstream, known.load(), out=tmp_path, most=1)
        duel.run(100, "mutant")
    assert duel.unexplained
    assert duel.written


@needs_upstream
def test_cel_verdicts_have_costs() -> None:
    question: Obj = {
        "expression": "1 + 1 == 2",
        "driver": "d",
        "device": {"name": "d", "attributes": {}},
        "lists": False,
    }
    with Upstream() as upstream:
        assert expressions.theirs(upstream, question).compared == expressions.ours(question).compared
