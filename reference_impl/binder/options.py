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
    `volume_timeout`: seconds that the volumes of a pod may take to be bound.
    `claim_timeout`: seconds that the requests for the claims of a pod may take together (KAI-163).
    `reservation_namespace`: the namespace of the reservation pods for shares of GPUs; without one, BindRequests for
    shares fail, and the binder neither watches pods nor reads others than those to bind.
    `reservation_service_account`: the service account of the reservation pods.
    `reservation_timeout`: seconds until a reservation pod must have the index of its GPU.
    `scale_adjust_namespace`: while a pod of this namespace is unschedulable, no GPU is reserved (KAI-213).
    `cdi_enabled`: the visible devices of a share are CDI devices of the device plugin (KAI-214).
    """

    workers: int = 10  # as KAI's max-concurrent-reconciles
    dynamic_resource_allocation: bool | None = None
    conflict_tries: int = 5
    binding_timeout: float = 600.0
    volume_timeout: float = 120.0
    claim_timeout: float = 120.0
    event_delay: float = 5.0
    reservation_namespace: str = ""
    reservation_service_account: str = "kai-resource-reservation"
    reservation_timeout: float = 40.0
    scale_adjust_namespace: str = ""
    cdi_enabled: bool = False
