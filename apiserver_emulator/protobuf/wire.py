"""Protobuf's wire types: varints, fixed widths and length-delimited bytes. Pure functions.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_MASK64 = (1 << 64) - 1


class ProtobufError(ValueError):
    """Bytes that are no valid message, or a message that the field table does not cover."""


def read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """An unsigned varint and the offset after it."""
    value = shift = 0
    while True:
        if at >= len(data):
            raise ProtobufError("unexpected end of data in a varint")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK64, at
        shift += 7
        if shift > 63:
            raise ProtobufError("varint is longer than 64 bits")


def write_varint(value: int) -> bytes:
    """A varint; negative numbers as 64-bit two's complement."""
    value &= _MASK64
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value: int) -> int:
    """A 64-bit varint read as a signed number."""
    return value - (1 << 64) if value >> 63 else value


def fields(data: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """Every field of a message: number, wire type, and the value (an integer, or the raw bytes)."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise ProtobufError("field number 0")
        value: int | memoryview
        if kind == VARINT:
            value, at = read_varint(data, at)
        elif kind == BYTES:
            size, at = read_varint(data, at)
            if size > len(data) - at:
                raise ProtobufError(f"unexpected end of data in field {number}")
            value, at = data[at : at + size], at + size
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
            if size > len(data) - at:
                raise ProtobufError(f"unexpected end of data in field {number}")
            value, at = data[at : at + size], at + size
        else:
            raise ProtobufError(f"wire type {kind} in field {number}")
        yield number, kind, value


def tag(number: int, kind: int) -> bytes:
    """The key of a field."""
    return write_varint(number << 3 | kind)


def delimited(number: int, value: bytes) -> bytes:
    """A length-delimited field."""
    return tag(number, BYTES) + write_varint(len(value)) + value


def read_double(value: memoryview) -> float:
    """An 8-byte float."""
    found: float = struct.unpack("<d", value)[0]
    return found


def write_double(value: float) -> bytes:
    """An 8-byte float."""
    return struct.pack("<d", value)
