"""The node of an externally started driver: whose place the run's own kubelet may take."""

from __future__ import annotations

import pytest

from dra_api.objects import Obj
from dra_conformance.components.external_driver import require_no_kubelet
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.kubelet.kubelet import READY_MESSAGE


def node(*, ready: str, version: str = "v1.37.2") -> Obj:
    conditions = [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": ready}]
    return {"status": {"conditions": conditions, "nodeInfo": {"kubeletVersion": version}}}


def test_a_node_with_a_running_kubelet_is_refused() -> None:
    with pytest.raises(TargetUnreachable, match=r"a kubelet \(v1\.37\.2\) runs on the driver's node n1") as raised:
        require_no_kubelet("n1", node(ready="True"))
    assert "Stop its kubelet" in raised.value.hint


def left_by_a_run() -> Obj:
    found = node(ready="True")
    found["status"]["conditions"][1]["message"] = READY_MESSAGE
    return found


@pytest.mark.parametrize(
    "found",
    [
        left_by_a_run(),
        node(ready="False"),
        node(ready="Unknown"),
        node(ready="True", version=""),
        {"metadata": {"name": "n1"}},
        None,
    ],
    ids=["left-by-a-run", "not-ready", "unknown", "no-version", "no-status", "no-node"],
)
def test_a_node_without_a_kubelet_can_be_used(found: Obj | None) -> None:
    require_no_kubelet("n1", found)
