"""The one way in which carrying out a BindRequest fails: with a reason that a person can act on."""

from __future__ import annotations


class BindFailure(Exception):
    """This attempt cannot bind the pod; the text becomes `status.reason`."""


class InvalidBindRequest(BindFailure):
    """The BindRequest itself can never be carried out and is to be deleted (KAI-202)."""


class StaleBindRequest(BindFailure):
    """The BindRequest was made for another pod of the same name; that other pod must not be touched."""
