"""A control plane with nodes, slices, a class and a template on it, for measurements."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.objects import (
    CRDS,
    DEVICE_CLASSES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Obj,
)
from dra_conformance.control_plane.binaries import BinariesControlPlane
from dra_conformance.core import assets
from verification.third_party.catalogue import KUBERNETES

BIN = Path(__file__).resolve().parents[2] / "verification" / "bin"
DRIVER = "bench.dra.test"


@contextlib.contextmanager
def embedded(*, https: bool = False) -> Iterator[ApiServerEmulator]:
    """An embedded control plane with the suite's CRDs."""
    with tempfile.TemporaryDirectory(prefix="dra-bench-") as folder:
        # The real clock: durations are what is measured.
        plane = ApiServerEmulator(directory=Path(folder), clock=RealClock(), https=https)
        plane.start()
        try:
            client = KubeClient(plane.transport())
            for path in sorted((assets.fixtures() / "crds").glob("*.yaml")):
                for crd in yaml.safe_load_all(path.read_text()):
                    client.create(CRDS, crd)
            yield plane
        finally:
            plane.stop()


@contextlib.contextmanager
def api_server(*, real: bool) -> Iterator[ApiServerEmulator | BinariesControlPlane]:
    """An API server for programs: the embedded one, or kube-apiserver with etcd as `make third-party` builds them."""
    if not real:
        with embedded(https=True) as plane:
            yield plane
        return
    with tempfile.TemporaryDirectory(prefix="dra-bench-") as name:
        folder = Path(name)
        programs = programs_in_bin(folder)
        programs.start()
        try:
            yield programs
        finally:
            programs.stop()


def programs_in_bin(folder: Path, gates: Mapping[str, bool] | None = None) -> BinariesControlPlane:
    """The control plane that `make third-party` builds, not started, with its files and logs in `folder`.

    `gates` are feature gates of all its programs.
    """
    return BinariesControlPlane(
        kubernetes_version=KUBERNETES,
        directory=folder / "api",
        logs=folder / "logs",
        bin_dir=str(BIN),
        feature_gates=gates,
    )


def has_real_api_server() -> bool:
    """Return whether `make third-party` has built a kube-apiserver; print a note if not."""
    if (BIN / "kube-apiserver").exists():
        return True
    print("  kube-apiserver is not built (make third-party): the embedded one only")
    return False


def populate(client: KubeClient, *, nodes: int, devices: int) -> None:
    """Nodes with `devices` devices each in one slice, a class and a template for one device."""
    client.create(
        DEVICE_CLASSES,
        {
            "metadata": {"name": "gpu"},
            "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
        },
    )
    client.create(
        RESOURCE_CLAIM_TEMPLATES,
        {
            "metadata": {"name": "one", "namespace": "default"},
            "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}},
        },
    )
    for number in range(nodes):
        name = f"node-{number:04d}"
        client.create(NODES, {"metadata": {"name": name}})
        client.create(
            RESOURCE_SLICES,
            {
                "metadata": {"name": f"slice-{number:04d}"},
                "spec": {
                    "driver": DRIVER,
                    "nodeName": name,
                    "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                    "devices": [
                        {
                            "name": f"gpu-{index}",
                            "attributes": {"type": {"string": "gpu"}, "index": {"int": index}},
                            "capacity": {"memory": {"value": "80Gi"}},
                        }
                        for index in range(devices)
                    ],
                },
            },
        )


def pod(name: str) -> dict[str, object]:
    """A pod with one claim from the template."""
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "containers": [{"name": "main", "image": "pause", "resources": {"claims": [{"name": "gpu"}]}}],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}],
        },
    }


def pod_with_device(client: KubeClient, name: str, *, pool: str, device: str, **spec: object) -> Obj:
    """Create a pod whose claim has a device and is reserved for it, as a scheduler leaves them, and return the pod.

    `spec` are further fields of the pod's spec.
    """
    metadata = {"name": name, "namespace": "default"}
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    claim = client.create(RESOURCE_CLAIMS, {"metadata": metadata, "spec": {"devices": {"requests": [request]}}})
    own: Obj = {
        "containers": [{"name": "main", "image": "pause", "resources": {"claims": [{"name": "gpu"}]}}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
    }
    pod = client.create(PODS, {"metadata": metadata, "spec": {**own, **spec}})
    claim["status"] = {
        "allocation": {"devices": {"results": [{"request": "gpu", "driver": DRIVER, "pool": pool, "device": device}]}},
        "reservedFor": [{"resource": "pods", "name": name, "uid": pod["metadata"]["uid"]}],
    }
    client.update_status(RESOURCE_CLAIMS, claim)
    return pod
