"""The view from inside a real container: the JSON line that the scenario's program printed, as a `ContainerView`.

The program prints one line into the container's log (dra_conformance/go_programs/containers/node/show.go), which the
kubelet stores below its folder of pod logs in CRI's format. The program does not know its CDI devices: a device of the
node's CDI specs counts as injected if everything that it edits is visible.

Annotations, and the sources and options of mounts, are not visible inside; they are read from the container's OCI
configuration, which exists while the container runs. Device nodes and mounts that every container has are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import orjson

from dra_api import regular_file
from dra_conformance.kubelet.cdi import CDIRegistry
from dra_conformance.kubelet.container_view import ContainerView, DeviceNode, Mount
from dra_conformance.kubelet.errors import KubeletError

Probe = Mapping[str, Any]

# The default devices of the OCI runtime specification (config-linux.md), and those of a terminal.
_EVERY_DEVICE = ("null", "zero", "full", "random", "urandom", "tty", "console", "ptmx", "pts/*")
# The file systems that containerd mounts in every container, and the files of a kubelet.
_EVERY_MOUNT = (
    *("/", "/proc", "/proc/*", "/sys", "/sys/*", "/dev", "/dev/pts", "/dev/mqueue", "/dev/shm", "/dev/console"),  # noqa: S108
    *(
        "/etc/hosts",
        "/etc/hostname",
        "/etc/resolv.conf",
        "/dev/termination-log",
        "/var/run/secrets/*",
        "/run/secrets/*",
    ),
)


@dataclass(frozen=True, slots=True)
class Bundle:
    """The OCI configuration of a container that runs: sources and options of mounts by path, and the annotations."""

    id: str
    pod_uid: str
    container: str
    mounts: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


def bundles(tasks: Path) -> Iterable[Bundle]:
    """Yield the configurations of the containers that run; `tasks` is containerd's folder of bundles."""
    for path in sorted(tasks.glob("*/config.json")):
        try:
            config = orjson.loads(path.read_bytes())
        except (OSError, orjson.JSONDecodeError):
            continue  # the container ends, or is being created
        annotations = config.get("annotations") or {}
        # Annotations of containerd for containers of Kubernetes; the sandbox of a pod has no container name.
        if name := annotations.get("io.kubernetes.cri.container-name"):
            yield Bundle(
                id=path.parent.name,
                pod_uid=annotations.get("io.kubernetes.cri.sandbox-uid", ""),
                container=name,
                mounts={one["destination"]: one.get("source", "") for one in config.get("mounts") or ()},
                options={one["destination"]: tuple(one.get("options") or ()) for one in config.get("mounts") or ()},
                annotations={key: value for key, value in annotations.items() if ".kubernetes." not in key},
            )


def read(pod_logs: Path, *, namespace: str, pod: str, uid: str, container: str) -> Probe:
    """The sight of the container's last life. Raises KubeletError while it has printed none."""
    folder = pod_logs / f"{namespace}_{pod}_{uid}" / container
    # The files are 0.log, 1.log, ...: one for each life of the container, so 10 comes after 9.
    logs = sorted(folder.glob("*.log"), key=lambda path: int(path.stem)) if folder.is_dir() else []
    for path in reversed(logs):
        for line in reversed(regular_file.read(path).decode(errors="replace").splitlines()):
            _, _, text = line.partition(" stdout F ")  # CRI: time, stream, F for a full line, the line
            if text.startswith('{"sight"'):
                found: Probe = orjson.loads(text)
                return found
    raise KubeletError(f"container {container} of pod {namespace}/{pod} has printed nothing yet")


def view(sight: Probe, roots: Sequence[Path], configured: Bundle | None = None) -> ContainerView:
    """A sight as a view; `roots` are the node's CDI folders. `configured`: the container's configuration if it runs."""
    sources = configured.mounts if configured else {}
    options = configured.options if configured else {}
    devices = tuple(
        DeviceNode(
            path=node["path"],
            type=node["type"],
            major=node["major"],
            minor=node["minor"],
            file_mode=None,
            permissions="rw" if node["allowed"] else "",
        )
        for node in sight["devices"]
        if not any(fnmatchcase(node["path"], f"/dev/{one}") for one in _EVERY_DEVICE)
    )
    mounts = tuple(
        Mount(entry["path"], sources.get(entry["path"]) or entry["source"], options.get(entry["path"], ()))
        for entry in sight["mounts"]
        if not any(fnmatchcase(entry["path"], one) for one in _EVERY_MOUNT)
    )
    return ContainerView(
        cdi_devices=tuple(_given(sight, roots)),
        env=dict(sight["env"]),
        device_nodes=devices,
        mounts=mounts,
        annotations=configured.annotations if configured else {},
    )


def _given(sight: Probe, roots: Sequence[Path]) -> Iterable[str]:
    env = {f"{name}={value}" for name, value in sight["env"].items()}
    nodes = {node["path"] for node in sight["devices"] if node["allowed"]}
    mounts = {entry["path"] for entry in sight["mounts"]}
    for device in CDIRegistry.read(roots).devices.values():
        edits = device.edits
        wanted_env = set(edits.get("env") or ())
        wanted_nodes = {raw["path"] for raw in edits.get("deviceNodes") or ()}
        wanted_mounts = {raw["containerPath"] for raw in edits.get("mounts") or ()}
        traces = wanted_env or wanted_nodes or wanted_mounts
        if traces and wanted_env <= env and wanted_nodes <= nodes and wanted_mounts <= mounts:
            yield device.id
