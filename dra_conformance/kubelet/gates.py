"""Settings of the kubelet: feature gates of its release, and delays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gates:
    """Feature gates that change how a kubelet handles claims; the defaults are those of 1.37 but for the last one.

    `resource_health_status`: watch device health and show it (ResourceHealthStatus, rule DRA-302).
    `resource_health_status_message`: show the message too (ResourceHealthStatusMessage, rule DRA-299).
    `optional_node_operations`: skip a driver's calls if all of its results say so (DRAOptionalNodeOperations, 1.37,
    rule DRA-281).
    `workload_resource_claims`: pods may use claims that are reserved for their PodGroup or that it owns
    (DRAWorkloadResourceClaims, rule DRA-274e). On by default: the API server drops the group of a pod while the gate
    GenericWorkload, which this one needs, is off.
    """

    resource_health_status: bool = True
    resource_health_status_message: bool = True
    optional_node_operations: bool = False
    workload_resource_claims: bool = True


GATES: Mapping[str, str] = {
    "ResourceHealthStatus": "resource_health_status",
    "ResourceHealthStatusMessage": "resource_health_status_message",
    "DRAOptionalNodeOperations": "optional_node_operations",
    "DRAWorkloadResourceClaims": "workload_resource_claims",
}
"""The fields of `Gates` by the names of the gates."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The kubelet's delays, in seconds of its clock; the defaults are the real kubelet's where a rule names them.

    `call`: deadline of Prepare and Unprepare (rule DRA-268). `registration`: deadline of GetInfo and
    NotifyRegistrationStatus. `wipe`: from the loss of a driver's last connection to the deletion of its slices (rule
    DRA-286). `reconcile`: between rounds that look for claims of pods that are gone (rule DRA-277). `health`: how
    long a health statement holds if it does not say (rule DRA-297). `health_retry`: from a health stream's end to the
    next attempt (rule DRA-298). `pod_backoff` and `pod_backoff_max`: between attempts to start or end one pod; the
    harness starts lower than a real kubelet, so that scenarios are quick. A real one waits 10 to 15 s to end a pod, and
    60 to 90 s after a failed Prepare (`syncFrequency` with jitter; pkg/kubelet/pod_workers.go, completeWork, 1.36).
    `registration_backoff`, `registration_backoff_max`: between attempts to register a socket.
    """

    call: float = 45.0
    registration: float = 1.0
    wipe: float = 30.0
    reconcile: float = 60.0
    health: float = 30.0
    health_retry: float = 5.0
    pod_backoff: float = 0.25
    pod_backoff_max: float = 10.0
    registration_backoff: float = 0.5
    registration_backoff_max: float = 122.0
