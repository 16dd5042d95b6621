"""The error of this package."""

from __future__ import annotations


class ProtobufError(ValueError):
    """Bytes that are no valid message, or an object that has no protobuf form."""
