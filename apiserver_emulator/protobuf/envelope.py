"""The envelope of a body: four magic bytes and a `runtime.Unknown` with apiVersion, kind and the message. Pure."""

from __future__ import annotations

import json
from typing import Any

from apiserver_emulator.protobuf.reader import read_message
from apiserver_emulator.protobuf.table import message, message_of_kind
from apiserver_emulator.protobuf.wire import ProtobufError, delimited, fields
from apiserver_emulator.protobuf.writer import write_message

Obj = dict[str, Any]

MAGIC = b"k8s\x00"
_TYPE_META, _RAW, _ENCODING, _CONTENT_TYPE = 1, 2, 3, 4


def decode(body: bytes) -> Obj:
    """Decode a body of media type application/vnd.kubernetes.protobuf.

    Returns the object with apiVersion and kind. Raises ProtobufError (a ValueError) for bytes without the magic
    prefix, for kinds without a protobuf form, and for field numbers that the table does not know.
    """
    if not body.startswith(MAGIC):
        raise ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    parts = {
        _TYPE_META: memoryview(b""),
        _RAW: memoryview(b""),
        _ENCODING: memoryview(b""),
        _CONTENT_TYPE: memoryview(b""),
    }
    for number, _kind, value in fields(memoryview(body)[len(MAGIC) :]):
        if number not in parts or isinstance(value, int):
            raise ProtobufError(f"message k8s.io.apimachinery.pkg.runtime.Unknown has no field {number}")
        parts[number] = value
    meta = read_message(parts[_TYPE_META], message("k8s.io.apimachinery.pkg.runtime.TypeMeta"))
    if parts[_ENCODING]:
        raise ProtobufError(f"content encoding {bytes(parts[_ENCODING]).decode(errors='replace')} is not supported")
    api_version, kind = meta.get("apiVersion", ""), meta.get("kind", "")
    if bytes(parts[_CONTENT_TYPE]) == b"application/json":
        found = json.loads(bytes(parts[_RAW]))
        if not isinstance(found, dict):
            raise ProtobufError("the JSON inside the envelope is not an object")
    else:
        found = read_message(parts[_RAW], message_of_kind(api_version, kind))
    return {"apiVersion": api_version, "kind": kind, **found}


def encode(obj: Obj) -> bytes:
    """Encode an object with apiVersion and kind. Raises ProtobufError for what has no protobuf form."""
    api_version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    raw = write_message(obj, message_of_kind(api_version, kind), top=True)
    meta = delimited(1, api_version.encode()) + delimited(2, kind.encode())
    return (
        MAGIC
        + delimited(_TYPE_META, meta)
        + delimited(_RAW, raw)
        + delimited(_ENCODING, b"")
        + delimited(_CONTENT_TYPE, b"")
    )
