"""`python -m verification.benchmarks.null_client --kubeconfig FILE`: the writes of a scheduler without its decisions.

Each pod gets the next free device, and the four writes that a scheduler cannot leave out: the finalizer and the
allocation of its claim, its binding and the event about it. What this client reaches is the limit of the API server.
It ends when all pods that exist at its start are bound.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dra_api.allocations import results_of
from dra_api.client import KubeClient
from dra_api.objects import EVENTS, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, Obj
from dra_api.transport import HttpTransport

_FINALIZER = "resource.kubernetes.io/delete-protection"
# More requests at once did not end sooner on two cores.
_AT_ONCE = 16


def serve(client: KubeClient, *, at_once: int = _AT_ONCE) -> int:
    """Write for every pod without a node, and return their number. There must be enough devices."""
    pods = [pod for pod in client.list(PODS, "default").items if not pod["spec"].get("nodeName")]
    claims = {claim["metadata"]["name"]: claim for claim in client.list(RESOURCE_CLAIMS, "default").items}
    held = {(one["driver"], one["pool"], one["device"]) for claim in claims.values() for one in results_of(claim)}
    devices = [
        (one["spec"]["nodeName"], *named)
        for one in client.list(RESOURCE_SLICES).items
        for device in one["spec"]["devices"]
        if (named := (one["spec"]["driver"], one["spec"]["pool"]["name"], device["name"])) not in held
    ]

    def write(pod: Obj, device: tuple[str, str, str, str]) -> None:
        _write(client, pod, claims[pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"]], device)

    with ThreadPoolExecutor(at_once) as pool:
        return len(list(pool.map(write, pods, devices)))


def _write(client: KubeClient, pod: Obj, claim: Obj, device: tuple[str, str, str, str]) -> None:
    node, driver, pool, name = device
    request = claim["spec"]["devices"]["requests"][0]["name"]
    metadata = {**claim["metadata"], "finalizers": [_FINALIZER]}
    stored = client.update(RESOURCE_CLAIMS, {**claim, "metadata": metadata})
    selected = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    stored["status"] = {
        "allocation": {
            "devices": {"results": [{"request": request, "driver": driver, "pool": pool, "device": name}]},
            "nodeSelector": {"nodeSelectorTerms": [selected]},
        },
        "reservedFor": [{"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}],
    }
    client.update_status(RESOURCE_CLAIMS, stored)
    client.bind(pod, node)
    about = {"kind": "Pod", "apiVersion": "v1", **{key: pod["metadata"][key] for key in ("namespace", "name", "uid")}}
    event: Obj = {
        "metadata": {"name": f"{pod['metadata']['name']}.scheduled", "namespace": "default"},
        "involvedObject": about,
        "reason": "Scheduled",
        "message": f"Successfully assigned to {node}",
        "type": "Normal",
    }
    client.create(EVENTS, event)


def main() -> None:
    """Write for the pods of a cluster."""
    parser = argparse.ArgumentParser(prog="python -m verification.benchmarks.null_client")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    transport = HttpTransport.from_kubeconfig(parser.parse_args().kubeconfig)
    try:
        serve(KubeClient(transport))
    finally:
        transport.close()


if __name__ == "__main__":
    main()
