"""ComputeDomains in pods: two nodes of one NVLink clique, the daemons in the image of the components, IMEX channels.

The fabric and nvidia-imex are simulated. The last check is the example of KAI's documentation: a pod with a GPU of a
device plugin and an IMEX channel by DRA.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import yaml

from deploy.manifests.parts import NAMESPACE, object_of
from deploy.manifests.render import compute_domain_classes, compute_domain_crds, compute_domains, fake_gpus
from dra_api.objects import Obj
from dra_conformance.core import assets
from verification.kind_cluster import device_plugins, pods
from verification.kind_cluster.cluster import READY, Cluster
from verification.kind_cluster.nodes import rolled_out

INVENTORY, _GPUS = "gb200-nvl72-node", 4
_DOMAIN, _CHANNEL = "job", "job-channel"
_CONTROLLER = "deployment/reference-compute-domain"
_PLUGIN = "daemonset/compute-domain-kubelet-plugin"
_LABEL = "resource.nvidia.com/computeDomain"


def look(cluster: Cluster) -> Iterator[str]:
    """Yield what is not as expected on a cluster with the manifests. Raises AssertionError."""
    device_plugins.install(cluster)
    for node in cluster.workers:
        device_plugins.offer(cluster, node, device_plugins.DRA)
    cluster.apply_objects([fake_gpus(INVENTORY)])
    cluster.kubectl("--namespace", NAMESPACE, "rollout", "restart", "daemonset/gpu-kubelet-plugin")
    rolled_out(cluster, "daemonset/gpu-kubelet-plugin")
    cluster.apply_objects(compute_domain_crds())
    cluster.apply_objects([*compute_domain_classes(), *compute_domains()])
    for workload in (_CONTROLLER, _PLUGIN):
        rolled_out(cluster, workload)
    yield from _domain(cluster)
    yield from _example(cluster)


def _domain(cluster: Cluster) -> Iterator[str]:
    """A domain over both workers: its pods have the channel, and start only when the daemons are ready."""
    cluster.apply_objects([domain(_DOMAIN, nodes=2, template=_CHANNEL)])
    claims = {"gpu": "one-gpu", "channel": _CHANNEL}
    cluster.wait("the template of the channels is made", lambda: cluster.get("resourceclaimtemplate", _CHANNEL))
    names = {f"rank-{number}": node for number, node in enumerate(cluster.workers)}
    cluster.apply_objects(
        pods.pod(name, pods.waiting(claims=claims, node=node)) for name, node in sorted(names.items())
    )
    for name, node in names.items():
        (found,) = cluster.wait(f"{name} runs", functools.partial(pods.running, cluster, name))
        if (found.node, len(found.gpus), found.channels) != (node, 1, ("/dev/nvidia-caps-imex-channels/channel0",)):
            yield f"{name}, which should see one GPU and channel 0 on {node}: {found}"
    status = cluster.wait("the domain is Ready", lambda: _ready(cluster, _DOMAIN))
    if sorted(one["name"] for one in status["nodes"]) != cluster.workers:
        yield f"the status of the domain has the nodes {status['nodes']}"
    cluster.kubectl("delete", "pod", *names, "--wait=true", timeout=READY)
    cluster.kubectl("delete", "computedomain", _DOMAIN, "--wait=true", timeout=READY)
    cluster.wait("the daemons of the domain are gone", lambda: not _traces(cluster))


def domain(name: str, *, nodes: int, template: str) -> Obj:
    """Return a ComputeDomain."""
    made = object_of("resource.nvidia.com/v1beta1", "ComputeDomain", name, namespace=pods.NAMESPACE)
    return {**made, "spec": {"numNodes": nodes, "channel": {"resourceClaimTemplate": {"name": template}}}}


def _ready(cluster: Cluster, name: str) -> Obj | None:
    status: Obj = (cluster.get("computedomain", name) or {}).get("status", {})
    return status if status.get("status") == "Ready" else None


def _traces(cluster: Cluster) -> list[str]:
    """Return what is there of a ComputeDomain: labels of nodes, daemons, claims, cliques."""
    left = [f"label of {one['metadata']['name']}" for one in cluster.items("nodes", "--selector", _LABEL)]
    for resource in ("daemonsets", "pods"):
        found = cluster.items(resource, "--namespace", NAMESPACE, "--selector", _LABEL)
        left += [f"{resource} {one['metadata']['name']}" for one in found]
    for resource in ("resourceclaims", "computedomaincliques.resource.nvidia.com"):
        found = cluster.items(resource, "--all-namespaces")
        left += [f"{resource} {one['metadata']['name']}" for one in found]
    return left


def _example(cluster: Cluster) -> Iterator[str]:
    """KAI's documented example, from `kubectl apply` to Succeeded, on a node whose GPUs a device plugin offers."""
    node = cluster.workers[0]
    device_plugins.offer(cluster, node, device_plugins.PLUGIN, gpus=_GPUS)
    cluster.apply_objects([domain("imex", nodes=1, template="imex-channel-0"), documented(node)])
    ended = cluster.wait("gpu-imex-pod ends", lambda: _ended(cluster, "gpu-imex-pod"))
    logs = cluster.kubectl("logs", "gpu-imex-pod")
    seen = pods.shown_by(cluster, ended)
    phase = ended["status"]["phase"]
    if phase != "Succeeded" or seen is None or len(seen.gpus) != 1 or len(seen.channels) != 1:
        yield f"gpu-imex-pod ends as {phase}: {logs}"
    cluster.kubectl("delete", "pod", "gpu-imex-pod", "--wait=true", timeout=READY)
    cluster.kubectl("delete", "computedomain", "imex", "--wait=true", timeout=READY)
    cluster.wait("the daemons of the example are gone", lambda: not _traces(cluster))


def documented(node: str) -> Obj:
    """Return the pod of the documentation, held to a node, with a program that prints what it sees and ends."""
    text = (assets.fixtures() / "bind_requests/gpu-imex-pod.yaml").read_text(encoding="utf-8")
    made: Obj = yaml.safe_load(text.replace("$(node:n1)", node))
    spec = made["spec"]
    (container,) = pods.waiting(ends=True)["containers"]
    own = spec["containers"][0]
    spec["containers"] = [{**own, "image": container["image"], "command": container["command"]}]
    spec["restartPolicy"] = "Never"
    return made


def _ended(cluster: Cluster, name: str) -> Obj | None:
    found = cluster.get("pod", name)
    return found if found and found["status"].get("phase") in ("Succeeded", "Failed") else None
