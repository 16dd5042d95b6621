"""Taint eviction on the embedded control plane: rules DRA-213 to DRA-229."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from small_cluster import DRIVER, Cluster, condition, emulated_cluster

from dra_api.client import KubeClient
from dra_api.clock import AdvanceableClock, timestamp
from dra_api.objects import DEVICE_TAINT_RULES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, Obj
from reference_impl.taint_eviction import TaintEviction, TaintEvictionOptions
from reference_impl.taint_eviction.rate import EvictionRate
from reference_impl.taint_eviction.rule_status import RuleFacts, condition_for
from reference_impl.taint_eviction.taints import DeviceId, selects, tolerates

NO_EXECUTE = {"key": "example.com/bad", "value": "v1", "effect": "NoExecute"}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with emulated_cluster(tmp_path, nodes=("n1",)) as found:
        yield found


def eviction(cluster: Cluster, period: float = 0.3) -> TaintEviction:
    client = KubeClient(cluster.transport, user_agent="taints")
    return TaintEviction(client, clock=cluster.clock, options=TaintEvictionOptions(rule_status_period=period))


def user(
    cluster: Cluster, name: str, device: str = "d0", tolerations: list[Obj] | None = None, node: str = "n1"
) -> Obj:
    """A pod that uses one device; the finalizer lets the test see it after its deletion."""
    cluster.claim(f"c-{name}")
    pod = cluster.pod(name, claims={"gpu": f"c-{name}"}, finalizers=["example.com/keep"])
    result = {"tolerations": tolerations} if tolerations else {}
    cluster.allocate(f"c-{name}", cluster.allocation(device, **result), pod)
    if node:
        cluster.client.bind(pod, node)
        cluster.run_pod(name)
    return pod


def taint(cluster: Cluster, *devices: str, effect: str = "NoExecute") -> None:
    found = cluster.client.list(RESOURCE_SLICES).items[0]
    for device in found["spec"]["devices"]:
        if device["name"] in devices:
            device["taints"] = [{**NO_EXECUTE, "effect": effect}]
        else:
            device.pop("taints", None)
    cluster.client.update(RESOURCE_SLICES, found)


def leaves(cluster: Cluster, name: str) -> Obj:
    return cluster.wait(PODS, name, lambda obj: obj["metadata"].get("deletionTimestamp"))


def stays(cluster: Cluster, name: str, seconds: float = 0.3) -> None:
    cluster.settle(seconds)
    assert not cluster.get(PODS, name)["metadata"].get("deletionTimestamp")


def test_a_taint_evicts_the_user_of_that_device_alone(cluster: Cluster) -> None:
    cluster.run(eviction(cluster))
    cluster.slice("d0", "d1")
    user(cluster, "p", "d0")
    user(cluster, "q", "d1")
    taint(cluster, "d0")
    pod = leaves(cluster, "p")
    found = condition(pod, "DisruptionTarget")
    assert (found["status"], found["reason"], found["message"]) == (
        "True",
        "DeletionByDeviceTaintManager",
        "Device Taint manager: deleting due to NoExecute taint",
    )
    assert cluster.wait_event("p", "DeviceTaintManagerEviction") == "Marking for deletion"
    stays(cluster, "q")


def test_a_taint_that_was_there_first_evicts_too(cluster: Cluster) -> None:
    cluster.slice("d0", taints=[NO_EXECUTE])
    user(cluster, "p")
    cluster.run(eviction(cluster))
    leaves(cluster, "p")


@pytest.mark.parametrize("effect", ["NoSchedule", "None"])
def test_other_effects_leave_pods_alone(cluster: Cluster, effect: str) -> None:
    cluster.run(eviction(cluster))
    cluster.slice("d0")
    user(cluster, "p")
    taint(cluster, "d0", effect=effect)
    stays(cluster, "p")


def test_a_pod_without_a_node_is_left_to_the_scheduler(cluster: Cluster) -> None:
    cluster.run(eviction(cluster))
    cluster.slice("d0", taints=[NO_EXECUTE])
    pod = user(cluster, "p", node="")
    stays(cluster, "p")
    cluster.client.bind(pod, "n1")
    leaves(cluster, "p")


def test_an_old_generation_counts_for_nothing(cluster: Cluster) -> None:
    cluster.slice("d0", taints=[NO_EXECUTE], generation=1)
    cluster.slice("d0", generation=2)
    user(cluster, "p")
    cluster.run(eviction(cluster))
    stays(cluster, "p")


def test_toleration_seconds_run_from_the_time_the_taint_was_added(cluster: Cluster) -> None:
    cluster.run(eviction(cluster))
    cluster.slice("d0")
    seconds = {"key": "example.com/bad", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    user(cluster, "p", tolerations=[seconds])
    user(cluster, "q", tolerations=[{**seconds, "tolerationSeconds": 60}, {**seconds, "tolerationSeconds": 300}])
    added = timestamp(cluster.clock.now() - timedelta(seconds=10))
    found = cluster.client.list(RESOURCE_SLICES).items[0]
    found["spec"]["devices"][0]["taints"] = [{**NO_EXECUTE, "timeAdded": added}]
    cluster.client.update(RESOURCE_SLICES, found)
    stays(cluster, "p", 0.2)
    cluster.clock.advance(15)
    stays(cluster, "p", 0.2)
    cluster.clock.advance(6)
    leaves(cluster, "p")
    stays(cluster, "q", 0.1)
    cluster.clock.advance(31)
    leaves(cluster, "q")


def test_a_toleration_without_seconds_lets_the_pod_stay(cluster: Cluster) -> None:
    cluster.run(eviction(cluster))
    cluster.slice("d0", taints=[NO_EXECUTE])
    user(cluster, "p", tolerations=[{"key": "example.com/bad", "operator": "Exists", "effect": "NoExecute"}])
    cluster.clock.advance(3600)
    stays(cluster, "p")


def test_a_toleration_without_effect_does_not_keep_the_pod(cluster: Cluster) -> None:
    cluster.run(eviction(cluster))
    cluster.slice("d0", taints=[NO_EXECUTE])
    user(cluster, "p", tolerations=[{"key": "example.com/bad", "operator": "Exists"}])
    leaves(cluster, "p")


def test_a_taint_that_goes_cancels_the_eviction(cluster: Cluster) -> None:
    part = eviction(cluster)
    cluster.run(part)
    cluster.slice("d0")
    user(cluster, "p", tolerations=[{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}])
    taint(cluster, "d0")
    assert cluster.eventually(lambda: bool(part._pending))
    taint(cluster)
    assert cluster.wait_event("p", "DeviceTaintManagerEviction") == "Cancelling deletion"
    cluster.clock.advance(60)
    stays(cluster, "p")


def rule(cluster: Cluster, name: str, selector: Obj | None, effect: str = "NoExecute") -> Obj:
    spec: Obj = {"taint": {**NO_EXECUTE, "effect": effect}}
    if selector is not None:
        spec["deviceSelector"] = selector
    return cluster.client.create(DEVICE_TAINT_RULES, {"metadata": {"name": name}, "spec": spec})


def rule_condition(obj: Obj) -> tuple[str, str, str]:
    found = next(iter((obj.get("status") or {}).get("conditions") or ()), {})
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


def sees_running(cluster: Cluster, part: TaintEviction, pods: int) -> None:
    """Wait until the controller knows pods, claims and a slice: a rule's first words are about what it sees."""

    def seen() -> bool:
        running = [pod for pod in part.pods.list() if pod["status"].get("phase") == "Running"]
        reserved = [claim for claim in part.claims.list() if claim.get("status", {}).get("reservedFor")]
        return len(running) == len(reserved) == pods and bool(part.slices.list())

    assert cluster.eventually(seen)


def has_condition(cluster: Cluster, name: str) -> Obj:
    return cluster.wait(DEVICE_TAINT_RULES, name, lambda obj: rule_condition(obj)[1])


def test_a_rule_taints_the_device_that_it_names(cluster: Cluster) -> None:
    cluster.run(eviction(cluster))
    cluster.slice("d0", "d1")
    user(cluster, "p", "d0")
    user(cluster, "q", "d1")
    rule(cluster, "r", {"driver": DRIVER, "pool": "n1", "device": "d0"})
    leaves(cluster, "p")
    stays(cluster, "q", 0.1)
    cluster.wait(
        DEVICE_TAINT_RULES,
        "r",
        lambda obj: rule_condition(obj) == ("False", "Completed", "1 pod evicted since starting the controller."),
    )
    rule(cluster, "all", {})
    leaves(cluster, "q")


def test_a_rule_says_that_evictions_are_pending(cluster: Cluster) -> None:
    part = eviction(cluster, period=30.0)
    cluster.run(part)
    cluster.slice("d0")
    for name in ("p", "q"):
        user(cluster, name)
    sees_running(cluster, part, 2)
    rule(cluster, "r", {"device": "d0"})
    found = has_condition(cluster, "r")
    leaves(cluster, "p")
    leaves(cluster, "q")
    assert rule_condition(found) == ("True", "PodsPendingEviction", "2 pods need to be evicted in 1 namespace.")
    cluster.settle(0.2)
    cluster.clock.advance(31)
    done = ("False", "Completed", "2 pods evicted since starting the controller.")
    cluster.wait(DEVICE_TAINT_RULES, "r", lambda obj: rule_condition(obj) == done)


def test_a_pod_that_its_user_deletes_is_no_longer_pending(cluster: Cluster) -> None:
    part = eviction(cluster)
    cluster.run(part)
    cluster.slice("d0")
    user(cluster, "p", tolerations=[{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}])
    sees_running(cluster, part, 1)
    rule(cluster, "r", {"device": "d0"})
    assert rule_condition(has_condition(cluster, "r"))[1] == "PodsPendingEviction"
    assert cluster.eventually(lambda: bool(part._pending))
    # The update of the status that the plan caused is over.
    cluster.settle(0.2)
    cluster.clock.advance(1)
    cluster.settle(0.2)
    # The finalizer keeps the pod: the controller sees that it is being deleted, before it is gone.
    cluster.client.delete(PODS, "p", "default")
    assert cluster.eventually(lambda: not part._pending)
    cluster.settle(0.2)
    cluster.clock.advance(1)
    cluster.wait(DEVICE_TAINT_RULES, "r", lambda obj: rule_condition(obj)[:2] == ("False", "NotStarted"))


def test_rules_without_effect_only_report(cluster: Cluster) -> None:
    part = eviction(cluster)
    cluster.run(part)
    cluster.slice("d0", "d1")
    user(cluster, "p", "d0")
    user(cluster, "q", "d1")
    sees_running(cluster, part, 2)  # the status of a rule without effect is written once
    rule(cluster, "sim", {"driver": DRIVER}, effect="None")
    status, reason, message = rule_condition(has_condition(cluster, "sim"))
    assert (status, reason) == ("False", "NoEffect")
    assert message.startswith(
        "2 published devices selected. 2 allocated devices selected. "
        "2 pods would be evicted in 1 namespace if the effect was NoExecute."
    )
    rule(cluster, "other", {"driver": DRIVER}, effect="NoSchedule")
    found = rule_condition(has_condition(cluster, "other"))
    assert found == ("False", "OtherEffect", "Eviction only happens for the NoExecute effect.")
    rule(cluster, "idle", {"device": "none"})
    assert rule_condition(has_condition(cluster, "idle")) == ("False", "NotStarted", "")
    stays(cluster, "p", 0.1)
    assert cluster.get(RESOURCE_CLAIMS, "c-p")["status"]["allocation"]


def test_the_words_of_a_rule_under_way() -> None:
    facts = RuleFacts("NoExecute", pods=1, namespaces=1, evicted=1, published_devices=2, allocated_devices=2)
    assert (
        condition_for(facts).message
        == "1 pod needs to be evicted in 1 namespace. 1 pod evicted since starting the controller."
    )


def test_selectors_and_tolerations() -> None:
    device = DeviceId("d", "p", "x")
    assert not selects({"spec": {}}, device)
    assert selects({"spec": {"deviceSelector": {}}}, device)
    assert not selects({"spec": {"deviceSelector": {"driver": "d", "device": "y"}}}, device)
    assert tolerates({"operator": "Exists", "effect": "NoExecute"}, NO_EXECUTE)
    assert not tolerates({"key": "example.com/bad", "value": "zz", "effect": "NoExecute"}, NO_EXECUTE)
    assert tolerates({"key": "example.com/bad", "value": "v1", "effect": "NoExecute"}, NO_EXECUTE)


# -- the rate ----------------------------------------------------------------------------------------------------------


def seconds(*expected: float) -> object:
    """Return what compares equal to these seconds; time passes during a test too."""
    return pytest.approx(list(expected), abs=5)


def test_the_first_pods_do_not_wait_and_the_others_come_one_by_one() -> None:
    clock = AdvanceableClock()
    rate = EvictionRate(clock, per_second=0.01, burst=3)
    assert [rate.wait(str(number)) for number in range(5)] == seconds(0, 0, 0, 100, 200)
    # A pod that comes early keeps its place, and the next pod gets a later one.
    assert [rate.wait("4")] == seconds(200)
    clock.advance(150)
    assert [rate.wait("3"), rate.wait("4"), rate.wait("5")] == seconds(0, 50, 150)
    # After a pause there is a burst again.
    clock.advance(10_000)
    assert [rate.wait(f"late {number}") for number in range(4)] == seconds(0, 0, 0, 100)


def test_without_a_rate_no_pod_waits() -> None:
    rate = EvictionRate(AdvanceableClock(), per_second=0, burst=1)
    assert {rate.wait(str(number)) for number in range(100)} == {0}


def test_pods_are_evicted_at_the_rate(cluster: Cluster) -> None:
    options = TaintEvictionOptions(eviction_rate=0.1, eviction_burst=2, rule_status_period=0.3)
    part = TaintEviction(KubeClient(cluster.transport, user_agent="taints"), clock=cluster.clock, options=options)
    cluster.run(part)
    cluster.slice("d0", "d1", "d2", "d3")
    names = [f"p{number}" for number in range(4)]
    for number, name in enumerate(names):
        user(cluster, name, f"d{number}")
    sees_running(cluster, part, 4)
    taint(cluster, "d0", "d1", "d2", "d3")

    def deleted() -> int:
        return sum(bool(cluster.get(PODS, name)["metadata"].get("deletionTimestamp")) for name in names)

    assert cluster.eventually(lambda: deleted() == 2)
    for total in (3, 4):
        cluster.settle(0.2)
        assert deleted() == total - 1
        cluster.clock.advance(10)
        assert cluster.eventually(lambda total=total: deleted() == total)


def test_a_taint_that_goes_ends_the_wait_of_a_pod(cluster: Cluster) -> None:
    options = TaintEvictionOptions(eviction_rate=0.001, eviction_burst=1)
    part = TaintEviction(KubeClient(cluster.transport, user_agent="taints"), clock=cluster.clock, options=options)
    cluster.run(part)
    cluster.slice("d0", "d1")
    user(cluster, "p", "d0")
    waiting = user(cluster, "q", "d1")["metadata"]["uid"]
    sees_running(cluster, part, 2)
    taint(cluster, "d0")
    leaves(cluster, "p")
    taint(cluster, "d1")
    assert cluster.eventually(lambda: waiting in part._pending)
    taint(cluster)
    assert cluster.wait_event("q", "DeviceTaintManagerEviction", text="Cancel") == "Cancelling deletion"
    cluster.clock.advance(2000)
    stays(cluster, "q")


def test_evicted_pods_are_counted_without_a_list_of_all(cluster: Cluster) -> None:
    part = eviction(cluster)
    remembered = [part._remember_evicted(str(number)) for number in (*range(600), 599)]
    assert remembered == [*[True] * 600, False]
    assert len(part._last_evicted) == 500
