"""What can be chosen about the reference scheduler."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from reference_impl.scheduler.allocator.model import Features

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
    `writers`: how many threads write decisions. `max_steps`: attempts to place a device before a node is given up.
    `initial_backoff` and `max_backoff`: seconds before a pod that did not fit is tried again after a change.
    """

    publish: Publish = "bind-request"
    revision: Revision = "kai-0.17"
    dynamic_resource_allocation: bool | None = None
    scheduler_names: frozenset[str] = frozenset({"default-scheduler", "kai-scheduler"})
    seed: int | None = None
    writers: int = 4
    max_steps: int = 20_000
    initial_backoff: float = 0.02
    max_backoff: float = 2.0
    sync_timeout: float = 30.0
    features: Features = field(default_factory=Features)


def dra_wanted(options: SchedulerOptions) -> bool:
    """Whether DRA is to be used where the API server serves it.

    The documented revision of KAI has it off by default (docs/dra/README.md); release 0.17 and kube-scheduler use it
    wherever it is served (pkg/common/feature_gates/feature_gates.go; the gate is GA since Kubernetes 1.34).
    """
    if options.dynamic_resource_allocation is not None:
        return options.dynamic_resource_allocation
    return options.publish == "direct" or options.revision == "kai-0.17"
