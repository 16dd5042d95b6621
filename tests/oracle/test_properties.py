"""On random clusters: what the reference allocates is valid, and the two agree on what can be allocated."""

from __future__ import annotations

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from oracle_clusters import Scene, scenes

from dra_api.objects import name_of
from dra_conformance.oracle import check, could_all_be_allocated, could_be_allocated
from dra_conformance.oracle.obstacles import obstacle, obstacles


@settings(max_examples=500, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(scenes(), st.data())
def test_the_reference_and_the_checker_agree(scene: Scene, data: st.DataObject) -> None:
    for number, obj in enumerate(scene.claims):
        where = data.draw(st.sampled_from(["n1", "n1", "n2"]))
        answer = could_be_allocated(scene.case(name_of(obj)), node=where, budget=20_000)
        outcome = scene.allocate(number, where)
        event(f"reference {outcome}, checker {answer.verdict}")
        if answer.verdict == "no":
            claim = scene.case(name_of(obj)).claim
            assert obstacle(scene.cluster(), [claim], where).sentence
        if outcome == "yes":
            assert answer.verdict != "no", answer
        else:
            assert answer.verdict != "yes", (outcome, answer)
    for obj in scene.claims:
        verdict = check(scene.case(name_of(obj)))
        assert not verdict.violations
        assert not verdict.remarks


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(scenes())
def test_they_agree_on_several_claims_of_one_pod(scene: Scene) -> None:
    claims = [scene.case(name_of(obj)).claim for obj in scene.claims]
    answer = could_all_be_allocated(scene.cluster(), claims, node="n1", budget=20_000)
    outcome = scene.allocate(range(len(claims)), "n1")
    event(f"reference {outcome}, checker {answer.verdict}")
    assert (outcome, answer.verdict) not in {("yes", "no"), ("no", "yes"), ("error", "yes")}
    if outcome == "yes":
        assert not [found for claim in scene.claims for found in check(scene.case(name_of(claim))).violations]
    if answer.verdict == "no":
        assert obstacles(scene.cluster(), claims, "n1")


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(scenes())
def test_a_witness_uses_devices_of_the_node_for_every_request(scene: Scene) -> None:
    """What the search says would do has devices of the node for every request, none of them twice in a request."""
    for obj in scene.claims:
        answer = could_be_allocated(scene.case(name_of(obj)), budget=20_000)
        if answer.verdict != "yes":
            continue
        picks = [(pick.request, pick.device) for pick in answer.witness]
        assert len(set(picks)) == len(picks)
        served = {request.partition("/")[0] for request, _ in picks}
        assert served == {request["name"] for request in obj["spec"]["devices"]["requests"]}
