"""The chart `deploy/chart` on a kind cluster: installed, upgraded and uninstalled by Helm, with its pods on nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from deploy.manifests.parts import NAMESPACE
from dra_api.objects import Obj
from verification.kind_cluster import helm
from verification.kind_cluster.cluster import READY, Cluster
from verification.kind_cluster.existing import settled
from verification.third_party.existing_cluster import objects_of

CHART = Path(__file__).resolve().parents[2] / "deploy/chart"
_EXAMPLES = CHART.parent / "kubernetes/examples"
_RELEASE, _POD = "one", "gpu-pod"
_DRIVERS = ("gpu.nvidia.com", "compute-domain.nvidia.com")
_DOMAINS = ("resources.computeDomains.enabled=true", "fakeGpus.inventory=gb200-nvl72-node")


def look(cluster: Cluster, archive: Path) -> Iterator[str]:
    """Yield what is not as expected on a cluster, which is left as it was. Raises AssertionError."""
    before = objects_of(cluster.plane.kubeconfig)
    cluster.load(archive)
    helm.install(cluster, _RELEASE, CHART, namespace=NAMESPACE, values=["webhook.enabled=true"])
    yield from _pods(cluster, "installed", driver_pods=1, others=3)
    yield from _example(cluster)
    helm.upgrade(cluster, _RELEASE, CHART, namespace=NAMESPACE, values=_DOMAINS)
    yield from _pods(cluster, "upgraded", driver_pods=2, others=4)
    helm.uninstall(cluster, _RELEASE, namespace=NAMESPACE)
    cluster.kubectl("delete", "customresourcedefinitions", *_crds(), "--wait=true", timeout=READY)
    # The kubelet deletes the ResourceSlices of a driver half a minute after the driver has ended.
    cluster.wait("the slices of the drivers are deleted", lambda: not _slices(cluster))
    yield from settled(cluster, before, "without the chart")


def _pods(cluster: Cluster, when: str, *, driver_pods: int, others: int) -> Iterator[str]:
    """All pods of the release become ready. `helm --wait` has returned; it accepts one missing pod of a DaemonSet."""
    expected = driver_pods * len(cluster.workers) + others
    found = cluster.wait(f"the chart is {when}: {expected} pods are ready", lambda: _all_ready(cluster, expected))
    print(f"kind: the chart is {when}: {len(found)} pods are ready", flush=True)
    restarted = [name for name, count in found.items() if count]
    if restarted:
        yield f"the chart is {when}, and containers restarted in {restarted}"


def _all_ready(cluster: Cluster, expected: int) -> dict[str, int] | None:
    """Return how often the containers of each pod restarted, if there are so many pods and all are ready."""
    found = cluster.items("pods", "--namespace", NAMESPACE)
    if len(found) != expected or not all(ready(one) and "deletionTimestamp" not in one["metadata"] for one in found):
        return None
    return {
        one["metadata"]["name"]: sum(each["restartCount"] for each in one["status"]["containerStatuses"])
        for one in found
    }


def ready(pod: Obj) -> bool:
    """Return whether a pod has the condition Ready."""
    return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", ()))


def _example(cluster: Cluster) -> Iterator[str]:
    """The example pod of the manifests runs with the chart, too."""
    cluster.apply(_EXAMPLES)
    phase = cluster.wait(f"{_POD} ends", lambda: _ended(cluster))
    if phase != "Succeeded":
        yield f"{_POD} ends as {phase}: {cluster.kubectl('logs', _POD)}"
    cluster.delete(_EXAMPLES)
    cluster.wait("the claims of the pods are deleted", lambda: not cluster.items("resourceclaims"))


def _ended(cluster: Cluster) -> str | None:
    phase = str((cluster.get("pod", _POD) or {}).get("status", {}).get("phase", ""))
    return phase if phase in ("Succeeded", "Failed") else None


def _crds() -> list[str]:
    """Return the names of the chart's CRDs, which Helm never deletes."""
    files = sorted((CHART / "crds").glob("*.yaml"))
    return [one["metadata"]["name"] for file in files for one in yaml.safe_load_all(file.read_text(encoding="utf-8"))]


def _slices(cluster: Cluster) -> list[Obj]:
    return [one for one in cluster.items("resourceslices") if one["spec"]["driver"] in _DRIVERS]
