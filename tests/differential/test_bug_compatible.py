"""The deviations of a release: each has a smallest case in `deviations/` on which the reference is right and upstream
is not, and with `bug-compatible` the reference gives the release's answer.

The recorded answers are upstream's own, of the release that the case names (1.37 where it names none); where
`verification/bin/dra-allocator` of that release is built it is asked again. What kube-scheduler 1.36.2 breaks in its
component is compared in tests/engine/test_bug_compatible_component.py.
"""

from __future__ import annotations

import copy
import re
from importlib import import_module
from pathlib import Path

import orjson
import pytest

from dra_api.objects import Obj
from reference_impl.scheduler.bug_compatible import DEVIATIONS, RELEASES, Release, release
from verification.differential import compare, known, reference
from verification.differential.__main__ import Comparison
from verification.differential.upstream import PROGRAM, Upstream, program_of
from verification.prerequisites import required

RECORDED = {
    path.stem: orjson.loads(path.read_bytes()) for path in (Path(__file__).parent / "deviations").glob("*.json")
}
# Seen in a rule that kube-scheduler breaks (below), not in an outcome of the differential tests.
IN_THE_COMPONENT = {
    "repeated-claim-config",
    "counters-by-pool-name",
    "negative-shares",
    "ranges-in-64-bits",
    "shares-without-capacity",
}
# Another form of the configuration with the same meaning: a class's configuration for all requests.
ALIKE = {"class-config-lists-all"}
# Chance, so that no case shows it; and what no outcome shows (below).
NO_CASE = {"pools-in-any-order", "tolerations-not-recorded"}
NEWEST = release("1.37")
ASKED_AGAIN = sorted(RECORDED.keys() - {"exhaustive-search"})
needs_upstream = pytest.mark.skipif(
    not PROGRAM.exists() and not required(), reason="dra-allocator is not built (make third-party)"
)


def release_of(name: str) -> Release:
    """The release whose answer is recorded."""
    return release(RECORDED[name].get("release", "1.37"))


def upstream_of(likeness: Release) -> Upstream:
    """The library of a release, or a skip where it is not built."""
    if not program_of(likeness.name).exists() and not required():
        pytest.skip(f"{program_of(likeness.name).name} is not built (make third-party)")
    return Upstream(program_of(likeness.name))


def outcomes(facts: list[reference.Fact]) -> list[str]:
    return [fact.outcome for fact in facts]


def test_what_the_comparison_explains_is_a_deviation_or_chance() -> None:
    explained = {entry.id: entry for entry in known.load() if entry.about == "upstream"}
    deviations = {one.id: one for one in DEVIATIONS}
    assert {name for name, entry in explained.items() if not entry.chance} <= deviations.keys()
    assert {entry.id for entry in known.by_chance()} == {"exhaustive-search", "stable-pools-have-no-order"}
    newest = {one.id for one in DEVIATIONS if "1.37" in one.releases}
    assert newest - explained.keys() == (IN_THE_COMPONENT | ALIKE) & newest
    for name in deviations.keys() & explained.keys() & newest:
        assert explained[name].source.split(" (")[0] == deviations[name].source.split(" (")[0], name


def test_every_deviation_is_documented_where_it_is_reproduced() -> None:
    for one in DEVIATIONS:
        module = import_module(f"reference_impl.scheduler.bug_compatible.{one.module}")
        assert one.id in (module.__doc__ or ""), one.id


def test_every_deviation_has_its_number_in_the_document() -> None:
    table = (Path(__file__).parents[2] / "docs" / "explanation" / "third-party-results.md").read_text()
    rows = {row[1]: row[2] for row in re.finditer(r"^\| `([a-z0-9-]+)`: (.*) \|$", table, re.MULTILINE)}
    for one in DEVIATIONS:
        number = one.source.removeprefix("kubernetes/kubernetes")
        assert re.match(r"#\d+( \(.+\))?$", number), one.id
        assert one.place or "(" not in number, f"{one.id}: no issue, so where is it?"
        text, _, where, rule = rows[one.id].split(" | ")
        assert (text, rule) == (one.text, one.rule or "—"), one.id
        assert where.startswith(number), one.id


def test_every_deviation_has_its_case() -> None:
    assert RECORDED.keys() == {one.id for one in DEVIATIONS} - IN_THE_COMPONENT - ALIKE - NO_CASE
    for name in RECORDED:
        assert release_of(name).has(name)


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_right_without_and_like_upstream_with_the_setting(name: str) -> None:
    recorded = RECORDED[name]
    case: Obj = recorded["case"]
    assert outcomes(reference.allocate(case)) == recorded["reference"] != recorded["upstream"]
    likeness = release_of(name)
    assert outcomes(reference.allocate(case, likeness)) == recorded["upstream"]
    without_this = Release(likeness.name, likeness.deviations - {name})
    if "release" in recorded:  # the others may be hidden by another deviation of theirs
        assert outcomes(reference.allocate(case, without_this)) != recorded["upstream"]


@pytest.mark.parametrize("name", ASKED_AGAIN)
def test_upstream_still_answers_so(name: str) -> None:
    with upstream_of(release_of(name)) as upstream:
        theirs, _ = compare.answers(upstream, RECORDED[name]["case"])
    assert outcomes(theirs) == RECORDED[name]["upstream"]


@pytest.mark.parametrize("likeness", [release(name) for name in RELEASES], ids=RELEASES)
def test_with_the_setting_nothing_is_left_to_explain(likeness: Release, tmp_path: Path) -> None:
    with upstream_of(likeness) as upstream:
        comparison = Comparison(upstream, known.by_chance(likeness), out=tmp_path, most=3, release=likeness)
        comparison.run(range(300 if likeness == NEWEST else 150), "compatible")
        for name in ASKED_AGAIN:
            if release_of(name) == likeness:
                comparison.play(RECORDED[name]["case"])
    assert not comparison.unexplained, comparison.written


@pytest.mark.parametrize("name", ["1.34", "1.35"])
def test_results_for_all_are_discarded_before_the_search(name: str) -> None:
    """Found by the differential tests: an earlier alternative may take what All refused."""
    case: Obj = copy.deepcopy(RECORDED["selectors-of-earlier-alternative"]["case"])
    first, second = case["claims"][0]["spec"]["devices"]["requests"][1]["firstAvailable"]
    first |= {"allocationMode": "ExactCount", "count": 1}
    first.pop("selectors")
    second["selectors"][0]["cel"]["expression"] = "false"
    assert outcomes(reference.allocate(case, release(name))) == ["allocated"]
    with upstream_of(release(name)) as upstream:
        theirs, _ = compare.answers(upstream, case, release(name))
    assert outcomes(theirs) == ["allocated"]


def test_1_34_does_not_record_tolerations() -> None:
    toleration = {"key": "k", "operator": "Exists"}
    case: Obj = copy.deepcopy(RECORDED["distinct-forgets"]["case"])
    case["slices"] = case["slices"][:1]
    case["claims"] = [
        {
            "metadata": {"name": "c", "namespace": "default"},
            "spec": {
                "devices": {
                    "requests": [
                        {"name": "r", "exactly": {"deviceClassName": class_name, "tolerations": [toleration]}}
                        for class_name in [case["classes"][0]["metadata"]["name"]]
                    ]
                }
            },
        }
    ]
    request = case["claims"][0]["spec"]["devices"]["requests"][0]["exactly"]
    request |= {"allocationMode": "ExactCount", "count": 1}
    told = {}
    for name in ("1.34", "1.35"):
        (ours,) = reference.allocate(case, release(name))
        told[name] = [result.get("tolerations") for result in ours.allocations[0]["devices"]["results"]]
        if program_of(name).exists() or required():
            with Upstream(program_of(name)) as upstream:
                (theirs,), _ = compare.answers(upstream, case, release(name))
            assert [one.get("tolerations") for one in theirs.allocations[0]["devices"]["results"]] == told[name]
    assert told == {"1.34": [None], "1.35": [[toleration]]}


@needs_upstream
@pytest.mark.parametrize("name", [name for name in ASKED_AGAIN if release_of(name) == NEWEST])
def test_without_the_setting_chance_explains_none_of_it(name: str, tmp_path: Path) -> None:
    with Upstream() as upstream:
        comparison = Comparison(upstream, known.by_chance(), out=tmp_path, most=0)
        comparison.play(RECORDED[name]["case"])
    assert comparison.unexplained
