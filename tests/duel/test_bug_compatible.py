"""The deviations of a release: each has a smallest case in `deviations/` on which the reference is right and upstream
is not, and with `bug-compatible` the reference gives the release's answer.

The recorded answers are upstream's own (k8s.io/dynamic-resource-allocation v0.36.6); where `peers/bin/dra-allocator` is
built it is asked again. What kube-scheduler 1.36.2 breaks in its seat is compared in
tests/suite/test_bug_compatible_seat.py.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import orjson
import pytest

from dra_api.objects import Obj
from peers.__main__ import required
from peers.duel import compare, known, reference
from peers.duel.__main__ import Duel
from peers.duel.upstream import PROGRAM, Upstream
from reference_impl.scheduler.bug_compatible import DEVIATIONS, release

RECORDED = {
    path.stem: orjson.loads(path.read_bytes()) for path in (Path(__file__).parent / "deviations").glob("*.json")
}
# Known from the seat of kube-scheduler, where a rule of the suite is broken (below), not from an outcome in the duel.
IN_THE_SEAT = {"repeated-claim-config", "counters-by-pool-name", "rejected-keeps-counters"}
# Seen in the duel as configuration that is not the same; a class's configuration for all requests means the same.
ALIKE = {"class-config-lists-all"}
NEWEST = release("1.36")
needs_upstream = pytest.mark.skipif(
    not PROGRAM.exists() and not required(), reason="dra-allocator is not built (make peers)"
)


def outcomes(facts: list[reference.Fact]) -> list[str]:
    return [fact.outcome for fact in facts]


def test_what_the_duel_explains_is_a_deviation_or_chance() -> None:
    explained = {entry.id: entry for entry in known.load() if entry.about == "upstream"}
    deviations = {one.id: one for one in DEVIATIONS}
    assert {name for name, entry in explained.items() if not entry.chance} <= deviations.keys()
    assert {entry.id for entry in known.by_chance()} == {"exhaustive-search", "stable-pools-have-no-order"}
    assert deviations.keys() - explained.keys() == IN_THE_SEAT | ALIKE
    for name in deviations.keys() & explained.keys():
        assert explained[name].source.split(" (")[0] == deviations[name].source.split(" (")[0], name


def test_every_deviation_is_told_where_it_is_reproduced() -> None:
    for one in DEVIATIONS:
        module = import_module(f"reference_impl.scheduler.bug_compatible.{one.piece}")
        assert one.id in (module.__doc__ or ""), one.id


def test_every_deviation_has_its_case() -> None:
    assert RECORDED.keys() == {one.id for one in DEVIATIONS} - IN_THE_SEAT - ALIKE


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_right_without_and_like_upstream_with_the_setting(name: str) -> None:
    recorded = RECORDED[name]
    case: Obj = recorded["case"]
    assert outcomes(reference.ask(case)) == recorded["reference"] != recorded["upstream"]
    with_setting = outcomes(reference.ask(case, NEWEST))
    assert with_setting == recorded["upstream"]


@needs_upstream
@pytest.mark.parametrize("name", sorted(RECORDED.keys() - {"exhaustive-search"}))
def test_upstream_still_answers_so(name: str) -> None:
    with Upstream() as upstream:
        theirs, _ = compare.answers(upstream, RECORDED[name]["case"])
    assert outcomes(theirs) == RECORDED[name]["upstream"]


@needs_upstream
def test_with_the_setting_nothing_is_left_to_explain(tmp_path: Path) -> None:
    with Upstream() as upstream:
        duel = Duel(upstream, known.by_chance(), out=tmp_path, most=3, release=NEWEST)
        duel.run(300, "compatible")
        for name in RECORDED.keys() - {"exhaustive-search"}:
            duel.play(RECORDED[name]["case"])
    assert not duel.unexplained, duel.written


@needs_upstream
@pytest.mark.parametrize("name", sorted(RECORDED.keys() - {"exhaustive-search"}))
def test_without_the_setting_chance_explains_none_of_it(name: str, tmp_path: Path) -> None:
    with Upstream() as upstream:
        duel = Duel(upstream, known.by_chance(), out=tmp_path, most=0)
        duel.play(RECORDED[name]["case"])
    assert duel.unexplained
