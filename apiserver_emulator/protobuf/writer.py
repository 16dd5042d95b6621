"""Build messages from plain objects."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from apiserver_emulator.protobuf.descriptors import Field, type_of
from apiserver_emulator.protobuf.errors import ProtobufError
from apiserver_emulator.protobuf.special_types import SPECIALS

Obj = dict[str, Any]

_INTEGERS = frozenset(
    {
        FieldDescriptor.TYPE_INT32,
        FieldDescriptor.TYPE_INT64,
        FieldDescriptor.TYPE_UINT32,
        FieldDescriptor.TYPE_UINT64,
    }
)
# Apiextensions types whose JSON is the one field that is set: (type of the JSON value, field number).
_UNION_FIELDS = {
    "JSONSchemaPropsOrArray": ((dict, 1), (list, 2)),
    "JSONSchemaPropsOrBool": ((bool, 1), (dict, 2)),
    "JSONSchemaPropsOrStringArray": ((dict, 1), (list, 2)),
}


def build(obj: Obj, message: Message, *, ignore: frozenset[str] = frozenset()) -> Message:
    """Set the fields of a new message from an object and return it; the names in `ignore` need no field.

    Raises ProtobufError for a name without a field, and for a value that its field cannot have.
    """
    name = message.DESCRIPTOR.full_name
    unknown = obj.keys() - type_of(name).names - ignore
    if unknown:
        raise ProtobufError(f"message {name} has no field named {min(unknown)}")
    try:
        _set_fields(obj, message)
    except (TypeError, OverflowError) as error:
        raise ProtobufError(f"message {name} cannot have this value: {error}") from error
    return message


def _set_fields(obj: Obj, message: Message) -> None:
    for field in type_of(message.DESCRIPTOR.full_name).fields.values():
        if field.inline:
            inner = getattr(message, field.descriptor.name)
            # Go writes an inlined struct even if all its fields are empty.
            inner.SetInParent()
            _set_fields(obj, inner)
        elif (value := obj.get(field.name)) is not None:
            _set(message, field, value)


def _set(message: Message, field: Field, value: Any) -> None:
    name = field.descriptor.name
    is_message = field.descriptor.type == FieldDescriptor.TYPE_MESSAGE
    if field.map:
        _set_entries(getattr(message, name), value)
    elif field.repeated and is_message:
        for item in value:
            _set_message(getattr(message, name).add(), item)
    elif field.repeated:
        getattr(message, name).extend(_scalar(item, field.descriptor) for item in value)
    elif is_message:
        inner = getattr(message, name)
        # An empty message is present, unlike an absent field.
        inner.SetInParent()
        _set_message(inner, value)
    else:
        setattr(message, name, _scalar(value, field.descriptor))


def _set_entries(entries: Any, values: Mapping[str, Any]) -> None:
    # Sorted, as Go's generated code writes maps.
    for key in sorted(values):
        entry = entries.add(key=key)
        value = type_of(entry.DESCRIPTOR.full_name).fields[2]
        if values[key] is not None:
            _set(entry, value, values[key])


def _scalar(value: Any, descriptor: FieldDescriptor) -> Any:
    if descriptor.type in _INTEGERS:
        return int(value)
    if descriptor.type == FieldDescriptor.TYPE_BOOL:
        return bool(value)
    if descriptor.type == FieldDescriptor.TYPE_DOUBLE:
        return float(value)
    return base64.b64decode(value) if descriptor.type == FieldDescriptor.TYPE_BYTES else str(value)


def _set_message(message: Message, value: Any) -> None:
    name = message.DESCRIPTOR.full_name
    special = SPECIALS.get(name)
    union = _UNION_FIELDS.get(name.rpartition(".")[2])
    if special is not None:
        special.encode(value, message)
    elif union is not None:
        _set_union(message, value, union)
    else:
        build(value, message)


def _set_union(message: Message, value: Any, choices: tuple[tuple[type, int], ...]) -> None:
    fields = type_of(message.DESCRIPTOR.full_name).fields
    for python_type, number in choices:
        if isinstance(value, python_type):
            if python_type is dict and fields[1].descriptor.type == FieldDescriptor.TYPE_BOOL:
                _set(message, fields[1], True)  # a schema is allowed too
            _set(message, fields[number], value)
            return
    raise ProtobufError(f"{message.DESCRIPTOR.full_name} cannot have a {type(value).__name__}")
