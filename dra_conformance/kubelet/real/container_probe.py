"""The view from inside a real container: the JSON line that the scenario's program printed, as a `ContainerView`.

The program prints one line into the container's log (dra_conformance/go_programs/containers/node/show.go), which the
kubelet stores below its folder of pod logs in CRI's format. The program does not know its CDI devices: a device of the
node's CDI specs counts as injected if everything that it edits is visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from dra_api import regular_file
from dra_conformance.kubelet.cdi import CDIRegistry
from dra_conformance.kubelet.container_view import ContainerView, DeviceNode, Mount
from dra_conformance.kubelet.errors import KubeletError

Probe = Mapping[str, Any]


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


def view(sight: Probe, roots: Sequence[Path]) -> ContainerView:
    """A sight as a view; `roots` are the node's CDI folders."""
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
    )
    mounts = tuple(Mount(entry["path"], entry["source"], ()) for entry in sight["mounts"])
    return ContainerView(
        cdi_devices=tuple(_given(sight, roots)),
        env=dict(sight["env"]),
        device_nodes=devices,
        mounts=mounts,
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
