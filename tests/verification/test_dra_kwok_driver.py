"""Tests of what karpenter's dra-kwok-driver publishes. It serves no kubelet, so `--driver` cannot start it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from polling import wait_until

from dra_api.client import KubeClient
from dra_api.objects import CRDS, NODES, RESOURCE_SLICES, Obj, Resource, name_of
from dra_api.transport import HttpTransport
from dra_conformance.components.pools import completeness
from verification.third_party.catalogue import BIN, HERE

PROGRAM = BIN / "dra-kwok-driver"
CONFIGS = Resource("test.karpenter.sh", "v1alpha1", "draconfigs", "DRAConfig", namespaced=False)
PERIOD = 45.0  # seconds; the program looks every 30

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="dra-kwok-driver is not built (make third-party-all)")


def crd() -> Path:
    """The file in the module that the program was built from."""
    command = ["go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/karpenter"]
    done = subprocess.run(command, cwd=HERE / "go" / "karpenter", capture_output=True, text=True, check=True)
    return Path(done.stdout.strip()) / "dra-kwok-driver/pkg/apis/crds/test.karpenter.sh_draconfigs.yaml"


def pool(name: str, *slices: list[str]) -> Obj:
    terms = [{"matchExpressions": [{"key": "kind", "operator": "In", "values": ["gpu"]}]}]
    devices = [{"devices": [{"name": device} for device in names]} for names in slices]
    return {"name": name, "nodeSelectorTerms": terms, "resourceSlices": devices}


@pytest.fixture
def client() -> Iterator[KubeClient]:
    with tempfile.TemporaryDirectory(prefix="kwok-") as short:  # sockets have short paths
        yield from running(Path(short) / "s")


def running(folder: Path) -> Iterator[KubeClient]:
    """Serve a control plane, and start the program beside it."""
    command = [sys.executable, "-m", "dra_conformance", "control-plane", "serve", "--dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as plane:
        try:
            assert plane.stdout is not None
            assert any(line.startswith("Ctrl-C") for line in plane.stdout)
            made = KubeClient(HttpTransport.from_kubeconfig(folder / "kubeconfig"))
            made.create(CRDS, yaml.safe_load(crd().read_text()))
            change = {"metadata": {"annotations": {"kwok.x-k8s.io/node": "fake"}, "labels": {"kind": "gpu"}}}
            made.patch(NODES, "n1", change)
            wait_until(lambda: made.serves(CONFIGS))
            environment = {**os.environ, "KUBECONFIG": str(folder / "kubeconfig")}
            with subprocess.Popen([PROGRAM], env=environment, stderr=subprocess.DEVNULL) as driver:
                try:
                    yield made
                finally:
                    driver.kill()
        finally:
            plane.terminate()


def devices(client: KubeClient) -> list[str]:
    found = [one["name"] for obj in client.list(RESOURCE_SLICES).items for one in obj["spec"].get("devices") or ()]
    return sorted(found)


def test_a_change_of_one_slice_leaves_the_pool_incomplete(client: KubeClient) -> None:
    """A defect: only the changed slice gets the next generation (resourceslice.go), so the others are obsolete."""
    spec = {"driver": "gpu.kwok.test", "pools": [pool("one", ["a"], ["b"])]}
    metadata = {"name": "config"}
    created = client.create(
        CONFIGS, {"apiVersion": CONFIGS.api_version, "kind": CONFIGS.kind, "metadata": metadata, "spec": spec}
    )
    wait_until(lambda: devices(client) == ["a", "b"], PERIOD)
    assert completeness(client.list(RESOURCE_SLICES).items)[0]
    created["spec"]["pools"] = [pool("one", ["a"], ["c"])]
    changed = client.update(CONFIGS, created)
    wait_until(lambda: devices(client) == ["a", "c"], PERIOD)
    slices = client.list(RESOURCE_SLICES).items
    assert sorted(obj["spec"]["pool"]["generation"] for obj in slices) == [0, 1]
    assert not completeness(slices)[0]
    # Another defect: two pools of the configuration have one name on a node, each with its own number of slices.
    changed["spec"]["pools"].append(pool("two", ["d"]))
    client.update(CONFIGS, changed)
    client.delete(RESOURCE_SLICES, name_of(slices[0]))
    wait_until(lambda: devices(client) == ["a", "c", "d"], PERIOD)
    pools = [obj["spec"]["pool"] for obj in client.list(RESOURCE_SLICES).items]
    assert {one["name"] for one in pools} == {"gpu.kwok.test/n1"}
    assert {one["resourceSliceCount"] for one in pools} == {1, 2}
