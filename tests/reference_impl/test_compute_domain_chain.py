"""The whole chain once: pods with GPU, MIG and channel claims, from creation to the container and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from fabric_bench import ROOT, bench
from test_compute_domain import Fabric

from dra_api.objects import COMPUTE_DOMAINS, DEVICE_CLASSES, PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_SLICES, Obj
from dra_conformance.kubelet.kubelet import Kubelet
from reference_impl.claim_controller.controller import ClaimController
from reference_impl.scheduler.options import SchedulerOptions
from reference_impl.scheduler.scheduler import Scheduler


class Chain(Fabric):
    """All components but the binder (the scheduler binds directly), on one node."""

    def components(self) -> Kubelet:
        lab = self.lab
        for path in sorted((ROOT / "fixtures/deviceclasses").glob("*.yaml")):
            self.client.create(DEVICE_CLASSES, yaml.safe_load(path.read_text()))
        node = lab.base / "n1"
        kubelet = Kubelet(self.client, lab.clock, "n1", node, registration_dir=node / "r")
        lab.run(kubelet)
        lab.run(ClaimController(self.client, clock=lab.clock))
        lab.run(Scheduler(self.client, clock=lab.clock, options=SchedulerOptions(publish="direct")))
        return kubelet

    def gpu_template(self, name: str, device_class: str) -> None:
        spec = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": device_class}}]}}
        body = {"metadata": {"name": name, "namespace": "default"}, "spec": {"spec": spec}}
        self.client.create(RESOURCE_CLAIM_TEMPLATES, body)

    def pod(self, name: str, **templates: str) -> Obj:
        claims = [{"name": key, "resourceClaimTemplateName": value} for key, value in templates.items()]
        container = {"name": "main", "image": "x", "resources": {"claims": [{"name": key} for key in templates]}}
        spec = {"containers": [container], "resourceClaims": claims, "schedulerName": "default-scheduler"}
        return self.client.create(PODS, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Chain]:
    with bench(tmp_path) as lab:
        lab.node("n1", "dgx-h100-mig")
        yield Chain(lab)


def test_gpu_mig_and_channel_reach_the_container(chain: Chain) -> None:
    kubelet = chain.components()
    chain.daemons()
    chain.lab.gpu_plugin("n1")
    chain.plugin()
    chain.domain(nodes=1)
    chain.gpu_template("gpu", "gpu.nvidia.com")
    chain.gpu_template("mig", "mig.nvidia.com")
    chain.pod("workload", gpu="gpu", mig="mig", imex="channel")
    view = kubelet.wait_running("default", "workload", 20)["main"]
    nodes = {node.path for node in view.device_nodes}
    assert "/dev/nvidia-caps-imex-channels/channel0" in nodes
    assert "/dev/nvidia0" in nodes  # the MIG device's parent
    assert any(path.startswith("/dev/nvidia-caps/nvidia-cap") for path in nodes)
    assert view.env["NVIDIA_VISIBLE_DEVICES"] == "void"
    assert chain.becomes("Ready")
    chain.client.delete(PODS, "workload", "default")
    assert chain.lab.eventually(lambda: chain.client.find(PODS, "workload", "default") is None, PODS, 20)
    left = [path.name for path in (chain.lab.base / "n1/cdi").iterdir()]
    assert left == ["k8s.compute-domain.nvidia.com-device_base.yaml"]
    assert chain.lab.eventually(lambda: not chain.status().get("nodes"), COMPUTE_DOMAINS)
    assert len(chain.client.list(RESOURCE_SLICES).items) == 2


def test_xid_reaches_slice_and_pod_status(chain: Chain) -> None:
    kubelet = chain.components()
    chain.lab.gpu_plugin("n1")
    chain.gpu_template("gpu", "gpu.nvidia.com")
    chain.pod("workload", gpu="gpu")
    view = kubelet.wait_running("default", "workload", 20)["main"]
    (path,) = [node.path for node in view.device_nodes if node.path.removeprefix("/dev/nvidia").isdigit()]
    minor = int(path.removeprefix("/dev/nvidia"))
    chain.lab.machines["n1"].inject_xid(minor, 48)

    def tainted() -> list[str]:
        slices = chain.lab.slices()
        return [d["name"] for found in slices for d in found["spec"]["devices"] if d.get("taints")]

    def health() -> list[str]:
        status = chain.client.get(PODS, "workload", "default")["status"]
        return [
            resource["health"]
            for container in status["containerStatuses"]
            for entry in container.get("allocatedResourcesStatus") or ()
            for resource in entry["resources"]
        ]

    assert chain.lab.eventually(lambda: tainted() == [f"gpu-{minor}"], RESOURCE_SLICES)
    assert chain.lab.eventually(lambda: health() == ["Unhealthy"], PODS)
