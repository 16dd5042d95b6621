"""The manifests, from the permission table, the CRDs and the DeviceClasses of the suite. Pure functions of them.

Each file is complete for one component; `kubectl apply -f deploy/kubernetes` installs all of them. Files in `optional`
replace controllers that a cluster has already, or have settings that not every cluster needs.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from deploy.manifests import webhook
from deploy.manifests.deployments import deployment
from deploy.manifests.node_plugins import IMEX, INVENTORIES, compute_domain_plugin, driver
from deploy.manifests.parts import HEADER, IMAGE, NAME_LABEL, NAMESPACE, account, object_of, text_of
from dra_api.objects import Obj
from dra_conformance.core import assets

SCHEDULER = "kai-scheduler"
"""The scheduler of the example pods."""

CLIENT = """\
import glob
import pynvml as nvml

print("files:", *sorted(glob.glob("/dev/nvidia[0-9]*") + glob.glob("/dev/nvidia-caps/*")))
nvml.nvmlInit()
for index in range(nvml.nvmlDeviceGetCount()):
    gpu = nvml.nvmlDeviceGetHandleByIndex(index)
    print("GPU:", nvml.nvmlDeviceGetUUID(gpu), nvml.nvmlDeviceGetName(gpu))
    for number in range(nvml.nvmlDeviceGetMaxMigDeviceCount(gpu)):
        try:
            device = nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, number)
        except nvml.NVMLError_NotFound:
            break
        print("MIG device:", nvml.nvmlDeviceGetUUID(device), nvml.nvmlDeviceGetName(device))
"""
"""The program of the example pods."""


def files() -> Iterator[tuple[str, str]]:
    """Yield path and content of every file."""
    for name, objects in (
        ("00-namespace.yaml", [object_of("v1", "Namespace", NAMESPACE, namespace="")]),
        ("10-crds.yaml", crds()),
        ("20-deviceclasses.yaml", device_classes()),
        ("30-fake-gpus.yaml", [fake_gpus("dgx-h100-mig")]),
        ("40-driver.yaml", driver()),
        ("50-scheduler.yaml", scheduler()),
        ("60-binder.yaml", deployment("binder")),
        ("70-network-policies.yaml", [closed_to_others()]),
        ("optional/claim-controller.yaml", deployment("claim-controller")),
        (
            "optional/compute-domains.yaml",
            [*compute_domain_crds(), *compute_domain_classes(), *compute_domains()],
        ),
        ("optional/taint-eviction.yaml", deployment("taint-eviction")),
        ("optional/webhook.yaml", webhook.objects()),
        ("examples/gpu-pod.yaml", example("gpu-pod", template="one-gpu", device_class="gpu.nvidia.com")),
        ("examples/mig-pod.yaml", example("mig-pod", template="one-mig-device", device_class="mig.nvidia.com")),
    ):
        yield name, HEADER + text_of(objects)


def crds() -> list[Obj]:
    """Return the CustomResourceDefinitions of the BindRequest protocol."""
    return list(_read("crds", "bindrequests", "podgroups"))


def compute_domain_crds() -> list[Obj]:
    """Return the CustomResourceDefinitions of ComputeDomains."""
    return list(_read("crds", "computedomains", "computedomaincliques"))


def device_classes() -> list[Obj]:
    """Return the classes of GPUs and MIG devices."""
    return list(_read("deviceclasses", "gpu.nvidia.com", "mig.nvidia.com"))


def compute_domain_classes() -> list[Obj]:
    """Return the classes of IMEX channels and of the daemons of ComputeDomains."""
    return list(_read("deviceclasses", "compute-domain-daemon.nvidia.com", "compute-domain-default-channel.nvidia.com"))


def scheduler() -> list[Obj]:
    """Return the scheduler, which writes BindRequests."""
    return deployment("scheduler", ["--scheduler-name", SCHEDULER, "--publish", "bind-request"])


def compute_domains() -> list[Obj]:
    """Return the controller and the kubelet plugin of ComputeDomains, and the account of their daemons.

    The daemons have the image of the components, with a simulated nvidia-imex: no NVLink between nodes is needed.
    """
    return [
        *deployment(
            "compute-domain",
            ["--namespace", NAMESPACE, *IMEX, "--image-name", IMAGE],
            role="compute-domain-controller",
            own=("pods", "computedomaincliques"),
        ),
        *compute_domain_plugin(),
        *account(
            "compute-domain-daemon", "compute-domain-daemon-service-account", own=("pods", "computedomaincliques")
        ),
    ]


def fake_gpus(inventory: str) -> Obj:
    """Return the ConfigMap of the inventories: one for all nodes. A key `<node>.yaml` is for one node."""
    made = object_of("v1", "ConfigMap", INVENTORIES)
    return {**made, "data": {"default.yaml": inventory}}


def example(name: str, *, template: str, device_class: str) -> list[Obj]:
    """Return a pod with one device of a ResourceClaimTemplate, scheduled by the reference scheduler and binder.

    It prints what an unmodified NVML client sees.
    """
    request = {"name": "gpu", "exactly": {"deviceClassName": device_class, "count": 1}}
    claim = object_of("resource.k8s.io/v1", "ResourceClaimTemplate", template, namespace="default")
    pod = {
        **object_of("v1", "Pod", name, namespace="default"),
        "spec": {
            "schedulerName": SCHEDULER,
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "main",
                    "image": IMAGE,
                    "command": ["/usr/bin/python3", "-c", CLIENT],
                    "resources": {"claims": [{"name": "gpu"}]},
                }
            ],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template}],
        },
    }
    return [{**claim, "spec": {"spec": {"devices": {"requests": [request]}}}}, pod]


def closed_to_others() -> Obj:
    """Return the policy that no other pod connects to the components: none serves any, except the webhook.

    Probes come from the node of a pod, which policies never block. Other pods of the namespace are not concerned: they
    are not ours, or they are daemons of ComputeDomains, which connect to each other.
    """
    programs = [*driver(), *scheduler(), *compute_domains()]
    for component in ("binder", "claim-controller", "taint-eviction"):
        programs += deployment(component)
    pods = [obj["spec"]["selector"]["matchLabels"] for obj in programs if obj["kind"] in ("Deployment", "DaemonSet")]
    selector = {
        "key": NAME_LABEL,
        "operator": "In",
        "values": sorted({webhook.NAME, *(one[NAME_LABEL] for one in pods)}),
    }
    policy = object_of("networking.k8s.io/v1", "NetworkPolicy", "no-ingress")
    return {**policy, "spec": {"podSelector": {"matchExpressions": [selector]}, "policyTypes": ["Ingress"]}}


def _read(folder: str, *names: str) -> Iterator[Obj]:
    for name in names:
        path = assets.fixtures() / folder / f"{name}.yaml"
        yield from yaml.safe_load_all(path.read_text(encoding="utf-8"))
