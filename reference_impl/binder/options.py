"""Options of the binder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class BinderOptions:
    """Settings of one binder.

    `workers`: pods bound at the same time. `dynamic_resource_allocation`: True or False sets the feature gate; None
    enables it if the API server serves resource.k8s.io v1beta1 or newer at start (KAI-041).
    `conflict_tries` and `conflict_delay` (seconds): how often a claim write is tried after a conflict
    (KAI-154). `max_retry_delay`: the cap, in seconds, of the wait between attempts of one BindRequest.
    `event_delay`: seconds that condition, event and phase of a bound pod may wait while other pods are to be bound.
    `binding_timeout`: seconds that a claim may be allocated before its devices are ready (KEP-5007).
    `bind_timeout`: seconds that the claim writes of one attempt may take (KAI's `bindTimeoutSeconds`, 120).

    Two rules of KAI 0.17 cannot work, so the strict value is the default:
    `existing_allocation="keep"` keeps an allocation that differs from the requested one and still binds (KAI-113);
    `uncovered_claims="bind"` binds a pod whose claim is not allocated (KAI-115).
    `rollback`: release reservations after the last attempt (KAI keeps them: KAI-159, KAI-160).
    """

    workers: int = 10  # as KAI's max-concurrent-reconciles
    dynamic_resource_allocation: bool | None = None
    conflict_tries: int = 5
    conflict_delay: float = 0.01
    max_retry_delay: float = 60.0
    bind_timeout: float = 120.0
    binding_timeout: float = 600.0
    event_delay: float = 5.0
    existing_allocation: Literal["refuse", "keep"] = "refuse"
    uncovered_claims: Literal["refuse", "bind"] = "refuse"
    rollback: bool = True
    event_source: str = "binder"
