"""Options of the reference scheduler."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from dra_api.feature_gates import ALLOCATOR_FEATURES
from reference_impl.errors import ComponentError
from reference_impl.scheduler.allocator.model import Features
from reference_impl.scheduler.bug_compatible import Release

STEPS_A_SECOND = 2_000
BINDING_TIMEOUT = 600.0
Publish = Literal["bind-request", "direct"]
Revision = Literal["kai-0.17", "documented"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerOptions:
    """Options of the scheduler.

    `publish`: hand a decision to the binder in a BindRequest, or bind the pod as kube-scheduler does.
    `revision`: the revision of KAI's BindRequest protocol: the documented one or that of release 0.17.
    `dynamic_resource_allocation`: the feature gate; None leaves it to the revision.
    `scheduler_names`: values of `spec.schedulerName` that this scheduler handles.
    `seed`: order of equally loaded nodes; None orders them by name.
    `writers`: how many threads write decisions; `event_delay`: seconds that the event Scheduled may wait for decisions
    that are to be written.
    `filter_timeout`: seconds after which the search on a node ends; 0: never (DRA-136, DRA-137). It counts steps
    instead of reading a clock, 2,000 for a second, so that a decision does not depend on the machine.
    `bug_compatible`: the Kubernetes release whose known deviations the allocator has (`1.37`); None: those of none.
    `binding_timeout`: seconds that a claim may be allocated before its binding conditions are met (publish=direct);
    None: 600.
    `initial_backoff` and `max_backoff`: seconds before a pod that did not fit is tried again after a change.
    """

    publish: Publish = "bind-request"
    revision: Revision = "kai-0.17"
    dynamic_resource_allocation: bool | None = None
    scheduler_names: frozenset[str] = frozenset({"default-scheduler", "kai-scheduler"})
    seed: int | None = None
    writers: int = 10
    event_delay: float = 5.0
    filter_timeout: float = 10.0
    initial_backoff: float = 0.02
    max_backoff: float = 2.0
    binding_timeout: float | None = None
    sync_timeout: float = 30.0
    features: Features = field(default_factory=Features)
    bug_compatible: Release | None = None

    @property
    def max_steps(self) -> int:
        """Return the number of attempts to place a device before the search on a node ends."""
        return max(round(self.filter_timeout * STEPS_A_SECOND), 1) if self.filter_timeout else sys.maxsize

    @property
    def ready_within(self) -> float:
        """Return seconds that a claim may be allocated before its binding conditions are met."""
        return BINDING_TIMEOUT if self.binding_timeout is None else self.binding_timeout

    @property
    def allocator_features(self) -> Features:
        """Return the features of the allocator.

        A BindRequest of KAI has no field for the operations that a device skips, nor for what devices use of their
        node: only a scheduler that writes allocations itself has these features. No release has them on by default.
        """
        direct = self.publish == "direct"
        return replace(
            self.features,
            optional_node_operations=self.features.optional_node_operations and direct,
            node_allocatable=self.features.node_allocatable and direct and self.bug_compatible is None,
        )

    def check(self) -> None:
        """Raise ComponentError for times that kube-scheduler refuses in DynamicResourcesArgs, and so for the same
        reasons.

        Source: pkg/scheduler/apis/config/validation, Kubernetes 1.36; DRA-138.
        """
        if self.filter_timeout < 0:
            raise ComponentError(f"filterTimeout {self.filter_timeout:g}s: must be 0 (no limit) or more")
        if self.binding_timeout is None:
            return
        if not self.features.binding_conditions:
            raise ComponentError(
                "bindingTimeout: may not be set while the feature gate DRADeviceBindingConditions is off"
            )
        if self.binding_timeout < 1:
            raise ComponentError(f"bindingTimeout {self.binding_timeout:g}s: must be 1 second or more")


# The field of `Features` for each feature of kube-scheduler's allocator.
_FIELDS: Mapping[str, str] = {
    "AdminAccess": "admin_access",
    "PrioritizedList": "prioritized_list",
    "PartitionableDevices": "partitionable_devices",
    "DeviceTaints": "device_taints",
    "DeviceBindingAndStatus": "binding_conditions",
    "ConsumableCapacity": "consumable_capacity",
    "ListTypeAttributes": "list_attributes",
    "FractionalCapacityRange": "fractional_ranges",
    "CompatibilityGroups": "compatibility_groups",
    "DerivedAttributes": "derived_attributes",
    "OptionalNodeOperations": "optional_node_operations",
}


def features_of(gates: Mapping[str, bool]) -> Features:
    """Return the allocator's features under feature gates; a gate that is not named leaves its feature on."""
    on = {_FIELDS[name]: all(gates.get(gate, True) for gate in needed) for name, needed in ALLOCATOR_FEATURES.items()}
    # Not features of the allocator in kube-scheduler, whose plugin creates the claims of extended resources and charges
    # to the node what devices use of it.
    return Features(
        **on,
        extended_resources=gates.get("DRAExtendedResource", True),
        node_allocatable=gates.get("DRANodeAllocatableResources", True),
    )


def dra_wanted(options: SchedulerOptions) -> bool:
    """Return whether to use DRA if the API server serves it.

    The documented revision of KAI has it off by default (docs/dra/README.md); release 0.17 and kube-scheduler use it
    wherever it is served (pkg/common/feature_gates/feature_gates.go; the gate is GA since Kubernetes 1.34).
    """
    if options.dynamic_resource_allocation is not None:
        return options.dynamic_resource_allocation
    return options.publish == "direct" or options.revision == "kai-0.17"
