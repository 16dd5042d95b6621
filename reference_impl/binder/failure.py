"""Reasons why a BindRequest cannot be carried out now or ever; each message lets a user act on it."""

from __future__ import annotations


class BindFailure(Exception):
    """This attempt cannot bind the pod; the text becomes `status.reason`."""


class InvalidBindRequest(BindFailure):
    """The BindRequest itself can never be carried out and is to be deleted (KAI-202)."""


class DevicesLost(BindFailure):
    """A device of the pod will not get ready (KEP-5007): this very request can never be carried out."""


class Pending(Exception):
    """Something that the pod needs is not ready yet; check again after `seconds` even without a change."""

    what = "the pod's needs"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"{self.what} are being made ready; looked at again in {seconds:g} s")
        self.seconds = seconds


class DevicesPending(Pending):
    """A device of the pod is not ready yet."""

    what = "devices"


class VolumesPending(Pending):
    """A volume of the pod is not bound yet."""

    what = "volumes"
