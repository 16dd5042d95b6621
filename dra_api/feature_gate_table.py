"""The feature gates of DRA in each release. Written by `python -m tools.gen_feature_gates`; do not edit.

Source: pkg/features/kube_features.go of k8s.io/kubernetes 1.34.4, 1.35.4, 1.36.3, 1.37.2.
The entries are those for the default minimum compatibility version of a server, which is the release before its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from dra_api.gate import Gate

DRA_GATES: Mapping[str, Mapping[str, Gate]] = {
    "1.34": {
        "DRAAdminAccess": Gate(True, "Beta"),
        "DRAConsumableCapacity": Gate(False, "Alpha"),
        "DRADeviceBindingConditions": Gate(False, "Alpha"),
        "DRADeviceTaints": Gate(False, "Alpha"),
        "DRAExtendedResource": Gate(False, "Alpha"),
        "DRAPartitionableDevices": Gate(False, "Alpha"),
        "DRAPrioritizedList": Gate(True, "Beta"),
        "DRAResourceClaimDeviceStatus": Gate(True, "Beta"),
        "DRASchedulerFilterTimeout": Gate(True, "Beta"),
        "DynamicResourceAllocation": Gate(True, "GA"),
        "ResourceHealthStatus": Gate(False, "Alpha"),
    },
    "1.35": {
        "DRAAdminAccess": Gate(True, "Beta", needs=("DynamicResourceAllocation",)),
        "DRAConsumableCapacity": Gate(False, "Alpha", needs=("DynamicResourceAllocation",)),
        "DRADeviceBindingConditions": Gate(
            False, "Alpha", needs=("DynamicResourceAllocation", "DRAResourceClaimDeviceStatus")
        ),
        "DRADeviceTaintRules": Gate(False, "Alpha", needs=("DRADeviceTaints",)),
        "DRADeviceTaints": Gate(False, "Alpha", needs=("DynamicResourceAllocation",)),
        "DRAExtendedResource": Gate(False, "Alpha", needs=("DynamicResourceAllocation",)),
        "DRAPartitionableDevices": Gate(False, "Alpha", needs=("DynamicResourceAllocation",)),
        "DRAPrioritizedList": Gate(True, "Beta", needs=("DynamicResourceAllocation",)),
        "DRAResourceClaimDeviceStatus": Gate(True, "Beta"),
        "DRASchedulerFilterTimeout": Gate(True, "Beta", needs=("DynamicResourceAllocation",)),
        "DynamicResourceAllocation": Gate(True, "GA", locked=True),
        "ResourceHealthStatus": Gate(False, "Alpha", needs=("DynamicResourceAllocation",)),
    },
    "1.36": {
        "DRAAdminAccess": Gate(True, "GA", locked=True, needs=("DynamicResourceAllocation",)),
        "DRAConsumableCapacity": Gate(True, "Beta", needs=("DynamicResourceAllocation",)),
        "DRADeviceBindingConditions": Gate(
            True, "Beta", needs=("DynamicResourceAllocation", "DRAResourceClaimDeviceStatus")
        ),
        "DRADeviceTaintRules": Gate(False, "Beta", needs=("DRADeviceTaints",)),
        "DRADeviceTaints": Gate(True, "Beta", needs=("DynamicResourceAllocation",)),
        "DRAExtendedResource": Gate(True, "Beta", needs=("DynamicResourceAllocation",)),
        "DRAListTypeAttributes": Gate(False, "Alpha", needs=("DynamicResourceAllocation",)),
        "DRANodeAllocatableResources": Gate(False, "Alpha", needs=("DynamicResourceAllocation",)),
        "DRAPartitionableDevices": Gate(True, "Beta", needs=("DynamicResourceAllocation",)),
        "DRAPrioritizedList": Gate(True, "GA", needs=("DynamicResourceAllocation",)),
        "DRAResourceClaimDeviceStatus": Gate(True, "Beta"),
        "DRAResourceClaimGranularStatusAuthorization": Gate(
            True, "Beta", needs=("DynamicResourceAllocation", "DRAResourceClaimDeviceStatus")
        ),
        "DRAResourcePoolStatus": Gate(False, "Alpha", needs=("DynamicResourceAllocation",)),
        "DRASchedulerFilterTimeout": Gate(True, "Beta", needs=("DynamicResourceAllocation",)),
        "DRAWorkloadResourceClaims": Gate(False, "Alpha", needs=("DynamicResourceAllocation", "GenericWorkload")),
        "DynamicResourceAllocation": Gate(True, "GA", locked=True),
        "ResourceHealthStatus": Gate(True, "Beta", needs=("DynamicResourceAllocation",)),
        "ResourceHealthStatusMessage": Gate(True, "Beta", needs=("ResourceHealthStatus",)),
    },
    "1.37": {
        "DRAAdminAccess": Gate(True, "GA", locked=True, needs=("DynamicResourceAllocation",)),
        "DRAConsumableCapacity": Gate(True, "Beta", needs=("DynamicResourceAllocation",)),
        "DRADerivedAttributes": Gate(False, "Alpha", needs=("DynamicResourceAllocation",)),
        "DRADeviceBindingConditions": Gate(
            True, "Beta", needs=("DynamicResourceAllocation", "DRAResourceClaimDeviceStatus")
        ),
        "DRADeviceCompatibilityGroups": Gate(
            False, "Alpha", needs=("DynamicResourceAllocation", "DRAPartitionableDevices")
        ),
        "DRADeviceTaintRules": Gate(True, "GA", needs=("DRADeviceTaints",)),
        "DRADeviceTaints": Gate(True, "GA", needs=("DynamicResourceAllocation",)),
        "DRAExtendedResource": Gate(True, "GA", locked=True, needs=("DynamicResourceAllocation",)),
        "DRAFractionalCapacityRange": Gate(False, "Beta", needs=("DRAConsumableCapacity",)),
        "DRAListTypeAttributes": Gate(False, "Alpha", needs=("DynamicResourceAllocation",)),
        "DRANodeAllocatableResources": Gate(False, "Alpha", needs=("DynamicResourceAllocation",)),
        "DRAOptionalNodeOperations": Gate(False, "Alpha", needs=("DynamicResourceAllocation", "NodeDeclaredFeatures")),
        "DRAPartitionableDevices": Gate(True, "Beta", needs=("DynamicResourceAllocation",)),
        "DRAPartitionableDevicesType": Gate(
            False, "Alpha", needs=("DynamicResourceAllocation", "DRAPartitionableDevices", "DRAResourcePoolStatus")
        ),
        "DRAPrioritizedList": Gate(True, "GA", locked=True, needs=("DynamicResourceAllocation",)),
        "DRAResourceClaimDeviceStatus": Gate(True, "GA", locked=True),
        "DRAResourceClaimGranularStatusAuthorization": Gate(
            True, "Beta", needs=("DynamicResourceAllocation", "DRAResourceClaimDeviceStatus")
        ),
        "DRAResourcePoolStatus": Gate(False, "Alpha", needs=("DynamicResourceAllocation",)),
        "DRASchedulerFilterTimeout": Gate(True, "Beta", needs=("DynamicResourceAllocation",)),
        "DRAWorkloadResourceClaims": Gate(False, "Beta", needs=("DynamicResourceAllocation", "GenericWorkload")),
        "DynamicResourceAllocation": Gate(True, "GA", locked=True),
        "ResourceHealthStatus": Gate(True, "Beta", needs=("DynamicResourceAllocation",)),
        "ResourceHealthStatusMessage": Gate(True, "Beta", needs=("ResourceHealthStatus",)),
    },
}
"""The gates of DRA by release (major and minor version)."""

PREREQUISITES: Mapping[str, Mapping[str, Gate]] = {
    "1.34": {},
    "1.35": {
        "GenericWorkload": Gate(False, "Alpha"),
        "NodeDeclaredFeatures": Gate(False, "Alpha"),
    },
    "1.36": {
        "GenericWorkload": Gate(False, "Alpha"),
        "NodeDeclaredFeatures": Gate(True, "Beta"),
    },
    "1.37": {
        "GenericWorkload": Gate(False, "Beta"),
        "NodeDeclaredFeatures": Gate(True, "GA", locked=True),
    },
}
"""The gates of other features that those of DRA need, by release."""
