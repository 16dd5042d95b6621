"""On random clusters: what the reference allocates is valid, and the two agree on what can be allocated."""

from __future__ import annotations

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from oracle_clusters import Scene, scenes

from dra_api.objects import name_of
from dra_conformance.oracle import could_be_allocated, judge
from dra_conformance.oracle.obstacles import obstacle


@settings(max_examples=500, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(scenes(), st.data())
def test_the_reference_and_the_judge_agree(scene: Scene, data: st.DataObject) -> None:
    for number, obj in enumerate(scene.claims):
        where = data.draw(st.sampled_from(["n1", "n1", "n2"]))
        answer = could_be_allocated(scene.case(name_of(obj)), node=where, budget=20_000)
        outcome = scene.allocate(number, where)
        event(f"reference {outcome}, judge {answer.verdict}")
        if answer.verdict == "no":
            claim = scene.case(name_of(obj)).claim
            assert obstacle(scene.cluster(), [claim], where).sentence
        if outcome == "yes":
            assert answer.verdict != "no", answer
        else:
            assert answer.verdict != "yes", (outcome, answer)
    for obj in scene.claims:
        judgement = judge(scene.case(name_of(obj)))
        assert not judgement.violations
        assert not judgement.remarks
