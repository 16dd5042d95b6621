"""NVLink fabrics that a Fabric Manager partitions. This driver has no client of the Fabric Manager.

Source: pkg/fabricmanager/fabric.go of kubernetes-sigs/dra-driver-nvidia-gpu v0.5.0; rules NV-311, NV-312.
"""

from __future__ import annotations

from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin.driver_root import DriverRoot

_NEW_SWITCHES = b"SW_MNG"
"""The mark of NVLink 5 switches in the product data of their InfiniBand device."""


def has_fabric(root: DriverRoot) -> bool:
    """Return whether the node's GPUs are connected by switches that a Fabric Manager manages."""
    if any((root.procfs / "driver/nvidia-nvswitch/devices").glob("*")):
        return True
    return any(_NEW_SWITCHES in path.read_bytes() for path in root.sysfs.glob("class/infiniband/*/device/vpd"))


def check(root: DriverRoot) -> None:
    """Raise ComponentError if the node has a fabric, which the driver could not partition (rule NV-312)."""
    if has_fabric(root):
        raise ComponentError(
            "feature gate FabricManagerPartitioning: the node has an NVLink fabric, and the driver cannot reach its "
            "Fabric Manager; switch the gate off (FabricManagerPartitioning=false)"
        )
