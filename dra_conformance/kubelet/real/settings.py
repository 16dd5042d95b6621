"""The configuration files of containerd and a kubelet of one node. Pure functions of paths and names.

Settings differ from the defaults because several nodes share one machine: folders, cgroups, no listening port, no
eviction for the machine's disk or memory, no priorities that a container of a CI system cannot set. `syncFrequency` is
shorter, so that retries take seconds instead of minutes.

Source: containerd 2.x docs/cri/config.md (version 3 of the file); kubelet.config.k8s.io/v1beta1, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from dra_conformance.kubelet.real.image import SANDBOX_IMAGE
from dra_conformance.kubelet.topology import NONE, Topology

CNI_PLUGIN = "dra-loopback"
STATE = Path("/run/containerd")
"""containerd's state. It is below /run, which belongs to the node and is empty after a reboot: containers end then."""
TASKS = STATE / "io.containerd.runtime.v2.task" / "k8s.io"
"""The folder with a bundle for each container that runs."""
DEVICE_PLUGINS = Path("/var/lib/kubelet/device-plugins")
"""The kubelet's folder of device plugins, which it has built in."""
_SHOWN_ANNOTATIONS = ("dra.test/*",)


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one node. `root` is the kubelet's root folder, short enough for sockets."""

    root: Path
    cdi_roots: tuple[Path, ...]

    @property
    def socket(self) -> Path:
        """The socket of containerd."""
        return self.root / "containerd.sock"

    @property
    def containerd_config(self) -> Path:
        """containerd's configuration."""
        return self.root / "containerd.toml"

    @property
    def kubelet_config(self) -> Path:
        """The kubelet's configuration."""
        return self.root / "kubelet.yaml"

    @property
    def storage(self) -> Path:
        """containerd's images and containers."""
        return self.root / "containerd"

    @property
    def cni(self) -> Path:
        """The folder with the network plugin and its configuration."""
        return self.root / "cni"

    @property
    def pod_logs(self) -> Path:
        """The folder of the containers' output."""
        return self.root / "pod-logs"


def containerd(layout: Layout, *, runc: Path) -> str:
    """containerd's configuration as TOML."""
    quoted = {key: _text(value) for key, value in _containerd_words(layout, runc).items()}
    return "\n".join(f"{key} = {value}" for key, value in quoted.items()) + "\n"


def _containerd_words(layout: Layout, runc: Path) -> dict[str, Any]:
    images = "plugins.'io.containerd.cri.v1.images'"
    runtime = "plugins.'io.containerd.cri.v1.runtime'"
    runc_table = f"{runtime}.containerd.runtimes.runc"
    return {
        "version": 3,
        "root": str(layout.storage),
        "state": str(STATE),
        "grpc.address": str(layout.socket),
        "disabled_plugins": ["io.containerd.nri.v1.nri", "io.containerd.tracing.processor.v1.otlp"],
        f"{images}.snapshotter": "overlayfs",
        f"{images}.pinned_images.sandbox": SANDBOX_IMAGE,
        f"{runtime}.cdi_spec_dirs": [str(path) for path in layout.cdi_roots],
        f"{runtime}.disable_apparmor": True,
        # A sandbox sets a priority that needs CAP_SYS_RESOURCE; without it, use the harness' own.
        f"{runtime}.restrict_oom_score_adj": True,
        f"{runtime}.cni.bin_dirs": [str(layout.cni)],
        f"{runtime}.cni.conf_dir": str(layout.cni),
        f"{runtime}.cni.use_internal_loopback": True,
        f"{runc_table}.runtime_type": "io.containerd.runc.v2",
        # Those of scripted device plugins, so that they are in the configuration of the container.
        f"{runc_table}.container_annotations": list(_SHOWN_ANNOTATIONS),
        f"{runc_table}.options.BinaryName": str(runc),
        f"{runc_table}.options.SystemdCgroup": False,
    }


def _text(value: Any) -> str:
    # JSON's texts, numbers, truth values and lists are TOML's too.
    return orjson.dumps(value).decode()


def cni() -> bytes:
    """Return the configuration of a network without connections."""
    return orjson.dumps({"cniVersion": "1.0.0", "name": "none", "plugins": [{"type": CNI_PLUGIN}]})


def kubelet(
    layout: Layout,
    *,
    cgroup_root: str,
    feature_gates: Mapping[str, bool] | None = None,
    topology: Topology | None = None,
) -> dict[str, Any]:
    """The kubelet's configuration file."""
    never = {"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%"}
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "enableServer": False,
        "healthzPort": 0,
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "containerRuntimeEndpoint": f"unix://{layout.socket}",
        "podLogsDir": str(layout.pod_logs),
        "volumePluginDir": str(layout.root / "volume-plugins"),
        "resolvConf": "",
        # No server listens there; without an address the kubelet logs a warning for every pod.
        "clusterDNS": ["198.18.0.10"],
        # How soon a failed Prepare is tried again: one to one and a half times this long. The default is a minute.
        "syncFrequency": "5s",
        # How soon the counts of devices are in the Node; the report that nothing has changed keeps its default.
        "nodeStatusUpdateFrequency": "1s",
        "nodeStatusReportFrequency": "5m",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup_root,
        # Refused by default since 1.35; no scenario depends on it.
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "oomScoreAdj": 0,
        "evictionHard": {**never, "imagefs.available": "0%", "imagefs.inodesFree": "0%"},
        "imageGCHighThresholdPercent": 100,
        "serializeImagePulls": False,
        "logging": {"format": "json", "verbosity": 4, "flushFrequency": "100ms"},
        **({"featureGates": dict(feature_gates)} if feature_gates else {}),
        **(_topology_manager(topology) if topology is not None and topology.policy != NONE else {}),
    }


def _topology_manager(topology: Topology) -> dict[str, Any]:
    options = {"topologyManagerPolicyOptions": dict(topology.options)} if topology.options else {}
    return {"topologyManagerPolicy": topology.policy, "topologyManagerScope": topology.scope, **options}


def kubelet_flags(layout: Layout, *, node: str, kubeconfig: Path) -> Sequence[str]:
    """The kubelet's command line."""
    return [
        f"--config={layout.kubelet_config}",
        f"--kubeconfig={kubeconfig}",
        f"--root-dir={layout.root}",
        f"--cert-dir={layout.root / 'pki'}",
        f"--hostname-override={node}",
    ]
