"""Answers of the search for a valid allocation that the rules leave open."""

from __future__ import annotations

from oracle_clusters import DRIVER, device_class, node, resource_slice

from dra_conformance.oracle import Cluster, could_all_be_allocated, read_claim


def test_an_unknown_answer_has_the_allocation_that_was_found() -> None:
    devices = [{"name": "with", "attributes": {"n": {"int": 1}}}, {"name": "without"}]
    cluster = Cluster.of(
        [
            node("n1"),
            node("n2"),
            resource_slice("s1", devices, pool="n1", nodeName="n1"),
            resource_slice("s2", devices[1:], pool="n2", nodeName="n2"),
            device_class("gpu", f"device.attributes['{DRIVER}'].n == 1"),
        ]
    )
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    metadata = {"name": "c", "namespace": "default", "uid": "c"}
    claim = read_claim(
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec}
    )
    answer = could_all_be_allocated(cluster, [claim])
    assert answer.verdict == "unknown"
    assert "DRA-161" in answer.reason
    assert answer.node == "n1"
    assert [pick.device for pick in answer.witness] == [(DRIVER, "n1", "with")]
