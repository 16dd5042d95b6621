"""What the user of a ComputeDomain sees of its problems: conditions, and changes of cliques that no daemon made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from fabric_bench import ROOT, Bench, bench

from dra_api.clock import AdvanceableClock
from dra_api.informer import Change
from dra_api.objects import COMPUTE_DOMAINS, CRDS, EVENTS, NAMESPACES, RESOURCE_CLAIM_TEMPLATES, Obj
from reference_impl.compute_domain.controller import ComputeDomainController
from reference_impl.compute_domain.edits import CliqueEdits
from reference_impl.compute_domain.objects import DRIVER_NAMESPACE
from reference_impl.compute_domain.problems import Problem, conditions

TAKEN = Problem("NameTaken", "ResourceClaimTemplate default/channel exists")
CHANGED = Problem("AddressChanged", "the address of n1 was changed")


def domain(*found: Obj) -> Obj:
    return {"metadata": {"generation": 3}, "status": {"status": "NotReady", "conditions": list(found)}}


def test_a_domain_that_never_had_a_problem_has_no_condition() -> None:
    assert conditions(domain(), [], ready=True, now="T1") == []


def test_a_condition_changes_with_its_cause_and_keeps_those_of_others() -> None:
    other = {"type": "Accepted", "status": "True"}
    (kept, made) = conditions(domain(other), [TAKEN, TAKEN], ready=False, now="T1")
    assert kept == other
    assert made == {
        "type": "Degraded",
        "status": "True",
        "reason": "NameTaken",
        "message": TAKEN.message,
        "observedGeneration": 3,
        "lastTransitionTime": "T1",
    }
    # Another cause is no transition.
    (_, changed) = conditions(domain(other, made), [CHANGED], ready=False, now="T2")
    assert (changed["reason"], changed["lastTransitionTime"]) == ("AddressChanged", "T1")
    (_, resolved) = conditions(domain(other, made), [], ready=False, now="T2")
    assert (resolved["status"], resolved["lastTransitionTime"]) == ("False", "T2")
    assert TAKEN.message in resolved["message"]
    assert conditions(domain(other, resolved), [], ready=True, now="T3") == [other, resolved]


def test_what_is_over_stays_until_the_domain_is_ready() -> None:
    (made,) = conditions(domain(), [CHANGED], ready=False, now="T1")
    assert conditions(domain(made), [], ready=False, now="T2") == [made]
    (resolved,) = conditions(domain(made), [], ready=True, now="T2")
    assert resolved["status"] == "False"


# -- changes of cliques ------------------------------------------------------------------------------------------------


def clique(address: str, *owners: str) -> Obj:
    references = [{"uid": owner} for owner in owners]
    return {
        "metadata": {"name": "uid.rack.0", "uid": "c", "ownerReferences": references},
        "daemons": [{"nodeName": "n1", "ipAddress": address}],
    }


def pod(address: str, *, node: str = "n1", uid: str = "p", **metadata: Any) -> Obj:
    return {"metadata": {"name": uid, "uid": uid, **metadata}, "spec": {"nodeName": node}, "status": {"podIP": address}}


def noted(before: str, after: str) -> tuple[CliqueEdits, AdvanceableClock]:
    clock = AdvanceableClock()
    edits = CliqueEdits(clock)
    edits.note("uid", Change("MODIFIED", clique(after), clique(before)))
    return edits, clock


def test_an_address_that_the_daemon_has_corrected_was_changed_by_hand() -> None:
    edits, _ = noted("10.0.0.1", "192.0.2.99")
    (found,), wait = edits.judge("uid", [clique("10.0.0.1")], [pod("10.0.0.1")])
    assert (found.reason, wait) == ("AddressChanged", 0.0)
    assert "n1" in found.message
    assert not edits.has("uid")


@pytest.mark.parametrize(
    "pods", [[pod("10.0.0.2")], [pod("10.0.0.1", deletionTimestamp="T"), pod("10.0.0.2", uid="q")], []]
)
def test_the_address_of_a_new_daemon_is_its_own(pods: list[Obj]) -> None:
    """Also beside its predecessor that ends; an entry without a pod is another problem."""
    edits, _ = noted("10.0.0.1", "10.0.0.2")
    assert edits.judge("uid", [clique("10.0.0.2")], pods) == ([], 0.0)


@pytest.mark.parametrize("address", ["", "10.0.0.1"])
def test_a_daemon_may_write_its_address_before_its_kubelet(address: str) -> None:
    edits, clock = noted("10.0.0.1", "10.0.0.2")
    found, wait = edits.judge("uid", [clique("10.0.0.2")], [pod(address)])
    assert found == []
    assert wait == pytest.approx(5.0, abs=1.0)
    clock.advance(wait / 2)
    assert edits.judge("uid", [clique("10.0.0.2")], [pod("10.0.0.2")]) == ([], 0.0)


def test_an_address_that_stays_wrong_is_reported_later() -> None:
    edits, clock = noted("10.0.0.1", "192.0.2.99")
    _, wait = edits.judge("uid", [clique("192.0.2.99")], [pod("10.0.0.1")])
    clock.advance(wait)
    (found,), wait = edits.judge("uid", [clique("192.0.2.99")], [pod("10.0.0.1")])
    assert (found.reason, wait) == ("AddressChanged", 0.0)


@pytest.mark.parametrize(
    ("pods", "reasons"),
    [
        ([pod("10.0.0.1")], ["CliqueDeleted"]),
        ([pod("10.0.0.1", deletionTimestamp="T")], []),
        ([pod("10.0.0.1", uid="another")], []),
        ([], []),
    ],
)
def test_the_garbage_collector_deletes_no_clique_whose_daemons_run(pods: list[Obj], reasons: list[str]) -> None:
    edits = CliqueEdits(AdvanceableClock())
    edits.note("uid", Change("DELETED", clique("10.0.0.1", "p")))
    found, _ = edits.judge("uid", [], pods)
    assert [one.reason for one in found] == reasons


# -- NVIDIA's CRD ------------------------------------------------------------------------------------------------------


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Bench]:
    """A control plane whose ComputeDomains have no conditions."""
    with bench(tmp_path) as made:
        for name in ("computedomains", "computedomaincliques"):
            crd = yaml.safe_load((ROOT / f"fixtures/crds/{name}.yaml").read_text())
            properties = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
            properties.get("status", {"properties": {}})["properties"].pop("conditions", None)
            made.client.create(CRDS, crd)
        assert made.eventually(lambda: made.client.serves(COMPUTE_DOMAINS))
        made.client.create(NAMESPACES, {"metadata": {"name": DRIVER_NAMESPACE}})
        yield made


def test_without_conditions_in_the_crd_a_problem_is_an_event_only(lab: Bench) -> None:
    template = {
        "metadata": {"name": "channel", "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x"}}]}}},
    }
    lab.client.create(RESOURCE_CLAIM_TEMPLATES, template)
    lab.run(ComputeDomainController(lab.client, clock=lab.clock))
    spec: Obj = {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "channel"}}}
    lab.client.create(COMPUTE_DOMAINS, {"metadata": {"name": "cd", "namespace": "default"}, "spec": spec})

    def events() -> list[Obj]:
        return [one for one in lab.client.list(EVENTS, "default").items if one["reason"] == "NameTaken"]

    assert lab.eventually(events, EVENTS)
    status = {"status": "NotReady"}
    assert lab.eventually(
        lambda: lab.client.get(COMPUTE_DOMAINS, "cd", "default").get("status") == status, COMPUTE_DOMAINS
    )
    version = lab.client.get(COMPUTE_DOMAINS, "cd", "default")["metadata"]["resourceVersion"]
    # The later attempts write neither the status nor the event again.
    for _ in range(4):
        lab.clock.advance(5.0)
    assert lab.client.get(COMPUTE_DOMAINS, "cd", "default")["metadata"]["resourceVersion"] == version
    assert [one["count"] for one in events()] == [1]
    lab.client.delete(RESOURCE_CLAIM_TEMPLATES, "channel", "default")
    for _ in range(4):
        lab.clock.advance(5.0)

    def is_ready() -> bool:
        return bool(lab.client.get(COMPUTE_DOMAINS, "cd", "default").get("status") == {"status": "Ready"})

    assert lab.eventually(is_ready, COMPUTE_DOMAINS)
