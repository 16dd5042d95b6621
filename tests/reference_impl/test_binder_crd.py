"""The BindRequest CRD on the embedded control plane: rules KAI-001 to KAI-008."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from small_cluster import Cluster, emulated_cluster

from dra_api.client import Invalid
from dra_api.objects import BIND_REQUESTS


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with emulated_cluster(tmp_path, bind_requests=True) as found:
        yield found


def test_an_empty_spec_is_accepted_and_status_is_a_subresource(cluster: Cluster) -> None:
    body = {"metadata": {"name": "a", "namespace": "default"}, "spec": {}, "status": {"phase": "Succeeded"}}
    made = cluster.client.create(BIND_REQUESTS, body)
    assert not made.get("status")
    cluster.client.patch(BIND_REQUESTS, "a", {"status": {"phase": "Failed"}, "spec": {"podName": "x"}})
    assert not cluster.get(BIND_REQUESTS, "a").get("status")
    cluster.client.patch(BIND_REQUESTS, "a", {"status": {"phase": "Failed"}}, subresource="status")
    assert cluster.get(BIND_REQUESTS, "a")["status"] == {"phase": "Failed"}


@pytest.mark.parametrize("missing", ["request", "driver", "pool", "device"])
def test_a_device_result_must_be_complete(cluster: Cluster, missing: str) -> None:
    allocation = cluster.allocation()
    del allocation["devices"]["results"][0][missing]
    with pytest.raises(Invalid, match=missing):
        cluster.bind_request("p", allocations={"gpu": allocation})


@pytest.mark.parametrize("zone", [{"zone": "z"}, {"amount": {"cpu": "1"}}])
def test_a_predicted_zone_must_be_complete(cluster: Cluster, zone: dict[str, object]) -> None:
    with pytest.raises(Invalid, match="Required value"):
        cluster.bind_request("p", predictedNUMAZones=[zone])


def test_defaults_pruning_and_free_parameters(cluster: Cluster) -> None:
    allocation = cluster.allocation(tolerations=[{"key": "k", "effect": "NoExecute"}], surprise=True)
    parameters = {"kind": "Any", "deep": {"er": [1, {"x": None}]}}
    opaque = {"driver": "d", "parameters": parameters, "surprise": 1}
    allocation["devices"]["config"] = [{"source": "FromClaim", "opaque": opaque}]
    cluster.bind_request("p", allocations={"gpu": allocation}, receivedResourceType="whatever", surprise=1)
    spec = cluster.get(BIND_REQUESTS, "p")["spec"]
    (entry,) = spec["resourceClaimAllocations"]
    (result,) = entry["allocation"]["devices"]["results"]
    assert result["tolerations"] == [{"key": "k", "effect": "NoExecute", "operator": "Equal"}]
    assert "surprise" not in spec
    assert "surprise" not in result
    assert entry["allocation"]["devices"]["config"][0]["opaque"] == {"driver": "d", "parameters": parameters}
    assert spec["receivedResourceType"] == "whatever"
