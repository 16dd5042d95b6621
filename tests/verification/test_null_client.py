"""The benchmark's client that only writes."""

from __future__ import annotations

from dra_api.client import KubeClient
from dra_api.objects import EVENTS, PODS, RESOURCE_CLAIMS
from verification.benchmarks import null_client
from verification.benchmarks.cluster import embedded, pod, populate


def test_every_pod_gets_a_device_a_node_and_an_event() -> None:
    with embedded() as emulator:
        client = KubeClient(emulator.transport())
        populate(client, nodes=2, devices=2)
        for number in range(3):
            name = f"p{number}"
            claim = {"metadata": {"name": name, "namespace": "default"}}
            requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]
            client.create(RESOURCE_CLAIMS, {**claim, "spec": {"devices": {"requests": requests}}})
            client.create(PODS, pod(name))
            status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": name}]}
            client.patch(PODS, name, {"status": status}, "default", subresource="status")
        assert null_client.serve(client, at_once=2) == 3
        assert all(one["spec"].get("nodeName") for one in client.list(PODS, "default").items)
        results = [
            (result["pool"], result["device"])
            for claim in client.list(RESOURCE_CLAIMS, "default").items
            for result in claim["status"]["allocation"]["devices"]["results"]
        ]
        assert len(set(results)) == 3
        events = client.list(EVENTS, "default").items
        assert {one["involvedObject"]["name"] for one in events if one["reason"] == "Scheduled"} == {"p0", "p1", "p2"}
        assert null_client.serve(client) == 0
