"""The differential tests themselves: valid and repeatable cases, reduction, and the entries of known.yaml.

Cases run against upstream if `verification/bin/dra-allocator` is built; `make differential` runs many more.
"""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
import yaml

from apiserver_emulator.dra.resource_slice import ResourceSliceStrategy
from apiserver_emulator.strategy import RequestContext
from dra_api.feature_gates import ALLOCATOR_FEATURES
from dra_api.objects import Obj
from dra_api.request import User
from reference_impl.scheduler.bug_compatible import Release, release
from verification.differential import (
    claim_generator,
    cluster,
    edits,
    expressions,
    generate,
    history,
    known,
    reduce,
    reference,
    scenario,
)
from verification.differential.__main__ import Comparison
from verification.differential.compare import Disagreement
from verification.differential.reference import Fact
from verification.differential.rng import Dice
from verification.differential.upstream import PROGRAM, Upstream, program_of
from verification.prerequisites import required

needs_upstream = pytest.mark.skipif(
    not PROGRAM.exists() and not required(), reason="dra-allocator is not built (make third-party)"
)


def collected(name: str, count: int = 200) -> list[Obj]:
    return [generate.case(Dice(f"{name}/{number}")) for number in range(count)]


def test_same_seed_same_cases() -> None:
    assert collected("s") == collected("s")
    assert collected("s") != collected("t")


def test_every_case_has_an_outcome_and_both_kinds_happen() -> None:
    outcomes = {fact.outcome for case in collected("outcomes") for fact in reference.allocate(case)}
    assert {"allocated", "unallocatable", "error"} <= outcomes


def test_an_api_server_would_have_stored_every_slice() -> None:
    every_gate = dict.fromkeys({gate for gates in ALLOCATOR_FEATURES.values() for gate in gates}, True)
    context = RequestContext(
        user=User("driver"),
        verb="create",
        group="resource.k8s.io",
        plural="resourceslices",
        version="v1",
        subresource="",
        namespace="",
        name="",
        dry_run=False,
        feature_gates=every_gate,
        kubernetes_version="1.36",
        namespace_labels=lambda _: {},
        lookup=lambda *_: None,
        allowed=lambda *_: True,
        now=lambda: datetime.now(UTC),
    )
    strategy = ResourceSliceStrategy()
    for case in collected("stored", 600):
        names = [slice_["metadata"]["name"] for slice_ in case["slices"]]
        assert len(names) == len({*names})
        for slice_ in copy.deepcopy(case["slices"]):
            strategy.default(slice_)
            assert strategy.validate_create(slice_, context) == [], slice_


def world() -> Obj:
    """Two pools and two nodes, where every edit has something to change."""
    devices: list[Obj] = [
        {
            "name": f"d{number}",
            "attributes": {"n": {"int": 1}},
            "allowMultipleAllocations": True,
            "capacity": {"memory": {"value": "4Gi"}},
            "consumesCounters": [{"counterSet": "set0", "counters": {"units": {"value": "1"}}}],
        }
        for number in range(3)
    ]
    bodies: list[Obj] = [
        {"nodeName": "n0", "devices": devices[:2]},
        {"nodeName": "n0", "devices": devices[2:]},
        {"nodeName": "n0", "sharedCounters": [{"name": "set0", "counters": {"units": {"value": "3"}}}]},
    ]
    pool = {"name": "p0", "generation": 1, "resourceSliceCount": 3}
    taken = [{"request": "r", "driver": cluster.GPU, "pool": "p0", "device": "d0"}]
    return {
        "features": dict.fromkeys(generate.FEATURES, True),
        "nodes": [{"metadata": {"name": name, "labels": {"zone": "a", "number": "0"}}} for name in ("n0", "n1")],
        "slices": [
            {"metadata": {"name": f"s{at}"}, "spec": {"driver": cluster.GPU, "pool": dict(pool), **body}}
            for at, body in enumerate(bodies)
        ],
        "classes": [{"metadata": {"name": "any"}, "spec": {}}],
        "claims": [],
        "taken": taken,
    }


@pytest.mark.parametrize("change", dict.fromkeys(edits.EDITS), ids=lambda change: change.__name__)
def test_every_edit_changes_something(change: edits.Edit) -> None:
    ways = set()
    for number in range(40):
        edited = world()
        change(Dice(f"{number}"), edited, frozenset(cluster.ASPECTS))
        ways.add(orjson.dumps(edited, option=orjson.OPT_SORT_KEYS))
    assert ways - {orjson.dumps(world(), option=orjson.OPT_SORT_KEYS)}


def test_a_case_with_a_history_has_devices_in_use_that_are_listed_otherwise_or_not_at_all() -> None:
    lost = shared = 0
    for case in collected("history", 600):
        there = {
            (slice_["spec"]["driver"], slice_["spec"]["pool"]["name"], device["name"]): device
            for slice_ in case["slices"]
            for device in slice_["spec"].get("devices") or ()
        }
        for result in case["taken"]:
            device = there.get((result["driver"], result["pool"], result["device"]))
            lost += device is None
            shared += "shareID" in result and device is not None and not device.get("allowMultipleAllocations")
    assert lost > 20
    assert shared > 5


def test_what_was_allocated_before_follows_from_the_seed() -> None:
    several = 0
    for number in range(40):
        made = []
        for _ in range(2):
            case = world()
            case["classes"] = claim_generator.classes(Dice("c"), frozenset())
            case["taken"] = []
            history.allocate(Dice(f"{number}"), case, frozenset({"consumable"}))
            made.append(case["taken"])
        assert made[0] == made[1]
        several += len(made[0]) > 1
    assert several


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
    assert len(known.load(minor=0)) == len(rows)
    assert [row["id"] for row in rows if row.get("until", 99) < 36] == ["pools-in-any-order"]


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


def test_the_order_of_pools_decides_which_device_of_all_is_an_error() -> None:
    """Found by the differential tests: a device in use comes first, or one that a constraint forbids."""
    case = world()
    case["features"] = dict.fromkeys(generate.FEATURES, False)
    breach = Fact("n0", "error", "request r: cannot add device because a claim constraint would not be satisfied")
    found = Disagreement("n0", breach, Fact("n0", "unallocatable"))
    chance = known.by_chance()
    assert known.explain(chance, case, found) is None
    other = copy.deepcopy(case["slices"][0])
    other["spec"]["pool"]["name"] = "p1"
    case["slices"].append(other)
    explained = known.explain(chance, case, found)
    assert explained is not None
    assert explained.id == "stable-pools-have-no-order"
    case["features"]["FractionalCapacityRange"] = True
    assert known.explain(chance, case, found) is None


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
        comparison = Comparison(upstream, known.load(), out=tmp_path, most=3)
        comparison.run(range(300), "test")
        comparison.run_expressions(range(300), "test")
    assert not comparison.unexplained, comparison.written


# Cases on which reference or judge were wrong, or the reference with a release's deviations (`release`); in all of them
# there are devices for the claim.
FOUND = {
    path.stem: orjson.loads(path.read_bytes()) for path in sorted((Path(__file__).parent / "found").glob("*.json"))
}


def found(name: str) -> tuple[Obj, Release | None]:
    written = FOUND[name]
    return written.get("case", written), release(written["release"]) if "release" in written else None


@pytest.mark.parametrize("name", FOUND)
def test_a_found_case_is_allocated(name: str) -> None:
    case, likeness = found(name)
    assert [fact.outcome for fact in reference.allocate(case, likeness)] == ["allocated"]


@pytest.mark.parametrize("name", FOUND)
def test_a_fixed_case_stays_fixed(name: str, tmp_path: Path) -> None:
    case, likeness = found(name)
    program = program_of(likeness.name if likeness else "")
    if not program.exists() and not required():
        pytest.skip(f"{program.name} is not built (make third-party)")
    with Upstream(program) as upstream:
        entries = known.by_chance(likeness) if likeness else known.load()
        comparison = Comparison(upstream, entries, out=tmp_path, most=1, release=likeness)
        comparison.play(case)
    assert not comparison.unexplained, comparison.written


# Cases in which a deviation of upstream's shows far from where it lies; by the entry that explains them.
EXPLAINED = {
    path.stem: orjson.loads(path.read_bytes()) for path in sorted((Path(__file__).parent / "explained").glob("*.json"))
}


@needs_upstream
@pytest.mark.parametrize("name", EXPLAINED)
def test_what_a_deviation_leads_to_is_explained_by_it(name: str, tmp_path: Path) -> None:
    with Upstream() as upstream:
        comparison = Comparison(upstream, known.load(), out=tmp_path, most=1)
        comparison.play(EXPLAINED[name]["case"])
    assert comparison.explained == {EXPLAINED[name]["explained"]: 1}


@needs_upstream
@pytest.mark.parametrize(
    ("expression", "why"),
    [
        # The text has no seventh place, which `||` forgives; cel-go counts neither side of the comparison then.
        ('("".substring(7) == ("" + "") || true)', "cel-cost-of-absorbed-error"),
        # cel-go reads `[]` as a list of bool behind a comparison, wherever that stands in the operands.
        ('size("1") in [].filter(x, x > device.attributes["d"].n)', "cel-empty-list-type"),
        ('[].filter(x, x > device.attributes["d"].n).sum() > 1', "cel-empty-list-type"),
    ],
)
def test_what_cel_does_otherwise_is_known(expression: str, why: str, tmp_path: Path) -> None:
    device: Obj = {"name": "d", "attributes": {"n": {"string": "2"}}}
    question: Obj = {"expression": expression, "driver": "d", "device": device, "lists": False}
    with Upstream() as upstream:
        comparison = Comparison(upstream, known.load(), out=tmp_path, most=1)
        comparison.play_expression(question)
    assert comparison.explained == {why: 1}


@needs_upstream
def test_a_wrong_reference_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference that never allocates must not pass."""
    honest = reference.allocate
    monkeypatch.setattr(
        reference,
        "allocate",
        lambda case, release=None: [
            Fact(fact.node, "unallocatable") if fact.outcome == "allocated" else fact for fact in honest(case)
        ],
    )
    with Upstream() as upstream:
        comparison = Comparison(upstream, known.load(), out=tmp_path, most=1)
        comparison.run(range(100), "mutant")
    assert comparison.unexplained
    assert comparison.written


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
