"""Karpenter's allocator as a third answer: what counts as wrong, and what explains it.

Answers are written by hand; those of the program itself are compared if `dra-karpenter-allocator` is built.
"""

from __future__ import annotations

from typing import Any

import pytest

from dra_api.objects import Obj
from verification.differential import karpenter, karpenter_known
from verification.differential.karpenter import Difference
from verification.differential.upstream import Upstream

ENTRIES = karpenter_known.load()


def case(*devices: Obj, request: Obj | None = None, **spec: Any) -> Obj:
    """One node with one slice, and a claim for one device or as `request` says."""
    where = spec or {"nodeName": "n0"}
    slice_ = {
        "driver": "gpu.example.com",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        **where,
        "devices": [*devices],
    }
    exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1, **(request or {})}
    claim = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    names = ("AdminAccess", "PrioritizedList", "PartitionableDevices", "DeviceTaints", "ConsumableCapacity")
    return {
        "features": dict.fromkeys(names, True),
        "nodes": [{"metadata": {"name": "n0", "labels": {}}}],
        "slices": [{"metadata": {"name": "s"}, "spec": slice_}],
        "classes": [{"metadata": {"name": "any"}, "spec": {}}],
        "claims": [{"metadata": {"name": "c", "namespace": "default", "uid": "c"}, "spec": claim}],
        "taken": [],
    }


def picks(*devices: str, **more: Any) -> Obj:
    """An answer that allocates these devices."""
    chosen = [{"driver": "gpu.example.com", "pool": "p", "device": device, **more} for device in devices]
    return {"node": "n0", "outcome": "allocated", "devices": [chosen]}


def refuses(message: str = "no instance type can satisfy the allocation") -> Obj:
    return {"node": "n0", "outcome": "unallocatable", "message": message}


def only(question: Obj, answer: Obj) -> Difference:
    (difference,) = karpenter.differences(question, [answer])
    return difference


def test_a_right_answer_is_no_difference() -> None:
    free = case({"name": "d"})
    assert not [*karpenter.differences(free, [picks("d")])]
    tainted = case({"name": "d", "taints": [{"key": "k", "effect": "NoSchedule"}]})
    assert not [*karpenter.differences(tainted, [refuses()])]


def test_a_panic_is_a_difference_that_nothing_explains() -> None:
    difference = only(case({"name": "d"}), {"node": "n0", "outcome": "panic", "message": "nil"})
    assert (difference.kind, karpenter_known.explain(ENTRIES, difference)) == ("panic", "")


def test_a_refusal_without_a_reason_in_the_case_is_not_explained() -> None:
    difference = only(case({"name": "d"}), refuses())
    assert difference.kind == "too-few"
    assert karpenter_known.explain(ENTRIES, difference) == ""


def test_a_device_in_use_that_is_taken_again_is_not_explained() -> None:
    question = case({"name": "d", "taints": [{"key": "k", "effect": "NoSchedule"}]})
    question["taken"] = [{"request": "r", "driver": "gpu.example.com", "pool": "p", "device": "d"}]
    assert karpenter_known.explain(ENTRIES, only(question, picks("d"))) == ""


def test_what_is_taken_out_of_a_case_explains_the_answer() -> None:
    taint = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
    tainted = only(case({"name": "d", **taint}), picks("d"))
    assert tainted.kind == "too-many"
    assert karpenter_known.explain(ENTRIES, tainted) == "taints-are-not-read"
    request = {"capacity": {"requests": {"memory": "2Gi"}}}
    small = {"name": "d", "capacity": {"memory": {"value": "1Gi"}}}
    assert (
        karpenter_known.explain(ENTRIES, only(case(small, request=request), picks("d"))) == "capacity-of-whole-devices"
    )
    both = only(case({**small, **taint}, request=request), picks("d"))
    assert karpenter_known.explain(ENTRIES, both) == "taints-are-not-read + capacity-of-whole-devices"


def test_devices_that_name_their_nodes_are_not_seen() -> None:
    question = case({"name": "d", "allNodes": True}, perDeviceNodeSelection=True)
    assert karpenter_known.explain(ENTRIES, only(question, refuses())) == "nodes-of-devices"


def test_a_request_for_all_devices_that_gets_none() -> None:
    question = case(request={"allocationMode": "All"})
    assert karpenter_known.explain(ENTRIES, only(question, picks())) == "all-of-nothing"


def test_a_shared_device_that_serves_a_request_twice() -> None:
    question = case({"name": "d", "allowMultipleAllocations": True}, request={"count": 2})
    assert karpenter_known.explain(ENTRIES, only(question, picks("d", "d"))) == "one-device-twice"


def test_its_own_message_explains_what_is_not_supported() -> None:
    question = case({"name": "d"})
    answer = refuses('claim "c" request "r": only Exactly requests are supported')
    assert karpenter_known.explain(ENTRIES, only(question, answer)) == "not-supported"


@pytest.mark.skipif(
    not karpenter.PROGRAM.exists(), reason="dra-karpenter-allocator is not built (make third-party-all)"
)
def test_every_difference_of_karpenter_is_explained() -> None:
    with Upstream(karpenter.PROGRAM) as program:
        result = karpenter.compare(program, range(300), "20261201")
    assert result.nodes["allocated"] > 50
    assert result.differences
    assert [str(one) for one in result.differences if not karpenter_known.explain(ENTRIES, one)] == []
