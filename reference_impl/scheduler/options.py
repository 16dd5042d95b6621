"""What can be chosen about the reference scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from reference_impl.scheduler.allocator.model import Features
from reference_impl.scheduler.bug_compatible import Release

Publish = Literal["bind-request", "direct"]
Revision = Literal["kai-0.17", "documented"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerOptions:
    """Options of the scheduler.

    `publish`: hand a decision to the binder in a BindRequest, or bind the pod as kube-scheduler does.
    `revision`: which revision of KAI's BindRequest protocol is spoken: the documented one or that of release 0.17.
    `dynamic_resource_allocation`: the feature gate; None leaves it to the revision.
    `scheduler_names`: values of `spec.schedulerName` that this scheduler answers to.
    `seed`: order of equally loaded nodes; None orders them by name.
    `writers`: how many threads write decisions; `tell_within`: seconds that the event Scheduled may wait for decisions
    that are to be written. `max_steps`: attempts to place a device before a node is given up.
    `bug_compatible`: the Kubernetes release whose known deviations the allocator has (`1.36`); None: those of none.
    `binding_timeout`: seconds that a claim may be allocated before its binding conditions are met (publish=direct).
    `initial_backoff` and `max_backoff`: seconds before a pod that did not fit is tried again after a change.
    """

    publish: Publish = "bind-request"
    revision: Revision = "kai-0.17"
    dynamic_resource_allocation: bool | None = None
    scheduler_names: frozenset[str] = frozenset({"default-scheduler", "kai-scheduler"})
    seed: int | None = None
    writers: int = 10
    tell_within: float = 5.0
    max_steps: int = 20_000
    initial_backoff: float = 0.02
    max_backoff: float = 2.0
    binding_timeout: float = 600.0
    sync_timeout: float = 30.0
    features: Features = field(default_factory=Features)
    bug_compatible: Release | None = None


# Kubernetes' names of the gates behind `Features`; what another gate is needed for is off with either.
_GATES: Mapping[str, str] = {
    "DRAAdminAccess": "admin_access",
    "DRAPrioritizedList": "prioritized_list",
    "DRAPartitionableDevices": "partitionable_devices",
    "DRADeviceTaints": "device_taints",
    "DRADeviceBindingConditions": "binding_conditions",
    "DRAResourceClaimDeviceStatus": "binding_conditions",
    "DRAConsumableCapacity": "consumable_capacity",
    "DRAListTypeAttributes": "list_attributes",
    "DRAExtendedResource": "extended_resources",
}


def features_of(gates: Mapping[str, bool]) -> Features:
    """The allocator's features under feature gates; a gate that is not named leaves its feature on."""
    return Features(**{_GATES[gate]: False for gate, on in gates.items() if gate in _GATES and not on})


def dra_wanted(options: SchedulerOptions) -> bool:
    """Whether DRA is to be used where the API server serves it.

    The documented revision of KAI has it off by default (docs/dra/README.md); release 0.17 and kube-scheduler use it
    wherever it is served (pkg/common/feature_gates/feature_gates.go; the gate is GA since Kubernetes 1.34).
    """
    if options.dynamic_resource_allocation is not None:
        return options.dynamic_resource_allocation
    return options.publish == "direct" or options.revision == "kai-0.17"
