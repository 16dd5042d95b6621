"""Events of the components and of the API server."""

from __future__ import annotations

from typing import Any

import msgspec

from dra_conformance.core.events.kinds.event import Event


class ComponentChanged(Event, tag="component", frozen=True, kw_only=True):
    """A component was started, stopped, killed or restarted. `exitCode`: why it had to be restarted."""

    component: str
    implementation: str
    action: str
    exit_code: int | None = None


class DriverChanged(Event, tag="driver", frozen=True, kw_only=True):
    """A node's driver was started, stopped or killed."""

    node: str
    action: str
    implementation: str = ""
    driver: str = ""


class NvmlChanged(Event, tag="nvml", frozen=True, kw_only=True):
    """The NVML library was loaded, or a fake node was created with an inventory."""

    action: str
    inventory: str
    node: str = ""
    real: bool = False


class FaultInjected(Event, tag="fault", frozen=True, kw_only=True):
    """The harness injected a fault into a request. `what` describes it."""

    component: str
    verb: str
    resource: str
    name: str
    what: str


class ApiWrite(Event, tag="api", frozen=True, kw_only=True):
    """A write and its response. Long bodies are left out (`bodyBytes` is their length), secrets always."""

    agent: str
    method: str
    path: str
    status: int
    body: str = ""
    body_bytes: int = 0
    reason: str = ""
    message: str = ""


class ObjectChanged(Event, tag="object", frozen=True, kw_only=True):
    """The harness's own watch observed a change. `type` is ADDED, MODIFIED or DELETED."""

    type: str
    resource: str
    name: str
    version: str = ""
    summary: dict[str, Any] = msgspec.field(default_factory=dict)
