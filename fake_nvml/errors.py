"""Errors on the control side of a fake node; each message names the cause and the fix."""

from __future__ import annotations


class FakeNvmlError(Exception):
    """Base of this package's errors; the message is meant for a person."""


class InventoryError(FakeNvmlError):
    """An inventory or board file is not usable: says file, line, key and what to write instead."""


class StateError(FakeNvmlError):
    """The state of a node cannot be opened or changed."""


class LibraryMissingError(FakeNvmlError):
    """The shared library was not built."""
