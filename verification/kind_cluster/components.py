"""The reference components as pods, judged by the suite.

The cluster runs without its own claim controller and taint eviction; all components of `deploy/kubernetes` run in pods
instead, and the suite runs outside the cluster, as on any cluster that exists. The driver is judged on its node: a pod
with the registration folder of the kubelet has the harness, whose kubelet takes the place of the stopped one. This pod
has the permissions that `dra-conformance rbac` prints. Nodes and containers are real, GPUs are the fake NVML's.
"""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import yaml

from deploy.manifests.parts import IMAGE, PULL, object_of
from deploy.manifests.parts import NAMESPACE as INSTALLED
from deploy.manifests.render import SCHEDULER
from deploy.manifests.webhook import NAME as WEBHOOK
from deploy.manifests.webhook import certified
from dra_api.objects import Obj
from dra_conformance.control_plane.kind import KindControlPlane, programs
from dra_conformance.core.errors import ExitCode
from dra_conformance.rbac.job import KUBECONFIG_TEXT
from verification.kind_cluster import shards
from verification.kind_cluster.cluster import READY, Cluster, call
from verification.kind_cluster.existing import judged, ours
from verification.kind_cluster.manifests import FOLDER
from verification.kind_cluster.nodes import DRIVER, rolled_out

CHAPTERS: Mapping[str, str] = {
    "claim controller": "claims/lifecycle",
    "scheduler": "bind_requests/scheduler_decides",
    "binder": "bind_requests/binder#",
    "taint eviction": "taints/scheduler_and_eviction",
    "ComputeDomain controller": "imex/domains",
    "webhook": "webhook/admission",
}
"""The scenarios that judge each component, by the begin of their ids."""

_PROFILES = ("claim-lifecycle", "bind-requests", "device-taints", "imex", "webhook")
_OF_DRIVER = ("driver-core", "driver-gpu", "kep-5970")
_WORKLOADS = (
    *(f"deployment/reference-{name}" for name in ("scheduler", "binder", "claim-controller", "taint-eviction")),
    *("deployment/reference-compute-domain", "deployment/reference-webhook"),
    *("daemonset/gpu-kubelet-plugin", "daemonset/compute-domain-kubelet-plugin"),
)
_JUDGE, _NAMESPACE = "judge", "dra-conformance"
_KUBELET, _CDI, _SHARED, _MOUNTED = "/var/lib/kubelet", "/var/run/cdi", "/var/lib/dra-conformance", "/etc/judge"
_RUN = 1800.0


def look(image: str, folder: Path, archive: Path) -> Iterator[str]:
    """Yield what is not as expected. Raises AssertionError if the checks cannot go on."""
    work = folder / "components"
    work.mkdir()
    foreign = ("claim-controller", "taint-eviction")
    plane = KindControlPlane(image=image, directory=work / "kind", logs=work / "logs", foreign_components=foreign)
    try:
        plane.start()
        cluster = Cluster(plane)
        cluster.load(archive)
        _install(cluster)
        yield from _components(cluster, work / "report")
        yield from _driver(cluster, cluster.workers[0], work / "driver")
    finally:
        plane.stop()


def _install(cluster: Cluster) -> None:
    cluster.apply(FOLDER)
    cluster.apply(FOLDER / "optional")
    cluster.apply_objects(certified())
    for workload in _WORKLOADS:
        rolled_out(cluster, workload)


def _components(cluster: Cluster, out: Path) -> Iterator[str]:
    """Run a part of each component's scenarios from outside the cluster."""
    words = ["--scheduler", "cluster", "--binder", "cluster", "--scheduler-name", SCHEDULER, "--allow-disruptive"]
    words += ["--compute-domain-namespace", INSTALLED]
    words += [word for name in _PROFILES for word in ("--profile", name)]
    words += [word for chapter in CHAPTERS.values() for word in ("--focus", f"^{chapter}")]
    plane = ("--control-plane", f"kubeconfig:{cluster.plane.kubeconfig}")
    ended = ours("run", *plane, *words, "--out", str(out), "--progress", "none", within=_RUN)
    yield from judged(ended, out, what="reference components as pods", known=())
    # While it is registered and does not run, the API server refuses claims.
    cluster.kubectl("delete", "validatingwebhookconfiguration", WEBHOOK)


def _driver(cluster: Cluster, node: str, out: Path) -> Iterator[str]:
    """Judge the driver's pod on a node, from another pod there, while the node's kubelet is stopped."""
    words = ["--kubelet", "reference", "--driver", f"socket:{_KUBELET}/plugins_registry/{DRIVER}-reg.sock"]
    words += ["--node-name", node, "--cdi-root", _CDI, "--scheduler-name", SCHEDULER]
    words += [word for name in _OF_DRIVER for word in ("--profile", name)]
    cluster.apply_objects(yaml.safe_load_all(ours("rbac", "--control-plane", "kubeconfig", *words).stdout))
    cluster.apply_objects(judge(node, shards.address(cluster)))
    ready = ("wait", "--for=condition=Ready", f"pod/{_JUDGE}", f"--timeout={READY:.0f}s")
    cluster.kubectl("--namespace", _NAMESPACE, *ready, timeout=READY + 30)
    command = [
        "python3",
        "-m",
        "dra_conformance",
        "run",
        "--control-plane",
        f"kubeconfig:{_MOUNTED}/kubeconfig",
        *words,
    ]
    command += ["--out", f"{_SHARED}/report", "--progress", "none"]
    refused = _in_container(node, command)
    if refused.returncode != ExitCode.TARGET_UNREACHABLE:
        yield f"beside the node's kubelet the run ends with {refused.returncode}: {refused.stdout[-1000:]}"
    cluster.on_node(node, "systemctl", "stop", "kubelet")
    try:
        _set_unknown(cluster, node)
        cluster.on_node(node, "rm", "-rf", f"{_SHARED}/report")
        ended = _in_container(node, command)
        programs.run([programs.DOCKER, "cp", f"{node}:{_SHARED}/report", str(out)], timeout=READY)
        yield from judged(ended, out, what="the reference driver on its node", known=())
    finally:
        cluster.on_node(node, "systemctl", "start", "kubelet")
    address = cluster.items("nodes", f"--field-selector=metadata.name={node}")[0]["status"]["addresses"][0]["address"]
    if address.startswith("127."):
        yield f"after the run the node has the address {address}"


def judge(node: str, address: str) -> list[Obj]:
    """Return the pod on a node that has the harness and the node's folders, and its kubeconfig.

    `address` is that of the API server's service: the cluster has no DNS.
    """
    folders = {"plugins": f"{_KUBELET}/plugins", "registry": f"{_KUBELET}/plugins_registry", "cdi": _CDI}
    folders["shared"] = _SHARED
    made = {
        **object_of("v1", "ConfigMap", _JUDGE, namespace=_NAMESPACE),
        "data": {"kubeconfig": KUBECONFIG_TEXT},
    }
    container: Obj = {
        "name": _JUDGE,
        "image": IMAGE,
        "imagePullPolicy": PULL,
        "command": ["python3", "-c", "import signal; signal.pause()"],
        "securityContext": {"runAsUser": 0},
        "volumeMounts": [
            *({"name": name, "mountPath": path} for name, path in folders.items()),
            {"name": "kubeconfig", "mountPath": _MOUNTED},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - in the pod
        ],
    }
    spec: Obj = {
        "nodeName": node,
        "serviceAccountName": _NAMESPACE,
        "hostAliases": [{"ip": address, "hostnames": [shards.HOST]}],
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        "volumes": [
            *({"name": name, "hostPath": {"path": path}} for name, path in folders.items()),
            {"name": "kubeconfig", "configMap": {"name": _JUDGE}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }
    return [made, {**object_of("v1", "Pod", _JUDGE, namespace=_NAMESPACE), "spec": spec}]


def _in_container(node: str, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command in the container of that pod, without the kubelet. Raises AssertionError if it has none."""
    ctr = [programs.DOCKER, "exec", node, "ctr", "--namespace", "k8s.io"]
    label = f'labels."io.kubernetes.container.name"=={_JUDGE}'
    found = call([*ctr, "containers", "list", "--quiet", label]).split()
    if len(found) != 1:
        raise AssertionError(f"{node} has {len(found)} containers of the pod {_JUDGE}")
    return programs.run([*ctr, "tasks", "exec", "--exec-id", secrets.token_hex(4), found[0], *command], timeout=_RUN)


def _set_unknown(cluster: Cluster, node: str) -> None:
    """Set the node's condition Ready as the cluster does when its kubelet has ended.

    This cluster would wait for a day, because nodes of scenarios have no kubelet.
    """
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": now}
    patch = json.dumps({"status": {"conditions": [ready]}})
    cluster.kubectl("patch", "node", node, "--subresource=status", "--type=strategic", "--patch", patch)
