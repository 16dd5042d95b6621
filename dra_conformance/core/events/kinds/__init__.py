"""All kinds of events. `AnyEvent` is their union; the field `kind` distinguishes them."""

from __future__ import annotations

from typing import get_args

from dra_conformance.core.events.kinds.components import (
    ApiWrite,
    ComponentChanged,
    DriverChanged,
    FaultInjected,
    NvmlChanged,
    ObjectChanged,
)
from dra_conformance.core.events.kinds.event import Event
from dra_conformance.core.events.kinds.hardware import MACHINE, GpuOnNode, InventoryUsed, MigPlacement
from dra_conformance.core.events.kinds.kubelet import (
    KubeletCall,
    KubeletCdi,
    KubeletClaim,
    KubeletConnection,
    KubeletDevicePlugin,
    KubeletEvent,
    KubeletHealth,
    KubeletLogCall,
    KubeletPod,
    KubeletProblem,
    KubeletRegistration,
    KubeletSlices,
    KubeletState,
)
from dra_conformance.core.events.kinds.run import (
    Call,
    CallsMade,
    ControlPlaneReady,
    LogRecord,
    PlannedRule,
    PlannedScenario,
    ProblemFound,
    RunFinished,
    RunPlanned,
    RunStarted,
    SuiteInfo,
    TargetInfo,
    WorkerFinished,
)
from dra_conformance.core.events.kinds.scenario import (
    CheckMade,
    CleanupStarted,
    ClockAdvanced,
    KillsFinished,
    PrepareReturned,
    ProgramOutput,
    ScenarioFinished,
    ScenarioRetried,
    ScenarioStarted,
    StepStarted,
    SweepFinished,
    Traceback,
    WebhookCalled,
)

AnyEvent = (
    RunStarted
    | RunPlanned
    | ControlPlaneReady
    | LogRecord
    | CallsMade
    | ProblemFound
    | WorkerFinished
    | RunFinished
    | ScenarioStarted
    | StepStarted
    | CheckMade
    | Traceback
    | ScenarioRetried
    | CleanupStarted
    | ProgramOutput
    | ScenarioFinished
    | ClockAdvanced
    | WebhookCalled
    | PrepareReturned
    | SweepFinished
    | KillsFinished
    | ComponentChanged
    | DriverChanged
    | NvmlChanged
    | InventoryUsed
    | FaultInjected
    | ApiWrite
    | ObjectChanged
    | KubeletState
    | KubeletRegistration
    | KubeletConnection
    | KubeletCall
    | KubeletLogCall
    | KubeletClaim
    | KubeletPod
    | KubeletSlices
    | KubeletHealth
    | KubeletDevicePlugin
    | KubeletCdi
    | KubeletProblem
)

KINDS: dict[str, type[Event]] = {str(kind.__struct_config__.tag): kind for kind in get_args(AnyEvent)}
"""The class of each kind."""

__all__ = [
    "KINDS",
    "MACHINE",
    "AnyEvent",
    "ApiWrite",
    "Call",
    "CallsMade",
    "CheckMade",
    "CleanupStarted",
    "ClockAdvanced",
    "ComponentChanged",
    "ControlPlaneReady",
    "DriverChanged",
    "Event",
    "FaultInjected",
    "GpuOnNode",
    "InventoryUsed",
    "KillsFinished",
    "KubeletCall",
    "KubeletCdi",
    "KubeletClaim",
    "KubeletConnection",
    "KubeletDevicePlugin",
    "KubeletEvent",
    "KubeletHealth",
    "KubeletLogCall",
    "KubeletPod",
    "KubeletProblem",
    "KubeletRegistration",
    "KubeletSlices",
    "KubeletState",
    "LogRecord",
    "MigPlacement",
    "NvmlChanged",
    "ObjectChanged",
    "PlannedRule",
    "PlannedScenario",
    "PrepareReturned",
    "ProblemFound",
    "ProgramOutput",
    "RunFinished",
    "RunPlanned",
    "RunStarted",
    "ScenarioFinished",
    "ScenarioRetried",
    "ScenarioStarted",
    "StepStarted",
    "SuiteInfo",
    "SweepFinished",
    "TargetInfo",
    "Traceback",
    "WebhookCalled",
    "WorkerFinished",
]
