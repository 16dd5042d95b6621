"""What goes wrong on the control side of a fake node, said so that a person can repair it."""

from __future__ import annotations


class FakeNvmlError(Exception):
    """Base of this package's errors; the message is meant for a person."""


class InventoryError(FakeNvmlError):
    """An inventory or board file is not usable: says file, line, key and what to write instead."""


class StateError(FakeNvmlError):
    """The state of a node cannot be opened or changed."""


class LibraryMissingError(FakeNvmlError):
    """The shared library was not built."""
