"""The emulated kubelet: registration, Prepare and Unprepare, CDI, pod status, health, restarts.

`Kubelet` is a whole node; `PluginHandle` calls one driver directly. The package imports nothing of `reference_impl`.
"""

from dra_conformance.kubelet.calls import PluginHandle, PluginInstance
from dra_conformance.kubelet.cdi import CDIDevice, CDIProblem, CDIRegistry, CDISpec, read_spec, validate_spec
from dra_conformance.kubelet.container_view import ContainerView, DeviceNode, Mount
from dra_conformance.kubelet.errors import (
    CDIError,
    CheckpointCorrupt,
    ClaimRefused,
    DriverNotRegistered,
    KubeletError,
    PrepareFailed,
    RegistrationRefused,
    UnprepareFailed,
)
from dra_conformance.kubelet.gates import Gates, Timing
from dra_conformance.kubelet.kubelet import Kubelet

PACKAGE = __name__
"""The package of the emulated kubelet, for errors that it raises in this process."""

__all__ = [
    "PACKAGE",
    "CDIDevice",
    "CDIError",
    "CDIProblem",
    "CDIRegistry",
    "CDISpec",
    "CheckpointCorrupt",
    "ClaimRefused",
    "ContainerView",
    "DeviceNode",
    "DriverNotRegistered",
    "Gates",
    "Kubelet",
    "KubeletError",
    "Mount",
    "PluginHandle",
    "PluginInstance",
    "PrepareFailed",
    "RegistrationRefused",
    "Timing",
    "UnprepareFailed",
    "read_spec",
    "validate_spec",
]
