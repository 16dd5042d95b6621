"""Events of the harness's kubelet, and of the real one as far as its log shows them."""

from __future__ import annotations

from typing import Any

import msgspec

from dra_conformance.core.events.kinds.event import Event


class KubeletEvent(Event, frozen=True, kw_only=True):
    """The base of the kubelet's events. The kubelet sets `node`."""

    node: str = ""


class KubeletState(KubeletEvent, tag="kubelet-state", frozen=True, kw_only=True):
    """The kubelet or its node changed state. `release` and `containerd` are versions of real programs."""

    step: str
    drivers: tuple[str, ...] = ()
    release: str = ""
    containerd: str = ""


class KubeletRegistration(KubeletEvent, tag="kubelet-registration", frozen=True, kw_only=True):
    """One step of a plugin's registration.

    `service` and `health` are the DRA and the health service that the kubelet calls; an empty `health`: no health is
    read. `failed`: the plugin's response to NotifyRegistrationStatus.
    """

    step: str
    socket: str = ""
    driver: str = ""
    endpoint: str = ""
    service: str = ""
    health: str = ""
    type: str = ""
    versions: tuple[str, ...] = ()
    registered: bool | None = None
    error: str = ""
    failed: str = ""


class KubeletConnection(KubeletEvent, tag="kubelet-connection", frozen=True, kw_only=True):
    """The connection to a driver's socket opened or closed."""

    driver: str
    endpoint: str
    connected: bool


class KubeletCall(KubeletEvent, tag="kubelet-call", frozen=True, kw_only=True):
    """The kubelet called a driver. `code` is the gRPC code, `seconds` the duration."""

    driver: str
    endpoint: str
    service: str
    method: str
    request: dict[str, Any]
    code: str
    seconds: float
    response: dict[str, Any] = msgspec.field(default_factory=dict)
    error: str = ""


class KubeletLogCall(KubeletEvent, tag="kubelet-log-call", frozen=True, kw_only=True):
    """A call of the real kubelet to a driver, as its log shows it."""

    driver: str
    endpoint: str
    method: str
    request: Any = None
    response: Any = None
    error: str = ""


class KubeletClaim(KubeletEvent, tag="kubelet-claim", frozen=True, kw_only=True):
    """A claim was prepared or unprepared."""

    step: str
    claim: str
    uid: str
    driver: str = ""
    cdi_device_ids: tuple[str, ...] = ()


class KubeletPod(KubeletEvent, tag="kubelet-pod", frozen=True, kw_only=True):
    """A pod on the node changed. `containers`: the devices, mounts and environment that each container received."""

    step: str
    uid: str
    pod: str = ""
    phase: str = ""
    started_at: str = ""
    containers: dict[str, Any] = msgspec.field(default_factory=dict)


class KubeletSlices(KubeletEvent, tag="kubelet-slices", frozen=True, kw_only=True):
    """The kubelet deleted the ResourceSlices of a driver that is gone."""

    step: str
    driver: str = ""
    slices: tuple[str, ...] = ()
    selector: Any = None


class KubeletHealth(KubeletEvent, tag="kubelet-health", frozen=True, kw_only=True):
    """A driver's health stream delivered devices, or ended."""

    step: str
    driver: str = ""
    devices: tuple[dict[str, Any], ...] = ()
    reason: str = ""


class KubeletDevicePlugin(KubeletEvent, tag="kubelet-device-plugin", frozen=True, kw_only=True):
    """The device manager started or stopped, a plugin registered, or its ListAndWatch stream delivered or ended.

    `devices`: the health of each device by id. `error`: why a registration was refused, or a stream ended.
    """

    step: str
    resource: str = ""
    endpoint: str = ""
    version: str = ""
    devices: dict[str, str] = msgspec.field(default_factory=dict)
    error: str = ""


class KubeletCdi(KubeletEvent, tag="kubelet-cdi", frozen=True, kw_only=True):
    """A CDI file is not usable."""

    file: str
    reasons: tuple[str, ...]


class KubeletProblem(KubeletEvent, tag="kubelet-problem", frozen=True, kw_only=True):
    """Something failed in the kubelet; `about` names the part of it."""

    message: str
    about: str = ""
    driver: str = ""
    socket: str = ""
    pod: str = ""
    uid: str = ""
    reason: str = ""
    traceback: str = ""
