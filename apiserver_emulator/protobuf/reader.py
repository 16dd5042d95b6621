"""Messages to plain objects, after the field table. Pure functions."""

from __future__ import annotations

import base64
from typing import Any

from apiserver_emulator.protobuf.scalars import NULL, SPECIALS
from apiserver_emulator.protobuf.table import Field, Message, message
from apiserver_emulator.protobuf.wire import (
    BYTES,
    FIXED64,
    VARINT,
    ProtobufError,
    fields,
    read_double,
    read_varint,
    signed,
)

Obj = dict[str, Any]

_MAX_DEPTH = 100
_NUMBERS = frozenset({"int32", "int64", "uint32", "uint64", "bool"})
_UNIONS = ("JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray")


def read_message(data: memoryview, type_: Message, *, into: Obj | None = None, depth: int = 0) -> Obj:
    """Decode one message. Raises ProtobufError for unknown field numbers and malformed bytes."""
    if depth > _MAX_DEPTH:
        raise ProtobufError(f"{type_.name} is nested more than {_MAX_DEPTH} deep")
    found: Obj = {} if into is None else into
    for number, kind, value in fields(data):
        field = type_.fields.get(number)
        if field is None:
            raise ProtobufError(
                f"message {type_.name} has no field {number} in the releases that this server knows: "
                "send JSON, or regenerate the field table from a newer release"
            )
        if field.inline:
            read_message(_bytes(value, kind, field, type_), message(field.type), into=found, depth=depth + 1)
        elif field.map:
            key, item = _entry(_bytes(value, kind, field, type_), field, type_, depth)
            found.setdefault(field.name, {})[key] = item
        elif field.repeated:
            items = found.setdefault(field.name, [])
            if kind == BYTES and field.type in _NUMBERS:
                items.extend(_packed(_bytes(value, kind, field, type_), field))
            else:
                items.append(_value(value, kind, field, type_, depth))
        else:
            before = found.get(field.name) if field.type not in SPECIALS else None
            item = _value(value, kind, field, type_, depth, before=before)
            if item is NULL:
                continue
            if field.omit_zero and not item:
                found.pop(field.name, None)
                continue
            found[field.name] = item
    return found


def _bytes(value: int | memoryview, kind: int, field: Field, owner: Message) -> memoryview:
    if kind != BYTES or isinstance(value, int):
        raise ProtobufError(f"field {field.number} ({field.name}) of {owner.name} has wire type {kind}, not bytes")
    return value


def _number(value: int, type_: str) -> int | bool:
    if type_ == "bool":
        return value != 0
    if type_.startswith("u"):
        return value
    found = signed(value)
    if type_ == "int32":
        found = (found + (1 << 31)) % (1 << 32) - (1 << 31)
    return found


def _packed(data: memoryview, field: Field) -> list[int | bool]:
    found: list[int | bool] = []
    at = 0
    while at < len(data):
        value, at = read_varint(data, at)
        found.append(_number(value, field.type))
    return found


def _value(value: int | memoryview, kind: int, field: Field, owner: Message, depth: int, *, before: Any = None) -> Any:
    type_ = field.type
    if type_ in _NUMBERS:
        if kind != VARINT or not isinstance(value, int):
            raise ProtobufError(f"field {field.number} ({field.name}) of {owner.name} has wire type {kind}")
        return _number(value, type_)
    if type_ == "double":
        if kind != FIXED64 or isinstance(value, int):
            raise ProtobufError(f"field {field.number} ({field.name}) of {owner.name} has wire type {kind}")
        return read_double(value)
    data = _bytes(value, kind, field, owner)
    if type_ == "string":
        try:
            return bytes(data).decode()
        except UnicodeDecodeError as error:
            raise ProtobufError(f"{field.name} of {owner.name} is not UTF-8") from error
    if type_ == "bytes":
        return base64.b64encode(data).decode()
    special = SPECIALS.get(type_)
    if special is not None:
        return special.decode(data)
    inner = message(type_)
    if type_.endswith(_UNIONS):
        return _union(read_message(data, inner, depth=depth + 1))
    return read_message(data, inner, into=before if isinstance(before, dict) else None, depth=depth + 1)


def _union(found: Obj) -> Any:
    # apiextensions' "schema or something simpler": JSON has whichever is set.
    for name in ("schema", "jSONSchemas", "property"):
        if name in found:
            return found[name]
    return found.get("allows", False)


def _entry(data: memoryview, field: Field, owner: Message, depth: int) -> tuple[str, Any]:
    key = ""
    item: Any = "" if field.type == "string" else {}
    for number, kind, value in fields(data):
        if number == 1:
            key = bytes(_bytes(value, kind, field, owner)).decode()
        elif number == 2:
            item = _value(value, kind, field, owner, depth)
        else:
            raise ProtobufError(f"map {field.name} of {owner.name} has an entry with field {number}")
    return key, None if item is NULL else item
