"""The manifests of `deploy/kubernetes` on a kind cluster: a GPU pod runs through scheduler, binder, kubelet and driver.

The nodes, the kubelets and the containers are real; the GPUs are those of the fake NVML.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from deploy.manifests.parts import NAMESPACE, text_of
from deploy.manifests.webhook import NAME, certified
from dra_api.client import ApiError, KubeClient
from dra_api.objects import RESOURCE_CLAIMS
from verification.docker_engine.waiting import until
from verification.kind_cluster.cluster import READY, Cluster

FOLDER = Path(__file__).resolve().parents[2] / "deploy/kubernetes"
_CALL = 60.0
_DRIVER = "app.kubernetes.io/name=gpu-kubelet-plugin"
_PODS = ("gpu-pod", "mig-pod")
_DEVICES_PER_NODE, _WORKERS = 10, 2
"""Seven GPUs, and three MIG devices of another one: the inventory dgx-h100-mig."""


def look(cluster: Cluster, archive: Path) -> Iterator[str]:
    """Yield what is not as expected on a started cluster. Raises AssertionError if the checks cannot go on."""
    cluster.load(archive)
    cluster.apply(FOLDER)
    until(lambda: _ready(cluster), what="the components are ready", within=READY)
    slices = until(lambda: _slices(cluster), what="every worker has its ResourceSlices", within=READY)
    devices = sum(len(each["spec"]["devices"]) for each in slices)
    if devices != _DEVICES_PER_NODE * _WORKERS:
        yield f"the nodes have {devices} devices, not {_DEVICES_PER_NODE} each"
    yield from _examples(cluster, slices)
    # As at an upgrade of the DaemonSet: the fake GPUs stay, so the pools have the devices that they had.
    before = sorted(_uuids(slices).values())
    cluster.kubectl("-n", NAMESPACE, "delete", "pod", "-l", _DRIVER)
    until(lambda: _ready(cluster), what="the driver is ready again", within=READY)
    slices = until(lambda: _slices(cluster), what="the slices are there again", within=READY)
    after = sorted(_uuids(slices).values())
    if before != after:
        yield f"after a restart of the driver the GPUs are others: {before}, {after}"
    yield from _examples(cluster, slices)
    yield from _webhook(cluster)


def _ready(cluster: Cluster) -> bool:
    pods = cluster.items("pods", "-n", NAMESPACE)
    states = [status["ready"] for pod in pods for status in pod.get("status", {}).get("containerStatuses", ())]
    terminating = any("deletionTimestamp" in pod["metadata"] for pod in pods)
    return len(states) == _WORKERS + 2 and all(states) and not terminating


def _slices(cluster: Cluster) -> list[dict[str, Any]] | None:
    found = [each for each in cluster.items("resourceslices") if each["spec"]["driver"] == "gpu.nvidia.com"]
    nodes = {each["spec"]["nodeName"] for each in found}
    return found if len(nodes) == _WORKERS else None


def _uuids(slices: list[dict[str, Any]]) -> dict[tuple[str, str], list[str]]:
    """Return the UUIDs that NVML has for each device, by node and name: of the GPU, and of the MIG device in it."""
    found = {}
    for each in slices:
        for device in each["spec"]["devices"]:
            attributes = {name: value.get("string", "") for name, value in device["attributes"].items()}
            uuids = [attributes[name] for name in ("parentUUID", "uuid") if name in attributes]
            found[each["spec"]["nodeName"], device["name"]] = uuids
    return found


def _examples(cluster: Cluster, slices: list[dict[str, Any]]) -> Iterator[str]:
    """Run the example pods from `kubectl apply` to Succeeded, and check what NVML showed them."""
    cluster.apply(FOLDER / "examples")
    for name in _PODS:
        pod = until(lambda name=name: _ended(cluster, name), what=f"{name} ends", within=READY)  # type: ignore[misc]
        logs = cluster.kubectl("logs", name)
        if pod["status"]["phase"] != "Succeeded":
            yield f"{name} ends as {pod['status']['phase']}: {logs}"
        elif problem := wrong(name, logs, node=pod["spec"]["nodeName"], uuids=_uuids(slices)):
            yield f"{name} {problem}: {logs}"
    cluster.kubectl("delete", "pod", *_PODS, "--wait=true")
    until(lambda: not cluster.items("resourceclaims"), what="the claims of the pods are deleted", within=READY)


def wrong(pod: str, logs: str, *, node: str, uuids: Mapping[tuple[str, str], Sequence[str]]) -> str:
    """Return what is wrong with the output of an example pod; empty if it saw one device of its node by NVML.

    The claim of a pod that ended is gone, so the device file says which GPU it was.
    """
    files = re.findall(r"/dev/nvidia(\d+)", logs)
    seen = re.findall(r"^(?:GPU|MIG device): (\S+)", logs, re.MULTILINE)
    names = [name for (where, name), found in uuids.items() if where == node and found == seen]
    if len(files) != 1 or len(names) != 1:
        return "does not see exactly one device"
    # gpu-3, or gpu-3-mig-...: the minor number of the GPU.
    if names[0].split("-")[:2] != ["gpu", files[0]] or (pod == "mig-pod") != ("mig" in names[0]):
        return f"sees {names[0]}"
    return ""


def _webhook(cluster: Cluster) -> Iterator[str]:
    """Install the webhook with a new certificate: it refuses a claim with a mistake in its configuration, no other."""
    with tempfile.TemporaryDirectory(prefix="dra-webhook-") as made:
        Path(made, "certificate.yaml").write_text(text_of(certified()), encoding="utf-8")
        shutil.copy(FOLDER / "optional/webhook.yaml", made)
        cluster.apply(Path(made))
    available = ("wait", "--for=condition=Available", f"deployment/{NAME}", f"--timeout={READY:.0f}s")
    cluster.kubectl("-n", NAMESPACE, *available, timeout=READY + _CALL)
    client = KubeClient(cluster.plane.transport())
    # Until its registration is known to the API server, every claim is admitted.
    until(
        lambda: "sharin" in _refusal(client, {"sharin": {}}), what="a mistake is refused by the webhook", within=READY
    )
    if refused := _refusal(client, {}):
        yield f"the webhook refuses a claim without a mistake: {refused}"
    cluster.kubectl("delete", "validatingwebhookconfiguration", NAME)


def _refusal(client: KubeClient, config: dict[str, Any]) -> str:
    """Return why a claim with this GpuConfig is refused; empty if it is admitted."""
    parameters = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", **config}
    devices = {
        "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}],
        "config": [{"requests": ["gpu"], "opaque": {"driver": "gpu.nvidia.com", "parameters": parameters}}],
    }
    claim = {"metadata": {"name": "configured", "namespace": "default"}, "spec": {"devices": devices}}
    try:
        client.create(RESOURCE_CLAIMS, claim, dry_run=True)
    except ApiError as error:
        return error.message
    return ""


def _ended(cluster: Cluster, name: str) -> dict[str, Any] | None:
    (pod,) = [each for each in cluster.items("pods") if each["metadata"]["name"] == name]
    return pod if pod["status"].get("phase") in ("Succeeded", "Failed") else None
