"""Requirements of scenarios (`@needs:` tags): one check each, grouped by the component that they are about."""

from dra_conformance.engine.requirements import (
    compute_domain,
    control_plane,
    device_plugin,
    driver,
    kubelet,
    nvml,
    scheduling,
    webhook,
)
from dra_conformance.engine.requirements.registry import Requirement, Unmet, find, registered

__all__ = [
    "Requirement",
    "Unmet",
    "compute_domain",
    "control_plane",
    "device_plugin",
    "driver",
    "find",
    "kubelet",
    "nvml",
    "registered",
    "scheduling",
    "webhook",
]
