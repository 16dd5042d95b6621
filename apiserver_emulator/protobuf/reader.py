"""Parse messages and turn them into plain objects. Nothing is dropped: an unknown field is an error."""

from __future__ import annotations

import base64
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from apiserver_emulator.protobuf.descriptors import type_of
from apiserver_emulator.protobuf.diagnosis import explain
from apiserver_emulator.protobuf.errors import ProtobufError
from apiserver_emulator.protobuf.special_types import NULL, SPECIALS

Obj = dict[str, Any]

# The JSON of these apiextensions types is the one field that is set: a schema, or something simpler.
_UNIONS = ("JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray")


def parse(data: bytes, class_: type[Message]) -> Message:
    """Parse bytes as a message. Raises ProtobufError with the reason; unknown fields are left to the caller."""
    try:
        return class_.FromString(data)
    except DecodeError as error:
        raise ProtobufError(explain(memoryview(data), class_.DESCRIPTOR.full_name) or str(error)) from error


def read(data: bytes, class_: type[Message]) -> Obj:
    """Parse bytes as a message and return it as an object. Raises ProtobufError, for unknown fields too."""
    return to_object(parse(data, class_))


def to_object(message: Message) -> Obj:
    """Return a message as an object. Raises ProtobufError for a field that the message does not have."""
    found: Obj = {}
    _fill(found, message)
    return found


def check_unknown(message: Message) -> None:
    """Raise ProtobufError for a field that the message does not have, or that has another wire type."""
    name = message.DESCRIPTOR.full_name
    unknown_fields: Any = UnknownFieldSet(message)  # iterable, which its stub lacks
    for unknown in unknown_fields:
        number, wire_type = unknown.field_number, unknown.wire_type
        field = type_of(name).fields.get(number)
        if field is not None:
            wanted = ", not bytes" if field.descriptor.type in _LENGTH_DELIMITED else ""
            raise ProtobufError(f"field {number} ({field.name}) of {name} has wire type {wire_type}{wanted}")
        raise ProtobufError(
            f"message {name} has no field {number} in the releases that this server supports: send JSON, or generate "
            "the descriptors from a newer release"
        )


_LENGTH_DELIMITED = frozenset({FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES, FieldDescriptor.TYPE_MESSAGE})


def _fill(found: Obj, message: Message) -> None:
    check_unknown(message)
    fields = type_of(message.DESCRIPTOR.full_name).fields
    for descriptor, value in message.ListFields():
        field = fields[descriptor.number]
        if field.inline:
            _fill(found, value)
        elif field.map:
            found[field.name] = dict(_entry(entry) for entry in value)
        elif field.repeated:
            found[field.name] = [_json(_value(item)) for item in value]
        else:
            item = _value(value)
            if item is not NULL and (item or not field.omit_zero):
                found[field.name] = item


def _entry(entry: Message) -> tuple[str, Any]:
    check_unknown(entry)
    fields: Any = entry
    # An absent value is the zero value of its type; reading an unset message gives an empty one.
    return fields.key, _json(_value(fields.value))


def _json(value: Any) -> Any:
    return None if value is NULL else value


def _value(value: Any) -> Any:
    if not isinstance(value, Message):
        return base64.b64encode(value).decode() if isinstance(value, bytes) else value
    name = value.DESCRIPTOR.full_name
    special = SPECIALS.get(name)
    if special is not None:
        check_unknown(value)
        return special.decode(value)
    return _union(to_object(value)) if name.endswith(_UNIONS) else to_object(value)


def _union(found: Obj) -> Any:
    for name in ("schema", "jSONSchemas", "property"):
        if name in found:
            return found[name]
    return found.get("allows", False)
