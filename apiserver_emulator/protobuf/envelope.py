"""The envelope of a body: four magic bytes, then a `runtime.Unknown` with apiVersion, kind and the message.

A watch is a sequence of frames: four bytes of length, then a `WatchEvent` without envelope, which contains an object
with envelope. Source: k8s.io/apimachinery pkg/runtime/serializer/protobuf (LengthDelimitedFramer, RawSerializer).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from apiserver_emulator.protobuf.descriptors import class_of_kind, message_class
from apiserver_emulator.protobuf.errors import ProtobufError
from apiserver_emulator.protobuf.reader import check_unknown, parse, read
from apiserver_emulator.protobuf.writer import build
from dra_api.nesting import DEEPEST, json_too_deep

Obj = dict[str, Any]

MAGIC = b"k8s\x00"
_UNKNOWN = "k8s.io.apimachinery.pkg.runtime.Unknown"
_EVENT = "k8s.io.apimachinery.pkg.apis.meta.v1.WatchEvent"
_LENGTH = 4  # bytes before each frame of a watch, most significant first
_TYPE_META = frozenset({"apiVersion", "kind"})


def decode(body: bytes) -> Obj:
    """Decode a body of media type application/vnd.kubernetes.protobuf; return the object with apiVersion and kind.

    Raises ProtobufError for bytes without the magic prefix, malformed messages, kinds without a protobuf form, and
    unknown fields.
    """
    if not body.startswith(MAGIC):
        raise ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    envelope: Any = parse(body[len(MAGIC) :], message_class(_UNKNOWN))
    check_unknown(envelope)
    check_unknown(envelope.typeMeta)
    if envelope.contentEncoding:
        raise ProtobufError(f"content encoding {envelope.contentEncoding} is not supported")
    api_version, kind = envelope.typeMeta.apiVersion, envelope.typeMeta.kind
    if envelope.contentType == "application/json":
        if json_too_deep(envelope.raw):
            raise ProtobufError(f"the JSON inside the envelope exceeds max depth of {DEEPEST} levels")
        found = json.loads(envelope.raw)
        if not isinstance(found, dict):
            raise ProtobufError("the JSON inside the envelope is not an object")
    else:
        found = read(envelope.raw, class_of_kind(api_version, kind))
    return {"apiVersion": api_version, "kind": kind, **found}


def encode(obj: Obj) -> bytes:
    """Encode an object with apiVersion and kind. Raises ProtobufError for an object that has no protobuf form."""
    api_version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    message = build(obj, class_of_kind(api_version, kind)(), ignore=_TYPE_META)
    envelope: Any = message_class(_UNKNOWN)()
    envelope.typeMeta.apiVersion, envelope.typeMeta.kind = api_version, kind
    envelope.raw = message.SerializeToString(deterministic=True)
    # Go writes all fields of the envelope, empty ones too.
    envelope.contentEncoding = envelope.contentType = ""
    raw: bytes = envelope.SerializeToString(deterministic=True)
    return MAGIC + raw


def encode_event(kind: str, obj: Obj) -> bytes:
    """Encode one event of a watch as a frame; `kind` is its type, such as ADDED. Raises ProtobufError as `encode`."""
    event: Any = message_class(_EVENT)()
    event.type = kind
    event.object.raw = encode(obj)
    raw: bytes = event.SerializeToString(deterministic=True)
    return len(raw).to_bytes(_LENGTH, "big") + raw


def decode_events(body: bytes) -> Iterator[tuple[str, Obj]]:
    """Decode the frames of a watch; yield type and object of each event. Raises ProtobufError, for a cut frame too."""
    start = 0
    while start < len(body):
        end = start + _LENGTH + int.from_bytes(body[start : start + _LENGTH], "big")
        if end > len(body):
            raise ProtobufError(f"the frame at byte {start} ends after {end} bytes, but only {len(body)} were sent")
        event: Any = parse(body[start + _LENGTH : end], message_class(_EVENT))
        check_unknown(event)
        yield event.type, decode(event.object.raw)
        start = end
