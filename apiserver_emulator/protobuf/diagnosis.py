"""Find the first error in bytes that the protobuf library refuses: its own error does not give the reason.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.descriptor import FieldDescriptor

from apiserver_emulator.protobuf.descriptors import type_of
from apiserver_emulator.protobuf.errors import ProtobufError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIZES = {_FIXED64: 8, _FIXED32: 4}
_MAX_DEPTH = 100


def explain(data: memoryview, type_name: str) -> str:
    """Return the reason why bytes are no message of a type; empty if they have none of the common errors."""
    try:
        _check(data, type_name, 0)
    except ProtobufError as error:
        return str(error)
    return ""


def _check(data: memoryview, type_name: str, depth: int) -> None:
    if depth >= _MAX_DEPTH:
        raise ProtobufError(f"{type_name} is nested more than {_MAX_DEPTH} deep")
    fields = type_of(type_name).fields
    for number, value in _fields(data):
        field = fields.get(number)
        # Unknown fields are no error here: the reader reports them.
        if field is None or value is None:
            continue
        if field.message:
            _check(value, field.message, depth + 1)
        elif field.descriptor.type == FieldDescriptor.TYPE_STRING:
            try:
                bytes(value).decode()
            except UnicodeDecodeError as error:
                raise ProtobufError(f"{field.name} of {type_name} is not UTF-8") from error


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview | None]]:
    """Yield number and bytes of every field, None for the bytes of a number. Raises ProtobufError."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire_type = key >> 3, key & 7
        if number == 0:
            raise ProtobufError("field number 0")
        if wire_type == _VARINT:
            _, at = _varint(data, at)
            yield number, None
            continue
        if wire_type == _BYTES:
            size, at = _varint(data, at)
        elif wire_type in _SIZES:
            size = _SIZES[wire_type]
        else:
            raise ProtobufError(f"wire type {wire_type} in field {number}")
        if size > len(data) - at:
            raise ProtobufError(f"unexpected end of data in field {number}")
        yield number, data[at : at + size] if wire_type == _BYTES else None
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ProtobufError("varint is longer than 64 bits")
    raise ProtobufError("unexpected end of data in a varint")
