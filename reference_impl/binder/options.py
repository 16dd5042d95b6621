"""Options of the binder."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BinderOptions:
    """Settings of one binder.

    `workers`: pods bound at the same time. `dynamic_resource_allocation`: True or False sets the feature gate; None
    enables it if the API server serves resource.k8s.io v1beta1 or newer at start (KAI-041).
    `conflict_tries`: how often a claim write is tried while it conflicts (KAI-154).
    `event_delay`: seconds that condition, event and phase of a bound pod may wait while other pods are to be bound.
    `binding_timeout`: seconds that a claim may be allocated before its devices are ready (KEP-5007).
    """

    workers: int = 10  # as KAI's max-concurrent-reconciles
    dynamic_resource_allocation: bool | None = None
    conflict_tries: int = 5
    binding_timeout: float = 600.0
    event_delay: float = 5.0
