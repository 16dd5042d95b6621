"""Decisions of the slice publisher, without a server."""

from __future__ import annotations

from typing import Any

from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.transport import Response
from reference_impl.kubelet_plugin import slices
from reference_impl.kubelet_plugin.slices import SliceContent, SlicePublisher

NODE = {"metadata": {"name": "n1", "uid": "node-uid"}}


class NoServer:
    """A transport that must not be used."""

    def request(self, *_: Any, **__: Any) -> Response:
        raise AssertionError("planning needs no server")

    def stream(self, *_: Any, **__: Any) -> Response:
        raise AssertionError("planning needs no server")

    def close(self) -> None:
        return


def publisher(**annotations: str) -> SlicePublisher:
    return SlicePublisher(
        KubeClient(NoServer()),
        clock=RealClock(),
        driver="gpu.nvidia.com",
        node_name="n1",
        resync_delay=1,
        annotations=annotations,
    )


def content(*names: str, **fields: Any) -> SliceContent:
    return SliceContent(tuple({"name": name, **fields} for name in names))


def stored(index: int, part: SliceContent, *, generation: int = 1, count: int = 1, pool: str = "n1") -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"{index:05x}-gpu.nvidia.com-n1-abcde",
            "uid": f"uid-{index}-{pool}",
            "ownerReferences": [{"uid": "node-uid"}],
        },
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": "n1",
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
            **part.fields(),
        },
    }


def generations(plan: Any) -> list[int]:
    written = [spec for spec, _ in plan.update] + [new["spec"] for new in plan.create]
    return [spec["pool"]["generation"] for spec in written]


def test_first_publication() -> None:
    plan = publisher().plan([content("gpu-0")], [], NODE)
    (new,) = plan.create
    assert (plan.update, plan.delete) == ([], [])
    assert new["metadata"]["generateName"] == "00000-gpu.nvidia.com-n1-"
    assert new["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "node-uid"}]
    assert new["spec"]["pool"] == {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    assert new["spec"]["nodeName"] == "n1"


def test_new_slices_have_the_publisher_s_annotations() -> None:
    (plain,) = publisher().plan([content("gpu-0")], [], NODE).create
    (marked,) = publisher(simulated="GPUs").plan([content("gpu-0")], [], NODE).create
    assert "annotations" not in plain["metadata"]
    assert marked["metadata"]["annotations"] == {"simulated": "GPUs"}


def test_nothing_to_do_after_a_restart() -> None:
    plan = publisher().plan([content("gpu-0")], [stored(0, content("gpu-0"))], NODE)
    assert (plan.create, plan.update, plan.delete) == ([], [], [])


def test_one_changed_slice_keeps_the_generation() -> None:
    there = [stored(0, content("a"), generation=4, count=2), stored(1, content("b"), generation=4, count=2)]
    plan = publisher().plan([content("a"), content("b", attributes={"x": {"int": 1}})], there, NODE)
    assert generations(plan) == [4]


def test_two_changed_slices_or_a_new_one_raise_it_for_all() -> None:
    there = [stored(0, content("a"), generation=4, count=2), stored(1, content("b"), generation=4, count=2)]
    assert generations(publisher().plan([content("c"), content("d")], there, NODE)) == [5, 5]
    assert generations(publisher().plan([content("a"), content("b"), content("c")], there, NODE)) == [5, 5, 5]


def test_mixed_generations_are_brought_together() -> None:
    there = [stored(0, content("a"), generation=3, count=2), stored(1, content("b"), generation=4, count=2)]
    assert generations(publisher().plan([content("a"), content("b")], there, NODE)) == [4]


def test_obsolete_foreign_and_duplicate_slices_go() -> None:
    old_name = stored(0, content("a"))
    old_name["metadata"]["name"] = "n1-gpu.nvidia.com-xyz"
    twin = stored(0, content("a"))
    twin["metadata"]["name"] = "00000-gpu.nvidia.com-n1-zzzzz"
    foreign = stored(0, content("a"), pool="old-name")
    foreign["metadata"]["name"] = "00000-gpu.nvidia.com-n1-other"
    there = [twin, stored(0, content("a")), old_name, foreign, stored(7, content("x"))]
    plan = publisher().plan([content("a")], there, NODE)
    assert {obj["metadata"]["name"] for obj in plan.delete} == {
        "00000-gpu.nvidia.com-n1-zzzzz",
        "n1-gpu.nvidia.com-xyz",
        "00000-gpu.nvidia.com-n1-other",
        "00007-gpu.nvidia.com-n1-abcde",
    }
    assert len(plan.delete) == 4
    assert plan.create == []


def test_time_added_of_an_unchanged_taint_stays() -> None:
    taint = {"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoSchedule"}
    timed = {**taint, "timeAdded": "2026-01-01T00:00:00Z"}
    there = [stored(0, content("a", taints=[timed]))]
    assert publisher().plan([content("a", taints=[taint])], there, NODE).update == []
    assert slices.keep_times(
        content("a", taints=[taint, {"key": "k", "effect": "None"}]).fields(), there[0]["spec"]
    ) == ({"devices": [{"name": "a", "taints": [timed, {"key": "k", "effect": "None"}]}]})
    changed = content("a", taints=[{**taint, "value": "48"}]).fields()
    assert slices.keep_times(changed, there[0]["spec"]) == changed


def test_layout_keeps_the_limits() -> None:
    plain = [{"name": f"d{i}"} for i in range(129)]
    assert [len(part.devices) for part in slices.layout(plain)] == [64, 64, 1]
    counters = [{"name": f"c{i}"} for i in range(9)]
    assert [len(part.shared_counters) for part in slices.layout((), counters)] == [8, 1]
