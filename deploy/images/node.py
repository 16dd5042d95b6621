"""A node image for kind, assembled from pinned Go modules and Debian packages.

For machines that reach no registry with kind's own images (`kindest/node`). The layout and the files of the node (the
entrypoint, systemd units, containerd's configuration) are those of kind's module at the pinned version. The programs
are Kubernetes' and containerd's, built from their modules, and Debian's runc. The network of the pods is `pod-network`,
one route for each node, instead of kindnet; there is no cluster DNS and no storage provisioner.

Containers of the node start from images that containerd imports when the node boots.
"""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from deploy.images import archive, debian

KIND_MODULE, KIND_VERSION = "sigs.k8s.io/kind", "v0.33.0"
NAME = "dra-conformance/kind-node"
NETWORK = "dra-conformance.local/pod-network"
PAUSE = "dra-conformance.local/pause:1"

_PACKAGES = (
    "bash",
    "ca-certificates",
    "conntrack",
    "containernetworking-plugins",
    "ethtool",
    "findutils",
    "grep",
    "hostname",
    "iproute2",
    "iptables",
    "jq",
    "kmod",
    "mawk",
    "mount",
    "nftables",
    "procps",
    # Debian's has libseccomp, whose headers a build of the module needs.
    "runc",
    "sed",
    "systemd",
    "systemd-sysv",
    "util-linux",
)
_CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")
_NODE = ("kubeadm", "kubectl", "kube-proxy", "pause", "pod-network")
_CONTAINERS = {
    "containerd": "usr/local/bin/containerd",
    "containerd-shim-runc-v2": "usr/local/bin/containerd-shim-runc-v2",
    "ctr": "usr/local/bin/ctr",
}
PROGRAMS = ("control-plane", "kind-node", *_CONTAINERS)
"""The programs that must be built (`python -m verification build`)."""

_PLUGINS = ("host-local", "loopback", "portmap", "ptp")
_UNITS = "etc/systemd/system"
_IMPORT = """[Unit]
Description=Import the images of the node
After=containerd.service
Requires=containerd.service
Before=kubelet.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -euc 'for archive in /kind/images/*.tar; do ctr --namespace=k8s.io images import "$archive"; done'

[Install]
WantedBy=multi-user.target
"""
_NETWORK = """apiVersion: v1
kind: ServiceAccount
metadata: {name: pod-network, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: pod-network}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: pod-network}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: pod-network}
subjects:
- {kind: ServiceAccount, name: pod-network, namespace: kube-system}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: pod-network, namespace: kube-system}
spec:
  selector: {matchLabels: {app: pod-network}}
  template:
    metadata: {labels: {app: pod-network}}
    spec:
      serviceAccountName: pod-network
      hostNetwork: true
      priorityClassName: system-node-critical
      tolerations: [{operator: Exists}]
      containers:
      - name: pod-network
        image: IMAGE
        imagePullPolicy: Never
        command: [/usr/local/bin/pod-network]
        env:
        - name: NODE_NAME
          valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
        securityContext: {capabilities: {add: [NET_ADMIN]}}
        resources: {requests: {cpu: 10m, memory: 30Mi}}
        volumeMounts: [{name: configuration, mountPath: /etc/cni/net.d}]
      volumes:
      - {name: configuration, hostPath: {path: /etc/cni/net.d, type: DirectoryOrCreate}}
"""
_STORAGE = """apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard}
provisioner: kubernetes.io/no-provisioner
"""
# Units that a container does without: they need devices, or the console of the machine.
_REMOVED = re.compile(
    r"\./?(lib/systemd/system/(multi-user|local-fs|basic)\.target\.wants/.|etc/systemd/system/[^/]+\.wants/."
    r"|lib/systemd/system/sockets\.target\.wants/.*(udev|initctl)"
    r"|lib/systemd/system/sysinit\.target\.wants/systemd-tmpfiles-setup\.service)"
)


class NodeImageError(Exception):
    """A program that the image needs is not there; the text has the next step."""


def write(target: Path, *, bin_dir: Path, report: Callable[[str], None] = lambda text: None) -> str:
    """Write the archive of the node image and return the image's name.

    Args:
        target: the archive.
        bin_dir: where the built programs are.
        report: receives a line for each step.

    Raises: NodeImageError, DebianError.
    """
    if missing := [name for name in PROGRAMS if not (bin_dir / name).exists()]:
        raise NodeImageError(f"not built: {', '.join(missing)} (make third-party-node)")
    version = _printed(bin_dir / "control-plane", "kube-apiserver", "--version").split()[-1]
    name = f"{NAME}:{version}"
    with tempfile.TemporaryDirectory(prefix="dra-node-image-", dir=target.parent) as folder:
        work = Path(folder)
        report("reading Debian packages")
        debian.write(work / "debian.tar", _PACKAGES)
        debian.write(work / "nft.tar", ("nftables",), variant="extract")
        _without_units(work / "debian.tar", work / "base.tar")
        report("writing the images of the node's containers")
        _pod_images(work, bin_dir=bin_dir, version=version)
        report("writing the node image")
        with archive.Layer(work / "node.tar") as layer:
            _node_files(layer, kind_files(), bin_dir=bin_dir, version=version)
            for path in sorted((work / "pods").glob("*.tar")):
                layer.file(f"kind/images/{path.name}", path, mode=0o644)
        image = archive.Image(
            tags=[name],
            entrypoint=["/usr/local/bin/entrypoint", "/sbin/init"],
            environment={"container": "docker", "PATH": _PATH},
            stop_signal="SIGRTMIN+3",
        )
        archive.write(target, image, [work / "base.tar", work / "node.tar"])
    return name


def kind_files() -> Path:
    """Return the folder of the pinned kind module with the files of a node image.

    Raises: NodeImageError if Go is missing or the module cannot be downloaded.
    """
    words = ["go", "mod", "download", "-json", f"{KIND_MODULE}@{KIND_VERSION}"]
    try:
        done = subprocess.run(words, capture_output=True, check=False)
    except FileNotFoundError:
        raise NodeImageError("Go is not installed; it downloads the module of kind") from None
    answer = json.loads(done.stdout or b"{}")
    if done.returncode != 0 or "Dir" not in answer:
        raise NodeImageError(f"{KIND_MODULE} {KIND_VERSION}: {answer.get('Error') or done.stderr.decode().strip()}")
    return Path(answer["Dir"], "images/base/files")


def _pod_images(work: Path, *, bin_dir: Path, version: str) -> None:
    """Write the images of the node's own containers to the folder `pods`."""
    (work / "pods").mkdir()
    programs = work / "programs.tar"
    with archive.Layer(programs) as layer:
        _programs(layer, bin_dir, folder="usr/local/bin")
    # Where kubeadm looks for them; the version of etcd is the one that this kubeadm expects.
    listed = _printed(bin_dir / "kind-node", "kubeadm", "config", "images", "list", "--kubernetes-version", version)
    wanted = [name for name in listed.split() if "coredns" not in name]
    proxy = [name for name in wanted if "kube-proxy" in name]
    others = [name for name in wanted if name not in proxy]
    common = archive.Image(
        tags=[*others, PAUSE, f"{NETWORK}:{version}"],
        entrypoint=["/usr/local/bin/pause"],
        environment={"PATH": _PATH},
    )
    archive.write(work / "pods/kubernetes.tar", common, [programs])
    with_nft = archive.Image(tags=proxy, entrypoint=["/usr/local/bin/kube-proxy"], environment={"PATH": _PATH})
    archive.write(work / "pods/kube-proxy.tar", with_nft, [work / "nft.tar", programs])


def _programs(layer: archive.Layer, bin_dir: Path, *, folder: str) -> None:
    for program, links in (("control-plane", _CONTROL_PLANE), ("kind-node", _NODE)):
        layer.file(f"{folder}/{program}", bin_dir / program)
        for link in links:
            layer.link(f"{folder}/{link}", program)


def _node_files(layer: archive.Layer, files: Path, *, bin_dir: Path, version: str) -> None:
    """Add what a node has beside Debian: kind's files with changes, the programs, and the manifests."""
    unit, configuration = f"{_UNITS}/containerd.service", "etc/containerd/config.toml"
    scripts = {f"kind/bin/{script.name}": script for script in sorted((files / "kind/bin").iterdir())}
    layer.tree("etc", files / "etc", besides=(unit, configuration))
    layer.tree("kind", files / "kind", besides=scripts)
    for name, script in scripts.items():
        layer.file(name, script)
    layer.file("usr/local/bin/entrypoint", files / "usr/local/bin/entrypoint")
    # A negative value needs CAP_SYS_RESOURCE, which not every machine gives to containers.
    text = (files / unit).read_text(encoding="utf-8")
    layer.text(unit, re.sub(r"(?m)^(OOMScoreAdjust|Limit\w+)=.*\n", "", text))
    layer.text(configuration, _containerd((files / configuration).read_text(encoding="utf-8")))
    layer.text("etc/containerd/cri-base.json", _container_defaults(bin_dir))
    layer.text(f"{_UNITS}/node-images.service", _IMPORT)
    for name in ("containerd", "kubelet", "node-images", "undo-mount-hacks"):
        layer.link(f"{_UNITS}/multi-user.target.wants/{name}.service", f"/{_UNITS}/{name}.service")
    layer.link(f"{_UNITS}/systemd-binfmt.service", "/dev/null")
    layer.text("etc/systemd/journald.conf.d/kind.conf", "[Journal]\nReadKMsg=no\n")
    layer.folder("etc/kubernetes/manifests")
    for name, place in _CONTAINERS.items():
        layer.file(place, bin_dir / name)
    _programs(layer, bin_dir, folder="usr/bin")
    layer.folder("opt/cni/bin")
    for plugin in _PLUGINS:
        layer.link(f"opt/cni/bin/{plugin}", f"/usr/lib/cni/{plugin}")
    layer.text("kind/version", version)
    layer.text("kind/manifests/default-cni.yaml", _NETWORK.replace("IMAGE", f"{NETWORK}:{version}"))
    layer.text("kind/manifests/default-storage.yaml", _STORAGE)


def _containerd(text: str) -> str:
    """Return kind's configuration for machines without CAP_SYS_RESOURCE."""
    text = text.replace("restrict_oom_score_adj = false", "restrict_oom_score_adj = true")
    return re.sub(r'sandbox_image = ".*"', f'sandbox_image = "{PAUSE}"', text)


def _container_defaults(bin_dir: Path) -> str:
    """Return the specification that containerd starts from: its own default with kind's hook and without limits."""
    specification = json.loads(_printed(bin_dir / "ctr", "oci", "spec"))
    specification["process"].pop("rlimits", None)
    specification["hooks"] = {"createContainer": [{"path": "/kind/bin/mount-product-files.sh"}]}
    return json.dumps(specification)


def _without_units(source: Path, target: Path) -> None:
    """Copy a root file system without the units that a node does not need."""
    with tarfile.open(source) as old, tarfile.open(target, "w") as new:
        for entry in old:
            if not _REMOVED.match(entry.name if entry.name.startswith(".") else f"./{entry.name}"):
                new.addfile(entry, old.extractfile(entry) if entry.isreg() else None)


def _printed(program: Path, *arguments: str) -> str:
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
