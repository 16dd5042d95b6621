"""Optional features of components: what a vendor declares with `--supported-features`.

A rule of the catalogue is marked with the feature that it depends on. If the feature is declared, its rules are judged
or `untestable`. If it is not, they are `not-supported`. The names of feature gates are declared in the same list.
"""

from __future__ import annotations

from dataclasses import dataclass

from dra_api.feature_gates import GATES


@dataclass(frozen=True, slots=True)
class OptionalFeature:
    """An optional feature: the component that has it, one sentence of description, and whether the reference has it."""

    component: str
    summary: str
    in_reference: bool = True


FEATURES: dict[str, OptionalFeature] = {
    "configuration": OptionalFeature(
        "driver", "The driver reads opaque parameters: it prepares valid samples and refuses invalid ones."
    ),
    "health": OptionalFeature("driver", "The driver streams the health of every device (DRAResourceHealth)."),
    "device-taints": OptionalFeature("driver", "The driver publishes taints of its devices."),
    "dynamic-devices": OptionalFeature("driver", "The driver publishes other devices while it runs."),
    "device-metadata": OptionalFeature(
        "driver", "The driver writes metadata of devices for containers (KEP-5304), and does so as it is started."
    ),
    "helper-library": OptionalFeature(
        "driver", "The driver is based on k8s.io/dynamic-resource-allocation/kubeletplugin."
    ),
    "rolling-update": OptionalFeature(
        "driver", "Two instances of the driver can run on a node while it is updated (kubeletplugin.RollingUpdate)."
    ),
    "memory-and-cores": OptionalFeature(
        "driver", "The driver shares each GPU by memory and cores and has HAMi-core limit the containers, as HAMi does."
    ),
    "nvidia-checkpoint": OptionalFeature(
        "driver", "The driver's checkpoint.json has the layout of NVIDIA's driver: v1 and v2, each with a checksum."
    ),
    "plain-device-files": OptionalFeature(
        "driver", "The driver accepts plain files in place of the device files in its driver root."
    ),
    "domain-events": OptionalFeature(
        "compute-domain-controller", "The ComputeDomain controller records events about ComputeDomains."
    ),
    "domain-conditions": OptionalFeature(
        "compute-domain-controller",
        "The ComputeDomain controller shows problems in status.conditions of ComputeDomains, which their CRD has.",
    ),
    "filter-timeout": OptionalFeature(
        "scheduler", "The scheduler limits a search for devices (filterTimeout of DynamicResourcesArgs)."
    ),
    "evictions": OptionalFeature(
        "scheduler",
        "The scheduler evicts pods for others as KAI does: preemption, reclaim, consolidation.",
        in_reference=False,
    ),
    "node-pools": OptionalFeature(
        "scheduler",
        "The scheduler serves one node pool of KAI: by default nodes, queues and PodGroups without its label.",
        in_reference=False,
    ),
    "fair-share": OptionalFeature(
        "scheduler",
        "The scheduler divides resources between queues as KAI does, the queue of higher priority first.",
        in_reference=False,
    ),
    "sub-groups": OptionalFeature(
        "scheduler",
        "The scheduler places the pods of a PodGroup with sub-groups of KAI as the minimum of each sub-group requires.",
        in_reference=False,
    ),
    "volumes": OptionalFeature(
        "scheduler",
        "The scheduler of BindRequests places a pod only on nodes that can use its PersistentVolumes.",
        in_reference=False,
    ),
    "pod-grouper": OptionalFeature(
        "scheduler",
        "The scheduler, or a program beside it, creates PodGroups for pods that name none, as KAI's podgrouper does.",
        in_reference=False,
    ),
}
"""Every optional feature by name. Rules name theirs as `feature`."""


def choices() -> list[str]:
    """Return every name that `--supported-features` accepts: optional features, then feature gates."""
    return [*FEATURES, *GATES]
