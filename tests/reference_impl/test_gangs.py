"""Plans for gangs, without an API server: rules KAI-029, KAI-030, KAI-353, KAI-360, KAI-363, KAI-365."""

from __future__ import annotations

from dra_api.informer import Change
from dra_api.objects import Obj, key_of
from reference_impl.scheduler.allocator.model import Features
from reference_impl.scheduler.cluster_view import ClusterView
from reference_impl.scheduler.cycle import Decision, Refusal
from reference_impl.scheduler.gangs import ANNOTATION, Gangs, Plan

NODE = "n1"


def pod(name: str, *, group: str = "train", namespace: str = "ns") -> Obj:
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}",
        "annotations": {ANNOTATION: group},
    }
    return {"kind": "Pod", "metadata": metadata, "spec": {}, "status": {}}


class Lab:
    """A node with room for so many pods, and the gangs on it."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.tried: list[str] = []
        self.woken: list[str] = []
        self.unready: set[str] = set()
        self.view = ClusterView(features=Features(), seed=None, listener=lambda what, key: None)
        self.view.on_node(Change("ADDED", {"kind": "Node", "metadata": {"name": NODE}, "spec": {}}))
        self.gangs = Gangs(
            self.view,
            decide=self._decide,
            may_place=lambda pod: pod["metadata"]["name"] not in self.unready,
            wake=lambda key: self.woken.append(key[1]),
        )

    def _decide(self, one: Obj) -> Decision | Refusal:
        self.tried.append(one["metadata"]["name"])
        load = self.view.loads.get(NODE)
        if load is not None and load.pods >= self.room:
            return Refusal("full")
        return Decision(one, NODE)

    def group(self, minimum: int, name: str = "train", namespace: str = "ns") -> None:
        self.gangs.on_group(
            Change("ADDED", {"metadata": {"name": name, "namespace": namespace}, "spec": {"minMember": minimum}})
        )

    def add(self, *pods: Obj) -> None:
        for one in pods:
            change = Change("ADDED", one)
            self.gangs.on_pod(change)
            self.view.on_pod(change)

    def remove(self, one: Obj) -> None:
        change = Change("DELETED", one)
        self.gangs.on_pod(change)
        self.view.on_pod(change)

    def plan(self, one: Obj, changes: int = 0) -> Plan | None:
        with self.view.lock:
            return self.gangs.plan(one, changes)


def placed(plan: Plan | None) -> list[str]:
    assert plan is not None
    return [decision.pod["metadata"]["name"] for decision in plan.decisions]


def message(plan: Plan | None) -> str:
    assert plan is not None
    assert not plan.decisions
    return plan.refusals[0][1].message


def test_a_pod_without_a_group_is_placed_alone() -> None:
    lab = Lab(room=1)
    free = pod("free")
    del free["metadata"]["annotations"]
    lab.add(free)
    assert lab.plan(free) is None


def test_a_gang_is_placed_as_a_whole_and_the_rest_is_looked_at_next() -> None:
    lab = Lab(room=9)
    pods = [pod(f"p{n}") for n in range(4)]
    lab.group(3)
    lab.add(*pods)
    plan = lab.plan(pods[3])
    assert placed(plan) == ["p0", "p1", "p2"]
    assert plan is not None
    assert plan.next == (key_of(pods[3]),)
    assert lab.plan(pods[3]) is None


def test_a_gang_without_room_takes_nothing_and_is_tried_again_only_after_a_change() -> None:
    lab = Lab(room=2)
    pods = [pod(f"p{n}") for n in range(3)]
    lab.group(3)
    lab.add(*pods)
    plan = lab.plan(pods[0], changes=7)
    assert message(plan) == "pod group train has room for 2 of 3 pods: full"
    assert plan is not None
    assert [one["metadata"]["name"] for one, _ in plan.refusals] == ["p0", "p1", "p2"]
    assert lab.view.loads[NODE].pods == 0
    tried = len(lab.tried)
    assert message(lab.plan(pods[1], changes=7)) == message(plan)
    assert len(lab.tried) == tried
    lab.room = 3
    assert placed(lab.plan(pods[1], changes=8)) == ["p0", "p1", "p2"]


def test_a_pod_that_becomes_ready_is_a_reason_to_try_again() -> None:
    lab = Lab(room=3)
    pods = [pod(f"p{n}") for n in range(4)]
    lab.unready = {"p3"}
    lab.group(3)
    lab.add(*pods)
    lab.room = 2
    assert "room for 2 of 3" in message(lab.plan(pods[0]))
    lab.unready, lab.room = set(), 3
    assert placed(lab.plan(pods[3])) == ["p0", "p1", "p2"]


def test_the_last_missing_pod_is_placed_with_those_that_have_a_place() -> None:
    lab = Lab(room=3)
    pods = [pod(f"p{n}") for n in range(3)]
    lab.group(3)
    lab.add(*pods)
    lab.view.assume(pods[0], NODE, {})
    lab.view.assume(pods[2], NODE, {})
    assert placed(lab.plan(pods[1])) == ["p1"]


def test_deleted_pods_and_pods_of_other_groups_do_not_count() -> None:
    lab = Lab(room=9)
    mine, gone, foreign, elsewhere = pod("a"), pod("b"), pod("c", group="other"), pod("d", namespace="other")
    lab.group(2)
    lab.add(mine, gone, foreign, elsewhere)
    lab.remove(gone)
    assert message(lab.plan(mine)) == "pod group train has 1 of the 2 pods that it needs"
    assert message(lab.plan(elsewhere)) == "pod group train not found"


def test_a_group_that_appears_wakes_its_pods() -> None:
    lab = Lab(room=9)
    lab.add(pod("a"), pod("b", group="other"))
    lab.group(1)
    assert lab.woken == ["a"]
