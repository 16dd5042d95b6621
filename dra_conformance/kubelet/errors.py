"""Errors between a kubelet and a driver.

Direct callers get them as exceptions. Pod workers write the same messages into pod events and the log.
"""

from __future__ import annotations


class KubeletError(Exception):
    """The base of all that the kubelet harness raises."""


class RegistrationRefused(KubeletError):
    """The kubelet cannot take a plugin: its type, name, versions or endpoint are wrong, or it does not answer."""


class KubeletEnded(KubeletError):
    """The kubelet's program has ended by itself."""


class DriverNotRegistered(KubeletError):
    """No instance of a driver is registered with this kubelet (rule DRA-273), or none was in time."""


class PrepareFailed(KubeletError):
    """The claims of a pod could not be prepared; the pod stays pending and the kubelet tries again (rule DRA-265)."""


class UnprepareFailed(KubeletError):
    """The claims of a pod could not be unprepared; the pod's end is delayed (rule DRA-276)."""


class ClaimRefused(PrepareFailed):
    """The pod may not use a claim, or the claim is not ready: nothing was recorded and no driver was called."""


class CDIError(KubeletError):
    """A CDI specification is wrong, or a device id that a driver returned is in none."""


class CheckpointCorrupt(KubeletError):
    """The kubelet's checkpoint does not read back; the real kubelet refuses to start too."""


class SettingsRefused(KubeletError):
    """The kubelet does not start with its settings on this machine."""


class AdmissionRefused(KubeletError):
    """The kubelet refuses a pod for good. `reason` is that of the pod's status."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class DeviceStartFailed(KubeletError):
    """A container cannot start with its devices of a plugin; the kubelet tries again."""
